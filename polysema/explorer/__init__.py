"""The explorer: a local web application on lexicons.

``answers`` asks the library and gives plain dictionaries, the JSON of every page; ``listing`` sorts and filters the
vocabulary; ``parsed`` parses a sentence once; ``pictures`` places trees and planes; ``work`` bounds what is computed at
once; ``web`` makes pages of it; ``server`` runs it.
"""
