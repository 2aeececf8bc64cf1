"""``python -m polysema``."""

from polysema.cli import run

run()
