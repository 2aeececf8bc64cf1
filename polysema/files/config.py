"""The ``config.json`` of the folders that polysema writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polysema.errors import FormatError
from polysema.files.reading import read_text


def read_config(path: Path, format: str = "", version: int | None = None) -> dict[str, Any]:
    """A folder's ``config.json``, checked to be of a format and of a version that this release knows.

    Args:
        format: such as ``polysema-lexicon``; by default any format of polysema's.
        version: the newest that can be read; by default any.
    """
    file = path / "config.json"
    wanted = format or "folder of polysema's"
    if not path.is_dir():
        what = "a file, where a folder is wanted" if path.exists() else "no such folder"
        raise FormatError(f"{path}: {what}: this is no {wanted}")
    if not file.is_file():
        raise FormatError(f"{path}: a folder without config.json is no {wanted}")
    text = read_text(file)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{file}: not JSON: {error}") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != format if format else not str(found).startswith("polysema-"):
        raise FormatError(f"{file}: the format is {found!r}, not {format or 'one of polysema’s'!r}")
    number = config.get("version")
    if version is not None and (not isinstance(number, int) or number > version):
        raise FormatError(f"{file}: version {number!r}, this release reads up to {version}: upgrade polysema")
    if not isinstance(config.get("metadata", {}), dict):
        raise FormatError(f"{file}: damaged: its metadata are no table")
    return dict(config)
