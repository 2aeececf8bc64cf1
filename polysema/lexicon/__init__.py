"""A vocabulary with its meanings: look up, compare, tell senses apart, compose, save and load."""
