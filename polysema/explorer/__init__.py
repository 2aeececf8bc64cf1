"""The explorer: a local web application on lexicons.

``answers`` asks the library and gives plain dictionaries, the JSON of every page; ``listing`` sorts and filters the
vocabulary; ``pictures`` places trees and planes; ``work`` bounds what is computed at once, and parses a sentence once;
``web`` makes pages of it; ``server`` runs it.
"""
