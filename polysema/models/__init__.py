"""Models that come with polysema: folders inside the package, each with its card (``README.md``).

``default`` is multi-sense Word2DM on a Wikipedia corpus, in half precision; an earlier version built it.
"""

from __future__ import annotations

from pathlib import Path

from polysema.errors import FormatError

DEFAULT = Path(__file__).parent / "default"


def default_path() -> Path:
    """The folder of the default model; an error where this copy of polysema has none."""
    if not (DEFAULT / "config.json").is_file():
        raise FormatError(
            "this copy of polysema comes without its default model: name a lexicon (-l on the command line), "
            "or make one with polysema train"
        )
    return DEFAULT
