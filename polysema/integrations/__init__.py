"""polysema in other people's tools: a file for each, which loads that tool when it is used (``docs/tools``)."""
