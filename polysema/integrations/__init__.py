"""polysema in other tools, a file for each (``docs/tools``). A tool is imported when it is used."""
