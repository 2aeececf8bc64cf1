"""Lexicons on the Hugging Face hub: pushed as a repository, loaded as ``hf://user/name``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polysema.errors import FormatError, InputError, OutputError, needing
from polysema.lexicon import formats
from polysema.lexicon.formats.folder import FILES, card
from polysema.meanings.meanings import Meanings
from polysema.storage import signed
from polysema.version import __version__

SCHEME = "hf://"


def push_to_hub(
    lexicon: Meanings[Any],
    name: str,
    *,
    private: bool = False,
    token: str | None = None,
    message: str = "A lexicon of polysema",
    dtype: str = "float32",
) -> str:
    """Write a lexicon to a repository of the hub, which is created if needed. Returns the name to load it by.

    Args:
        name: ``user/name``, with or without ``hf://``.
        token: of the hub; by default the one that ``hf auth login`` stored.
        dtype: ``float32`` or ``float16``.
    """
    repository, revision = _named(name)
    hub = _hub()
    with TemporaryDirectory(prefix="polysema-") as temporary:
        folder = Path(temporary) / "lexicon"
        formats.write(lexicon, folder, dtype=dtype)
        (folder / "README.md").write_text(signed(model_card(lexicon, repository)), encoding="utf-8")
        try:
            api = hub.HfApi(token=token, library_name="polysema", library_version=__version__)
            api.create_repo(repository, private=private, exist_ok=True)
            api.upload_folder(
                repo_id=repository, folder_path=folder, commit_message=message, revision=revision, allow_patterns=FILES
            )
        except (OSError, ValueError) as error:  # the hub's errors are one or the other
            raise OutputError(f"{SCHEME}{repository}: not pushed: {_line(error)}") from error
    return f"{SCHEME}{name.removeprefix(SCHEME)}"


def from_hub(name: str) -> Path:
    """The local folder of ``hf://user/name`` or ``hf://user/name@branch``, which is downloaded if needed."""
    repository, revision = _named(name)
    hub = _hub()
    try:
        folder = hub.snapshot_download(
            repository,
            revision=revision,
            allow_patterns=list(FILES),
            library_name="polysema",
            library_version=__version__,
        )
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: cannot be fetched: {_line(error)}") from error
    if not (Path(folder) / "config.json").exists():
        raise FormatError(f"{name}: a repository without config.json, so no lexicon of polysema")
    return Path(folder)


def model_card(lexicon: Meanings[Any], repository: str) -> str:
    """The card that the hub shows: metadata for the hub, then the lexicon's own card."""
    tags = ["density-matrices", "word-senses", "lexical-ambiguity", "word-embeddings"]
    head = ["---", "library_name: polysema", "tags:", *(f"- {tag}" for tag in tags), "---", ""]
    return "\n".join(head) + "\n" + card(lexicon, f"{SCHEME}{repository}")


def _named(name: str) -> tuple[str, str | None]:
    repository, _, revision = name.removeprefix(SCHEME).partition("@")
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise InputError(f"{name!r} is no repository of the hub: write hf://user/name, or hf://user/name@revision")
    return repository, revision or None


def _line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _hub() -> Any:
    with needing("the Hugging Face hub", "hub"):
        import huggingface_hub
    return huggingface_hub
