"""The state of a run on disk: one safetensors file that is replaced whole, so that a killed run can go on.

Its header holds the identity of the run (options, text, words …) and its counters as JSON, and a digest of everything.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError
from polysema.files.atomic import atomic_file
from polysema.files.working import WorkingFolder


@dataclass
class Checkpoint:
    """What a run has done so far.

    Attributes:
        path: the file. Its folder is made when it is first written.
        identity: what must agree for the run to go on: anything that JSON can hold.
        seconds: how often to write it.
        numbers, arrays: what is kept.
    """

    path: Path
    identity: Mapping[str, Any]
    seconds: float = 60.0
    numbers: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> bool:
        """Take up what is on disk; False where there is nothing. Another run's is an error."""
        from safetensors import SafetensorError, safe_open

        if not self.path.is_file():
            return False
        folder = self.path.parent
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = file.metadata() or {}
                found, numbers = json.loads(header["identity"]), json.loads(header["numbers"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
            if header.get("digest") != _digest(header["identity"], header["numbers"], arrays):
                raise ValueError("its content is not what was written")
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise FormatError(f"{self.path}: damaged ({error}): delete {folder} to start afresh") from None
        wanted = json.loads(json.dumps(self.identity))
        if found != wanted:
            differing = _difference(found, wanted)
            raise InputError(f"{folder} holds another run ({differing}): finish that one, or delete it")
        self.numbers, self.arrays = numbers, arrays
        return True

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.seconds

    def save(self, numbers: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write it."""
        from safetensors.numpy import save

        self.numbers, self.arrays = numbers, dict(arrays)
        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        header = {"identity": json.dumps(self.identity), "numbers": json.dumps(numbers)}
        header["digest"] = _digest(header["identity"], header["numbers"], plain)
        with atomic_file(WorkingFolder(self.path.parent).file(self.path.name), overwrite=True) as file:
            file.write(save(plain, header))
        self._written = time.monotonic()


def _digest(identity: str, numbers: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.sha256(f"{identity}\n{numbers}".encode())
    for name in sorted(arrays):
        found.update(f"\n{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        found.update(arrays[name].data)
    return found.hexdigest()


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two runs, in words."""
    parts = []
    for name, value in wanted.items():
        other = found.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            parts += [f"{key} {other.get(key)} and not {item}" for key, item in value.items() if other.get(key) != item]
        elif other != value:
            digests = any(isinstance(item, str) and len(item) >= 16 for item in (other, value))
            parts.append(f"another {name}" if digests else f"{name} {other} and not {value}")
    return ", ".join(parts) if parts else "another version of polysema"
