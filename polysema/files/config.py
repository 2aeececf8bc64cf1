"""The ``config.json`` of the folders that polysema writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polysema.errors import FormatError, InputError


def read_config(path: Path, format: str, version: int) -> dict[str, Any]:
    """A folder's ``config.json``, checked to be of a format and of a version that this release knows."""
    file = path / "config.json"
    if not path.is_dir():
        what = "a file, where a folder is wanted" if path.exists() else "no such folder"
        raise FormatError(f"{path}: {what}: this is no {format}")
    if not file.is_file():
        raise FormatError(f"{path}: a folder without config.json is no {format}")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{file}: not JSON: {error}") from None
    if not isinstance(config, dict) or config.get("format") != format:
        found = config.get("format") if isinstance(config, dict) else None
        raise FormatError(f"{file}: the format is {found!r}, not {format!r}")
    if not isinstance(config.get("version"), int) or config["version"] > version:
        raise FormatError(
            f"{file}: version {config.get('version')!r}, this release reads up to {version}: upgrade polysema"
        )
    return config


def check_overwrite(path: Path, format: str, version: int) -> None:
    """Refuse to replace anything but an empty folder or one of the same format: a slip must not cost other work."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    try:
        read_config(path, format, version)
    except FormatError as error:
        raise InputError(f"{error}, and is not overwritten: choose another name") from None
