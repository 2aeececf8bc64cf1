"""Writing files so that nothing is lost.

``writing``: check the output, lock it, write under a temporary name beside it, replace it in one step.
``state``: the folder and the checkpoint of a run that can be stopped, and Ctrl-C between two steps.
``reading``: small files of bounded size, ``config.json``, archives that unpack to too much.
"""
