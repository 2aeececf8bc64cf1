"""Words in use: tagged text, frequencies of senses, concordances, and change over time."""
