"""NumPy's npz: ``words``, one of ``factors`` (V, n, m), ``matrices`` (V, n, n), ``vectors`` (V, n), and ``counts``."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from polysema.errors import FormatError, InputError, MatrixError
from polysema.files.atomic import atomic_file
from polysema.files.reading import check_regular
from polysema.lexicon.lexicon import Lexicon
from polysema.vocabulary import Vocabulary


def read(path: Path, kind: str = "auto") -> Lexicon:
    """Read an npz. Object arrays, which would be pickles, are refused."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError) as error:
        why = "it holds Python objects (a pickle), which polysema never reads" if "pickle" in str(error) else str(error)
        raise FormatError(f"{path}: not a readable npz: {why}") from None
    known = [name for name in ("factors", "matrices", "vectors") if name in arrays]
    if "words" not in arrays or len(known) != 1:
        raise FormatError(
            f"{path}: holds {', '.join(sorted(arrays)) or 'nothing'}: "
            "an npz lexicon has 'words' and one of 'factors', 'matrices' or 'vectors'"
        )
    words, numbers = arrays["words"], arrays[known[0]]
    if words.ndim != 1 or words.dtype.kind not in "US":
        raise FormatError(f"{path}: 'words' must be a list of strings, not {words.dtype} of shape {words.shape}")
    if numbers.dtype.kind not in "fiu":
        raise FormatError(f"{path}: {known[0]!r} must hold real numbers, not {numbers.dtype}")
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize > 8:
        numbers = numbers.astype(np.float64)
    spelled = [word.decode() if isinstance(word, bytes) else str(word) for word in words.tolist()]
    try:
        vocabulary = Vocabulary(spelled, arrays.get("counts")).checked()
        if known[0] == "matrices":
            return Lexicon.from_matrices(vocabulary, numbers)
        if numbers.ndim != (3 if known[0] == "factors" else 2):
            raise InputError(f"{known[0]!r} of shape {numbers.shape}")
        lexicon = Lexicon(vocabulary, numbers)
        for start in range(0, len(lexicon), 8192):
            lexicon.stack(spelled[start : start + 8192])
        return lexicon
    except (InputError, MatrixError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: {error}") from None


def owner(path: Path) -> None:
    """Refuse what is no npz of words."""
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if "words.npy" in archive.namelist():
                return
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        pass
    raise FormatError(f"{path}: no npz lexicon")


def write(lexicon: Lexicon, path: Path, dtype: str = "float32", overwrite: bool = False) -> None:
    """Write an npz, factors at unit trace."""
    numbers = lexicon.factors
    if lexicon.kind == "matrices" and len(lexicon):
        numbers = lexicon.stack(lexicon.vocabulary.words).parts[0]
    name = "factors" if lexicon.kind == "matrices" else "vectors"
    arrays = {"words": np.array(lexicon.vocabulary.words, dtype=np.str_), name: numbers.astype(dtype)}
    with atomic_file(path, overwrite, owner) as stream:
        np.savez(stream, allow_pickle=False, counts=lexicon.vocabulary.counts, **arrays)
