"""The state of a run that can be stopped: its folder and its checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.errors import FormatError, InputError, OutputError, PolysemaError
from polysema.storage import (
    MARKER,
    atomic_file,
    beside,
    check_name,
    disk_errors,
    is_marked,
    is_temporary,
    locked,
    remove,
)

_HEADING = "polysema made this folder, and deletes what is listed below when it is done with it\n"


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """A folder for the state of a run. It is made when its first file is.

    Its file ``.polysema`` proves that polysema made it and lists what polysema put there. A folder without that file is
    never touched; removing the folder deletes what is listed and nothing else.

    Args:
        path: the folder. One that polysema did not make is an error, unless it is empty.
    """

    path: Path

    def __post_init__(self) -> None:
        if not os.path.lexists(self.path) or is_marked(self.path):
            return
        held = "is a file" if not self.path.is_dir() else "holds other files" if any(self._names()) else ""
        if held:
            raise InputError(f"{self.path} {held}, where the state of the run would be kept: choose another name")

    @contextmanager
    def held(self, worth_keeping: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Lock the folder during a run.

        A run that is stopped, or finds the disk full, leaves the folder: the same run continues from there. A run that
        is refused removes it if it was not there before, unless ``worth_keeping`` returns True. An empty folder is
        always removed.
        """
        with locked(self.path):
            new = not os.path.lexists(self.path)
            try:
                yield
            except BaseException as error:
                refused = isinstance(error, PolysemaError) and not isinstance(error, OutputError)
                if is_marked(self.path) and (not any(self._names()) or (new and refused and not worth_keeping())):
                    self.remove()
                raise

    def make(self) -> Path:
        """Make and mark the folder, if it is not there."""
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if not is_marked(self.path):
                try:
                    (self.path / MARKER).write_text(_HEADING, encoding="utf-8")
                except OSError:
                    (self.path / MARKER).unlink(missing_ok=True)
                    with suppress(OSError):
                        self.path.rmdir()
                    raise
        return self.path

    def file(self, name: str) -> Path:
        """The path of a file or folder in it, listed so that it is deleted with the folder. Makes the folder."""
        self.make()
        with disk_errors(self.path / name):
            if name not in self._listed():
                with open(self.path / MARKER, "a", encoding="utf-8") as file:
                    file.write(f"{name}\n")
        return self.path / name

    def remove(self) -> None:
        """Delete what polysema put there, and the folder if nothing else is in it.

        The folder is first given a temporary name, so that a process that is killed leaves it whole or not at all.
        """
        with suppress(OutputError), locked(self.path):
            if not is_marked(self.path):
                return
            listed = self._listed()
            if set(self._names()) <= set(listed):
                os.replace(self.path, beside(self.path, "new"))
                remove(beside(self.path, "new"))
                return
            for name in (*listed, MARKER):
                if Path(name).name == name:
                    remove(self.path / name)

    def removed_as_finished(self, output: Path) -> bool:
        """Remove the folder if the output is newer: the run was killed after it wrote it. False if it is not."""
        if not output.exists():
            return False
        check_name(output)
        dying = beside(self.path, "new").is_dir()  # killed while the folder was deleted
        with locked(output), locked(self.path):  # removes what the killed run left beside them
            if dying or not is_marked(self.path):
                return dying
            newest, written = (
                max(item.stat().st_mtime_ns for item in (path, *path.rglob("*")) if item.is_file() or item == path)
                for path in (self.path, output)
            )
            if written >= newest:
                self.remove()
            return written >= newest

    def _names(self) -> Iterator[str]:
        """What is in the folder besides its marker and what a killed process left."""
        return (
            item.name
            for item in self.path.iterdir()
            if not (item.name == MARKER and item.is_file()) and not is_temporary(item.name)
        )

    def _listed(self) -> list[str]:
        return (self.path / MARKER).read_text(encoding="utf-8", errors="replace").splitlines()[1:]


@dataclass
class Checkpoint:
    """The progress of a run in one safetensors file, which is replaced whole.

    Its header holds identity and counters as JSON, and a digest of everything.
    """

    path: Path  # the file. Its folder is made when it is first written.
    # options, text, words …: what must agree for the run to continue. Anything that JSON can hold.
    identity: Mapping[str, Any]
    seconds: float = 60.0  # how often to write it
    numbers: dict[str, Any] = field(default_factory=dict)  # what is kept
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> bool:
        """Read the file; False if there is none. The checkpoint of another run is an error."""
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
            differs = ", ".join(_differences(found, wanted)) or "another version of polysema"
            raise InputError(f"{folder} holds another run ({differs}): finish that one, or delete it")
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


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """How two identities differ, in words."""
    for name, value in wanted.items():
        other = found.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _differences(other, value)
        elif other != value:
            digests = any(isinstance(item, str) and len(item) >= 16 for item in (other, value))
            yield f"another {name}" if digests else f"{name} {other} and not {value}"
