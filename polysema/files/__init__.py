"""What every room writes to disk with, and reads small files with.

``door``: may it be written. ``lock``: one writer at a time, what a killed one left. ``atomic``: whole or not at all.
``working``: the folder of a run's state. ``config``, ``reading``: bounded text. ``signals``, ``platform``.
"""
