"""polysema's own format: a folder.

==========================  ============================================================================================
``config.json``             format, version, sizes, and the model's metadata: how it was trained, on what
``vocabulary.txt``          a word a line, in the order of the rows
``lexicon.safetensors``     ``factors`` (V, n, m) or ``vectors`` (V, n), ``counts`` (V,), and further named arrays
``README.md``               the model card: the same for people
``placing.safetensors``     where new words can be placed by the words around them: the regression for that
``slots.safetensors``       where phrases are composed by slots: these; see :mod:`polysema.slots.stored`
``senses.jsonl``            where the lexicon was described from a corpus: what its senses look like in use
``dictionary.safetensors``  where senses have keys and glosses: see :mod:`polysema.senses.dictionary_files`
``encoder.safetensors``     the encoder that reads these senses in text
``pieces.txt``              the word pieces of this encoder, one a line
==========================  ============================================================================================

The arrays are mapped into memory, not read, so that a large model opens at once. Where a third or more of the columns
of factors are zero, of words with fewer than m senses, only the others are written (version 2): ``factor_columns``
(K, n), and ``factor_places`` (K,), rising, row · m + column of each.
"""

from __future__ import annotations

import json
import mmap
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.lexicon.formats.arrays import from_arrays, to_arrays, to_metadata
from polysema.lexicon.formats.flat import stored_as
from polysema.meanings import descriptions
from polysema.meanings.descriptions import SenseDescriptions
from polysema.meanings.meanings import Meanings
from polysema.meanings.neighbours import blocks
from polysema.meanings.results import clean
from polysema.storage import atomic_folder, check_regular, holds, read_config, read_text, save_arrays, signed
from polysema.vocabulary import Vocabulary

FORMAT = "polysema-lexicon"
VERSION = 2
PLACING = "placing.safetensors"
SLOTS = "slots.safetensors"
DICTIONARY = ("dictionary.safetensors", "encoder.safetensors", "pieces.txt")
FILES = (
    "config.json", "vocabulary.txt", "lexicon.safetensors", "README.md", descriptions.FILE, PLACING, SLOTS, *DICTIONARY,
)  # fmt: skip
owner = holds(FORMAT, VERSION, FILES)
_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "u1", "I8": "i1"}


def read(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Open a folder. What it holds is checked for sizes and kinds now, and number by number when it is used."""
    config = read_config(path, FORMAT, VERSION)
    words = read_text(path / "vocabulary.txt").split("\n")
    if words and not words[-1]:
        words.pop()
    arrays = map_safetensors(path / "lexicon.safetensors")
    counts = arrays.pop("counts", None)
    name = "vectors" if config.get("kind") == "vectors" else "factors"
    if "factor_columns" in arrays:
        arrays[name] = _dense(path, arrays.pop("factor_columns"), arrays.pop("factor_places", None), config)
    if name not in arrays:
        raise FormatError(f"{path}: lexicon.safetensors holds no {name!r}: the folder is damaged")
    if [config.get("words"), len(arrays[name]), len(words if counts is None else counts)] != [len(words)] * 3:
        raise FormatError(
            f"{path}: damaged: config.json announces {config.get('words')} words, vocabulary.txt has {len(words)}, "
            f"lexicon.safetensors {len(arrays[name])}"
        )
    columns = config.get("columns", "senses")
    if columns not in ("senses", "eigen"):
        raise FormatError(f"{path}: config.json: columns must be 'senses' or 'eigen', not {columns!r}")
    metadata = config.get("metadata", {})
    if "contexts" in arrays and not _finite(arrays["contexts"]):
        raise FormatError(f"{path}: damaged: its context vectors hold numbers that are not finite (NaN or infinity)")
    try:
        lexicon = from_arrays(Vocabulary(words, counts), arrays, columns, metadata)
    except (InputError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: {error}") from None
    described, placing, slots = (path / name for name in (descriptions.FILE, PLACING, SLOTS))
    return lexicon.with_parts(
        descriptions=SenseDescriptions(described) if described.is_file() else None,
        placing=placing if placing.is_file() else None,
        phrases=slots if slots.is_file() else None,
        dictionary=path if (path / DICTIONARY[0]).exists() else None,
    )


def write(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write a folder, whole or not at all. Only a lexicon or an empty folder is ever overwritten."""
    for word in lexicon.vocabulary.words:
        if not word or "\n" in word or "\r" in word:
            raise InputError(f"{word!r}: a word must not be empty or hold a line break")
    name, numbers = "vectors", lexicon.array
    if lexicon.kind == "matrices":
        name, words = "factors", lexicon.vocabulary.words
        parts = [lexicon.stack(words[part]).parts[0].astype(dtype) for part in blocks(len(words), 8192)]
        numbers = np.concatenate(parts) if parts else numbers
    numbers = stored_as(numbers, dtype, lexicon.vocabulary.words)
    arrays = {name: numbers, "counts": lexicon.vocabulary.counts, **to_arrays(lexicon)}
    used = (numbers != 0).any(axis=1) if lexicon.kind == "matrices" else np.ones((1, 1), bool)  # (V, m)
    ragged = used.size > 0 and bool(used.mean() <= 2 / 3)
    if ragged:
        arrays["factor_columns"] = arrays.pop(name).transpose(0, 2, 1)[used]
        arrays["factor_places"] = np.flatnonzero(used).astype(np.int32 if used.size < 2**31 else np.int64)
    metadata, placing = to_metadata(lexicon), lexicon.parts.placing
    if placing is not None:  # its fingerprint is of the numbers as they were before they were written again
        metadata["placing"] = read_fingerprint(placing)
    config = {
        "format": FORMAT,
        "version": 2 if ragged else 1,
        "kind": lexicon.kind,
        "words": len(lexicon),
        "n": lexicon.n,
        "m": lexicon.m,
        "dtype": dtype,
        "columns": lexicon.parts.columns,
        "metadata": metadata,
    }
    with atomic_folder(path, overwrite, owner) as folder:
        (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in lexicon.vocabulary), encoding="utf-8")
        (folder / "README.md").write_text(signed(card(lexicon, path.name)), encoding="utf-8")
        if lexicon.parts.descriptions is not None:
            with open(folder / descriptions.FILE, "wb") as stream:
                lexicon.parts.descriptions.write(stream)
        for own, file in ((PLACING, placing), (SLOTS, lexicon.parts.phrases)):
            if file is not None:
                shutil.copyfile(file, folder / own)
        if isinstance(dictionary := lexicon.parts.dictionary, Path):
            for name in DICTIONARY:
                shutil.copyfile(dictionary / name, folder / name)
        elif dictionary is not None:
            dictionary.save(folder)
        save_arrays(folder / "lexicon.safetensors", arrays)


