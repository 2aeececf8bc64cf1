"""Lexicons on disk, one file per format.

``FORMATS`` is the table: library, command line and messages take their names from it. A format is chosen by the suffix
when writing, and by the content when reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polysema.errors import FormatError, InputError, check_choice
from polysema.lexicon.formats import folder, npz, text
from polysema.lexicon.formats.arrays import NAMES, to_arrays
from polysema.meanings.meanings import Meanings
from polysema.storage import Owner, check_regular, writing

__all__ = ["FORMATS", "Format", "left_behind", "read", "write", "writing_lexicon"]

DTYPES = ("float32", "float16")  # of the numbers on disk


@dataclass(frozen=True, slots=True)
class Format:
    """A way to keep a lexicon in files."""

    name: str  # as it is written everywhere
    suffixes: tuple[str, ...]  # endings of file names that choose it
    summary: str  # what it is
    read: Callable[[Path, str], Meanings[Any]]  # path and kind ("auto", "matrices" or "vectors") to lexicon
    write: Callable[[Meanings[Any], Path, str, bool], None]  # lexicon, path, dtype, overwrite
    owner: Owner  # refuses to replace a file of another kind
    # what it holds beside words and meanings: ``parts`` (context vectors and the like), ``counts``, ``columns`` (the
    # senses of a word), ``descriptions`` (senses in use, and what else lies in files of its own)
    keeps: frozenset[str] = frozenset()


_COLUMNS = frozenset(("parts", "counts", "columns"))


FORMATS = {item.name: item for item in (
    Format("folder", ("",), "polysema's own: safetensors, config, vocabulary, card",
           folder.read, folder.write, folder.owner, _COLUMNS | {"descriptions"}),
    Format("npz", (".npz",), "NumPy arrays: words, factors or matrices or vectors, counts, parts",
           npz.read, npz.write, npz.owner, _COLUMNS),
    Format("text", (".txt",), "a word and its numbers a line: the paper's matrices, GloVe",
           text.read, text.write, text.owner),
    Format("word2vec", (".vec", ".w2v"), "word2vec text: as text, below a line with the sizes",
           text.read_word2vec, text.write_word2vec, text.owner_of_word2vec),
    Format("word2vec-binary", (".bin",), "word2vec binary",
           text.read_binary, text.write_binary, text.owner_of_word2vec),
)}  # fmt: skip


def read(path: Path, kind: str = "auto") -> Meanings[Any]:
    """What a file or a folder holds, in whatever format it is.

    Args:
        kind: in formats that keep plain numbers, ``vectors``, flattened ``matrices``, or ``auto``.
    """
    try:
        return FORMATS[_recognised(path)].read(path, kind)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text at byte {error.start}") from error


def write(
    lexicon: Meanings[Any], path: Path, *, dtype: str = "float32", overwrite: bool = False, format: str = ""
) -> None:
    """Write a lexicon in a named format, or in the one its name chooses."""
    FORMATS[_format(path, format, dtype)].write(lexicon, path, dtype, overwrite)


def left_behind(lexicon: Meanings[Any], path: Path, format: str = "") -> list[str]:
    """What a lexicon holds and the format cannot: what would be lost by writing it there."""
    keeps = FORMATS[format or _chosen(path)].keeps
    lost = []
    if "columns" not in keeps and lexicon.parts.columns == "senses" and lexicon.m > 1:
        lost.append("the senses of its words (columns of their factors)")
    if "parts" not in keeps:
        arrays = to_arrays(lexicon)
        lost += [name for name, own in NAMES.items() if any(item in arrays for item in own)]
        lost += ["how it was made"] if lexicon.metadata else []
    if "counts" not in keeps and lexicon.vocabulary.counts.any():
        lost.append("counts")
    if "descriptions" not in keeps:
        lost += ["senses in use"] if lexicon.parts.descriptions is not None else []
        lost += ["what new words are placed with"] if lexicon.parts.placing is not None else []
        lost += ["the slots that phrases are composed with"] if lexicon.parts.phrases is not None else []
        lost += ["the dictionary and its encoder"] if lexicon.parts.dictionary is not None else []
    return lost


@contextmanager
def writing_lexicon(
    path: Path,
    *,
    inputs: Iterable[str | Path] = (),
    dtype: str = "float32",
    overwrite: bool = False,
    format: str = "",
) -> Iterator[None]:
    """The right to write a lexicon there, held while it is made; see :func:`polysema.storage.writing`.

    A wrong name, type or place is refused before the work begins, and nobody else writes there meanwhile.

    Args:
        inputs: files and folders that are read for it, and never replaced by it.
    """
    owner = FORMATS[_format(path, format, dtype)].owner
    with writing(path, overwrite=overwrite, inputs=inputs, owner=owner):
        yield


def _format(path: Path, format: str, dtype: str) -> str:
    name = format or _chosen(path)
    check_choice("format", name, FORMATS)
    check_choice("storage type", dtype, DTYPES)
    return name


# fmt: off
FOREIGN = frozenset((
    ".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".hdf5", ".npy", ".mat", ".kv",
    ".model", ".json", ".jsonl", ".yaml", ".xml", ".html", ".md", ".csv", ".tsv", ".xls", ".xlsx", ".db", ".sqlite",
    ".safetensors", ".parquet", ".feather", ".arrow", ".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z",
))
# fmt: on
"""Endings that mean a file of another kind, which a folder must not be mistaken for."""


def _chosen(path: Path) -> str:
    """The format that a name chooses: a folder where the suffix means nothing, as in ``model_lr0.025``."""
    suffix = path.suffix.lower()
    for item in FORMATS.values():
        if suffix in item.suffixes:
            return item.name
    if suffix in FOREIGN:
        known = ", ".join(s for item in FORMATS.values() for s in item.suffixes if s)
        raise InputError(f"{path}: no format ends in {suffix!r}: use {known}, or no suffix for a folder")
    return "folder"


def _recognised(path: Path) -> str:
    """The format of what is on disk, by its content."""
    if path.is_dir():
        return "folder"
    if not path.exists():
        what = "a link that leads nowhere" if path.is_symlink() else "no such file or folder"
        raise FormatError(f"{path}: {what}")
    check_regular(path)
    with text.opened(path) as stream:
        start = stream.read(4096)
    if not start:
        raise FormatError(f"{path}: the file is empty")
    if start.startswith(b"PK"):
        return "npz"
    if start[0] == 0x80 and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise FormatError(
            f"{path}: a pickle, which polysema never reads (it can run any code): "
            "save it again as npz or, from gensim, with save_word2vec_format"
        )
    if start.startswith(b"\x93NUMPY"):
        raise FormatError(f"{path}: a bare NumPy array has no words: save an npz with 'words' and 'factors'")
    if text.has_header(start):
        return "word2vec" if text.is_text(start) else "word2vec-binary"
    if b"\0" in start:
        raise FormatError(f"{path}: a binary file that is no lexicon (known: {', '.join(FORMATS)})")
    return "text"
