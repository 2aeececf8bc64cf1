"""The folder in which a run keeps its state until it is done.

The file ``.polysema`` in it proves that polysema made it, and lists what polysema put there. A folder without it is
never touched; cleaning deletes what is listed and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from polysema.errors import InputError, OutputError, PolysemaError
from polysema.files.door import MARKER, is_marked
from polysema.files.lock import locked, remove

_FIRST = "polysema made this folder, and deletes what is listed below when it is done with it\n"

_DONE = "(done with: what is left of it is deleted next time)"


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """A folder for the state of a run. It is made when the first file is.

    Args:
        path: where. A folder that holds anything and that polysema did not make is an error.
    """

    path: Path

    def __post_init__(self) -> None:
        if not os.path.lexists(self.path) or is_marked(self.path):
            return
        if not self.path.is_dir():
            raise InputError(f"{self.path} is a file, where the state of the run would be kept: choose another name")
        if any(item.name != MARKER for item in self.path.iterdir()):
            raise InputError(
                f"{self.path} holds other files, where the state of the run would be kept: choose another name"
            )

    @contextmanager
    def held(self, worth_keeping: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Hold it while a run lasts: another run is told. A run that is refused leaves no folder that was not there.

        One that is stopped, or finds the disk full, leaves it: the same run goes on from there.

        Args:
            worth_keeping: whether what a refused run put there is kept all the same, asked when it is refused.
        """
        with locked(self.path):
            if is_marked(self.path) and _DONE in self._names():  # killed while it was deleted
                self.remove()
            new = not os.path.lexists(self.path)
            try:
                yield
            except OutputError:
                raise
            except PolysemaError:
                if new and not worth_keeping():
                    self.remove()
                raise

    def make(self) -> Path:
        """The folder, made and marked where it is not yet."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not is_marked(self.path):
                (self.path / MARKER).write_text(_FIRST, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        return self.path

    def file(self, name: str) -> Path:
        """The path of a file or folder in it, which is listed and so deleted with it. Makes the folder."""
        self.make()
        try:
            if name not in self._names():
                with open(self.path / MARKER, "a", encoding="utf-8") as file:
                    file.write(f"{name}\n")
        except OSError as error:
            raise OutputError(f"{self.path / name}: cannot be written: {error.strerror or error}") from error
        return self.path / name

    def remove(self) -> None:
        """Delete what polysema put there, and the folder if nothing else is in it."""
        if not is_marked(self.path):
            return
        with suppress(OSError), open(self.path / MARKER, "a", encoding="utf-8") as file:  # a full disk
            file.write(f"{_DONE}\n")
        for name in self._names():
            if name not in ("", ".", "..") and Path(name).name == name:
                with suppress(OutputError), locked(self.path / name):
                    remove(self.path / name)
        (self.path / MARKER).unlink(missing_ok=True)
        with suppress(OSError):  # other files are there
            self.path.rmdir()

    def remove_if_empty(self) -> None:
        """Delete the folder if nothing but its mark is in it: a run that never began leaves nothing."""
        if is_marked(self.path) and [item.name for item in self.path.iterdir()] == [MARKER]:
            self.remove()

    def _names(self) -> list[str]:
        return (self.path / MARKER).read_text(encoding="utf-8").splitlines()[1:]
