"""An ensemble on disk: a folder with its members in it.

==================  =======================================================
``config.json``     format, version, the members' folders, metadata
``members/1`` …     the members, each a lexicon's folder
``README.md``       the same for people
==================  =======================================================
"""

from __future__ import annotations

import json
from pathlib import Path

from polysema.errors import FormatError, InputError
from polysema.files.atomic import atomic_folder
from polysema.files.config import read_config
from polysema.files.door import holds
from polysema.lexicon.ensemble import Ensemble
from polysema.lexicon.formats import folder

FORMAT = "polysema-ensemble"
VERSION = 1
owner = holds(FORMAT, VERSION)


def is_ensemble(path: Path) -> bool:
    """Whether a folder says that it holds an ensemble."""
    try:
        return bool(read_config(path)["format"] == FORMAT)
    except FormatError:
        return False


def _inside(path: Path, name: object) -> bool:
    """Whether a name leads to somewhere inside a folder; one with a zero in it, or in a circle, leads nowhere."""
    try:
        return isinstance(name, str) and (path / name).resolve().is_relative_to(path.resolve())
    except (ValueError, OSError, RuntimeError):
        return False


def read(path: Path, kind: str = "auto") -> Ensemble:
    """Open a folder."""
    config = read_config(path, FORMAT, VERSION)
    names = config.get("members")
    if not isinstance(names, list) or not names:
        raise FormatError(f"{path}: config.json: members must be a list of folders")
    for name in names:
        if not _inside(path, name):
            raise FormatError(f"{path}: config.json: {name!r} is no folder inside the ensemble")
    try:
        return Ensemble([folder.read(path / name, kind) for name in names], metadata=config.get("metadata", {}))
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None


def write(ensemble: Ensemble, path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write a folder, whole or not at all. A folder that is no ensemble is never overwritten."""
    names = [f"members/{number}" for number in range(1, len(ensemble.members) + 1)]
    config = {"format": FORMAT, "version": VERSION, "members": names, "metadata": ensemble.metadata}
    with atomic_folder(path, overwrite, owner) as temporary:
        (temporary / "members").mkdir()
        for name, member in zip(names, ensemble.members, strict=True):
            folder.write(member, temporary / name, dtype)
        (temporary / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (temporary / "README.md").write_text(_card(ensemble, path.name), "utf-8")


def _card(ensemble: Ensemble, name: str) -> str:
    return (
        f"# {name}\n\nA polysema ensemble of {len(ensemble.members)} lexicons with {len(ensemble):,} words in common: "
        "similarities and entropies are the means of theirs.\n\n"
        f'```python\nimport polysema\nensemble = polysema.load("{name}")\n```\n'
    )
