"""The ``config.json`` of the folders that polysema writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polysema.errors import FormatError


def read_config(path: Path, format: str, version: int) -> dict[str, Any]:
    """A folder's ``config.json``, checked to be of a format and of a version that this release knows."""
    file = path / "config.json"
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
