"""A corpus's arrays on disk: NumPy's ``npy``, one axis, mapped into memory."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polysema.errors import FormatError
from polysema.files.reading import check_regular

HEADER = 128
"""Bytes before the numbers: always as many, so that the length can be filled in at the end."""


def header(dtype: str, count: int) -> bytes:
    """The start of an npy file of so many numbers (format 1.0)."""
    described = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}".encode()
    return npy.magic(1, 0) + struct.pack("<H", HEADER - 10) + described.ljust(HEADER - 11) + b"\n"


def map_array(file: Path, dtype: str, count: int) -> NDArray[Any]:
    """The numbers of a file, read-only; an error unless they are of this kind and so many.

    Files that do not end in ``.npy`` are numbers alone, as corpora of version 1 have them.
    """
    check_regular(file)
    start = 0
    if file.suffix == ".npy":
        with open(file, "rb") as stream:
            start = len(header(dtype, count))
            if stream.read(start) != header(dtype, count):
                raise FormatError(f"{file}: damaged: not an array of {count} numbers of type {dtype}")
    size, expected = file.stat().st_size, start + count * np.dtype(dtype).itemsize
    if size != expected:
        raise FormatError(f"{file}: truncated or damaged: {size} bytes where {expected} are announced")
    if count == 0:
        return np.empty(0, dtype)
    return np.memmap(file, dtype=dtype, mode="r", offset=start, shape=(count,))
