"""Where a pass over the text stands, on disk: one file that is replaced whole."""

from __future__ import annotations

import json
import time
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
    """What a pass has done so far.

    Attributes:
        path: the file.
        identity: what must agree for the pass to go on.
        seconds: how often to write it.
        numbers, arrays: what is kept.
    """

    path: Path
    identity: dict[str, Any]
    seconds: float = 60.0
    numbers: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> bool:
        """Take up what is on disk; False where there is nothing. Another run's is an error."""
        from safetensors import SafetensorError, safe_open

        if not self.path.is_file():
            return False
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = file.metadata() or {}
                found, self.numbers = json.loads(header["identity"]), json.loads(header["numbers"])
                self.arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
        except (SafetensorError, KeyError, json.JSONDecodeError) as error:
            folder = self.path.parent
            raise FormatError(f"{self.path}: damaged ({error}): delete {folder} to start afresh") from None
        if found != self.identity:
            differ = [f"{key} {found.get(key)} and not {value}" for key, value in self.identity.items()
                      if found.get(key) != value]  # fmt: skip
            raise InputError(f"{self.path.parent} holds another run ({', '.join(differ)}): finish it, or delete it")
        return True

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.seconds

    def save(self) -> None:
        """Write it."""
        from safetensors.numpy import save

        header = {"identity": json.dumps(self.identity), "numbers": json.dumps(self.numbers)}
        arrays = {name: np.ascontiguousarray(array) for name, array in self.arrays.items()}
        path = WorkingFolder(self.path.parent).file(self.path.name)
        with atomic_file(path, overwrite=True) as file:
            file.write(save(arrays, header))
        self._written = time.monotonic()