def read_fingerprint(path: Path) -> str:
    """The fingerprint of the meanings that a regression was learnt for; empty where the file does not say."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            return str((file.metadata() or {}).get("lexicon", ""))
    except (SafetensorError, OSError) as error:
        raise FormatError(f"{path}: damaged: {error}") from None


def _dense(path: Path, columns: NDArray[Any], places: NDArray[Any] | None, config: dict[str, Any]) -> NDArray[Any]:
    """Factors (V, n, m) from their columns (K, n) that are not zero, and the places of these."""
    words, m = config.get("words"), config.get("m")
    if isinstance(words, int) and isinstance(m, int) and places is not None and columns.ndim == 2:
        rising = places.ndim == 1 and bool((np.diff(places.astype(np.int64), prepend=-1, append=words * m) > 0).all())
        if rising and len(places) == len(columns) and 0 < words * m <= 64 * max(len(places), 1):
            dense = np.zeros((m, words, columns.shape[1]), columns.dtype)  # what stays zero takes no memory
            for k in range(m):
                own = places % m == k
                dense[k, places[own] // m] = columns[own]
            return dense.transpose(1, 2, 0)
    raise FormatError(f"{path}: damaged: the columns of its factors do not fit {words!r} words of {m!r}")


def _finite(array: NDArray[Any]) -> bool:
    """Whether all numbers are, looked at piece by piece; half precision by its bits, which is quicker."""
    for start in range(0, len(array), 65536):
        piece = array[start : start + 65536]
        if piece.dtype == np.float16 and (piece.view(np.uint16) & 0x7C00 == 0x7C00).any():  # their exponent
            return False
        if piece.dtype != np.float16 and not np.isfinite(piece).all():
            return False
    return True


def map_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped into memory read-only."""
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(path, "numpy"):  # which checks that the header is sound and that its arrays fill the file
            pass
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header.pop("__metadata__", None)
        arrays: dict[str, NDArray[Any]] = {}
        for name, entry in header.items():
            dtype, (start, stop) = np.dtype(_TYPES[entry["dtype"]]), entry["data_offsets"]
            count = (stop - start) // dtype.itemsize
            array = np.frombuffer(data, dtype, count, 8 + length + start) if count else np.empty(0, dtype)
            arrays[name] = array.reshape(entry["shape"])
    except (SafetensorError, KeyError) as error:
        raise FormatError(f"{path}: damaged, or no safetensors file: {error}") from None
    return arrays


def card(lexicon: Meanings[Any], name: str) -> str:
    """A lexicon's card in Markdown."""
    what = f"vectors (n = {lexicon.n})"
    if lexicon.kind == "matrices":
        what = f"density matrices (n = {lexicon.n}, m = {lexicon.m})"
    code = f'```python\nimport polysema\n\nlexicon = polysema.load("{name}")\n```'
    lines = [f"# {name}", "", f"A polysema lexicon: {len(lexicon):,} words, {what}.", "", code]
    made = json.dumps(clean(lexicon.metadata), indent=2, ensure_ascii=False)
    return "\n".join([*lines, "", "## How it was made", "", f"```json\n{made}\n```"]) + "\n"
