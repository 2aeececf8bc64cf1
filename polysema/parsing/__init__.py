"""Sentences in plain English as composition trees (the extra ``parse``: spaCy and an English model).

``rules.py`` is the table of dependencies. ``dependencies.py`` applies it to a parsed sentence,
``sentences.py`` has spaCy parse, one sentence or a batch.
"""
