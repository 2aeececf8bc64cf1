"""Sentences in plain English as composition trees (the extra ``parse``: spaCy and an English model).

``rules.py`` is the table: what each dependency comes to. ``dependencies.py`` applies it to a parsed sentence,
``sentences.py`` has spaCy parse, one sentence or a batch.
"""
