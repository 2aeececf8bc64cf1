"""The explorer: a local web application on lexicons.

``answers`` asks the library and returns plain dictionaries, the JSON of every page; ``listing`` sorts and filters the
vocabulary; ``web`` renders the pages; ``server`` runs them in threads and answers HTTP.
"""
