"""NumPy's npz: ``words``, one of ``factors`` (V, n, m), ``matrices`` (V, n, n), ``vectors`` (V, n), and ``counts``.

What polysema writes also holds the arrays of the lexicon's parts by the names of :mod:`.arrays`, such as ``contexts``,
and ``config``, JSON with ``columns`` and ``metadata``; what others write need not.
Words are an array of strings; where one long word would make all of them wide, they are lines of UTF-8 bytes.
"""

from __future__ import annotations

import json
import math
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, MatrixError
from polysema.lexicon.formats.arrays import NAMES, from_arrays, to_arrays, to_metadata
from polysema.lexicon.formats.flat import stored_as
from polysema.meanings.meanings import Meanings, from_matrices
from polysema.meanings.parts import Columns
from polysema.storage import atomic_file, check_regular, unpacked_limit
from polysema.vocabulary import Vocabulary

_PARTS = frozenset(name for own in NAMES.values() for name in own)
_ARRAYS = _PARTS | {"words", "factors", "matrices", "vectors", "counts", "config"}
_HEADER = 10_000  # bytes of an array's header, at most
_WIDE = 100  # letters of the longest word in an array of strings


def read(path: Path, kind: str = "auto") -> Meanings[Any]:
    """Read an npz. Object arrays, which would be pickles, are refused."""
    try:
        arrays, others = _read_arrays(path)
    except (FormatError, OSError):
        raise
    except Exception as error:  # zipfile and NumPy raise a dozen kinds on damaged files
        why = "it holds Python objects (a pickle), which polysema never reads" if "pickle" in str(error) else str(error)
        raise FormatError(f"{path}: not a readable npz: {why}") from None
    known = [name for name in ("factors", "matrices", "vectors") if name in arrays]
    if "words" not in arrays or len(known) != 1:
        raise FormatError(
            f"{path}: holds {', '.join(sorted([*arrays, *others])) or 'nothing'}: "
            "an npz lexicon has 'words' and one of 'factors', 'matrices' or 'vectors'"
        )
    words, numbers = arrays["words"], arrays[known[0]]
    if words.ndim == 1 and words.dtype == np.uint8:
        spelled = words.tobytes().decode("utf-8", "replace").split("\n")
    elif words.ndim == 1 and words.dtype.kind in "US":
        spelled = [word.decode() if isinstance(word, bytes) else str(word) for word in words.tolist()]
    else:
        raise FormatError(f"{path}: 'words' must be a list of strings, not {words.dtype} of shape {words.shape}")
    if numbers.dtype.kind not in "fiu":
        raise FormatError(f"{path}: {known[0]!r} must hold real numbers, not {numbers.dtype}")
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize > 8:
        numbers = numbers.astype(np.float64)
    if len(spelled) != len(numbers) if numbers.ndim else True:
        raise FormatError(f"{path}: {len(spelled)} words and an array of shape {numbers.shape}")
    try:
        vocabulary = Vocabulary(spelled, arrays.get("counts")).checked()
        if (vocabulary.counts < 0).any():
            raise InputError("counts are whole numbers from 0")
        if known[0] == "matrices":
            return from_matrices(vocabulary, numbers)
        if numbers.ndim != (3 if known[0] == "factors" else 2):
            raise InputError(f"{known[0]!r} of shape {numbers.shape}")
        columns, metadata = _config(arrays.get("config"))
        parts = {name: array for name, array in arrays.items() if name in _PARTS}
        lexicon = from_arrays(vocabulary, {known[0]: numbers, **parts}, columns, metadata)
        for start in range(0, len(lexicon), 8192):
            lexicon.stack(spelled[start : start + 8192])
        return lexicon
    except (InputError, MatrixError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: {error}") from None


def _config(array: NDArray[Any] | None) -> tuple[Columns, dict[str, Any]]:
    """What the columns are and how the lexicon was made; of a file that does not say, nothing."""
    if array is None:
        return "senses", {}
    if array.ndim or array.dtype.kind != "U":
        raise InputError("'config' must be one string of JSON")
    config = json.loads(str(array))
    columns = config.get("columns", "senses") if isinstance(config, dict) else None
    if columns not in ("senses", "eigen") or not isinstance(config.get("metadata", {}), dict):
        raise InputError("'config' must hold columns, 'senses' or 'eigen', and metadata")
    return columns, config.get("metadata", {})


def _read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The arrays of a lexicon, and the names of others, which are not read.

    What the headers announce is added up first: an archive of a few kilobytes may unpack to gigabytes.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        used = {name: member for name, member in members.items() if name in _ARRAYS}
        announced = sum(_announced(archive, member) for member in used.values())
        if announced > unpacked_limit(path):
            raise FormatError(f"{path}: announces {announced:,} bytes of numbers, too many for its size")
        arrays = {}
        for name, member in used.items():
            with archive.open(member) as stream:
                arrays[name] = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=_HEADER)
    return arrays, [name for name in members if name not in used]


def _announced(archive: zipfile.ZipFile, member: str) -> int:
    """The bytes of an array in memory, by its header."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream, max_header_size=_HEADER)
    if dtype.hasobject:
        raise ValueError("Object arrays are a pickle")
    return math.prod(shape) * max(dtype.itemsize, 1)


def owner(path: Path) -> None:
    """Refuse what is no npz of words."""
    check_regular(path)
    with suppress(OSError, zipfile.BadZipFile, NotImplementedError, ValueError), zipfile.ZipFile(path) as archive:
        if "words.npy" in archive.namelist():
            return
    raise FormatError(f"{path}: no npz lexicon")


def write(lexicon: Meanings[Any], path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write an npz, factors at unit trace, with all that arrays can hold: see :func:`.formats.left_behind`."""
    numbers = lexicon.array
    if lexicon.kind == "matrices" and len(lexicon):
        numbers = lexicon.stack(lexicon.vocabulary.words).parts[0]
    name = "factors" if lexicon.kind == "matrices" else "vectors"
    words = lexicon.vocabulary.words
    wide = max(map(len, words), default=0) > _WIDE
    config = {"columns": lexicon.parts.columns, "metadata": to_metadata(lexicon)}
    arrays = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8) if wide else np.array(words, dtype=np.str_),
        name: stored_as(numbers, dtype, words),
        "config": np.array(json.dumps(config, ensure_ascii=False)),
        **to_arrays(lexicon),
    }
    with atomic_file(path, overwrite, owner) as stream:
        np.savez(stream, allow_pickle=False, counts=lexicon.vocabulary.counts, **arrays)
