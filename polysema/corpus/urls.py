"""Text at a URL, through fsspec: s3, gs, hdfs, http … with the plugins that the user has installed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from polysema.errors import CorpusError, MissingExtraError

_VERSIONS = ("ETag", "etag", "md5Hash", "checksum", "mtime", "modified", "LastModified", "last_modified", "created")


def is_url(item: object) -> bool:
    """Whether it is written as a URL."""
    return isinstance(item, str) and re.match(r"[a-z][a-z0-9+.-]*://", item) is not None


@dataclass(frozen=True, slots=True)
class Url:
    """A file at a URL; it answers what is asked of a path."""

    url: str

    def __str__(self) -> str:
        return self.url

    def is_file(self) -> bool:
        """It was found."""
        return True

    def open(self, mode: str = "rb") -> IO[bytes]:
        """To be read, from any place."""
        system, path = _system(self.url)
        return cast(IO[bytes], system.open(path, mode))

    @property
    def suffix(self) -> str:
        """The end of its name."""
        return PurePosixPath(self.url).suffix

    @property
    def info(self) -> dict[str, Any]:
        """What the file system says of it."""
        system, path = _system(self.url)
        return dict(system.info(path))


Source = Path | Url
"""A file of text; ``-`` is standard input."""


def find_urls(url: str) -> list[Url]:
    """The files that a URL, a folder or a glob stands for, sorted; hidden ones are left out of folders."""
    system, path = _system(url)
    try:
        if any(sign in path for sign in "*?["):
            found = [name for name in system.glob(path) if system.isfile(name)]
        elif system.isdir(path):
            found = [name for name in system.find(path) if not re.search(r"(^|/)\.", name[len(path) :])]
        else:
            found = [path] if system.exists(path) else []
    except Exception as error:  # plugins raise what they like
        raise CorpusError(f"{url}: cannot be read: {' '.join(str(error).split())}") from None
    if not found:
        raise CorpusError(f"{url}: no such file or folder")
    return [Url(system.unstrip_protocol(name)) for name in sorted(found)]


def size_of(source: Source) -> int:
    """Bytes, packed as they are."""
    return int(source.info["size"]) if isinstance(source, Url) else source.stat().st_size


def describe(source: Source) -> dict[str, Any]:
    """What identifies a file: where it is, its size, and when or as what it was last changed."""
    if isinstance(source, Url):
        info = source.info
        known = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
        return {"path": source.url, "bytes": int(info["size"]), **known}
    status = source.stat()
    times = {"modified": status.st_mtime_ns, "changed": status.st_ctime_ns}  # the second cannot be set back
    return {"path": str(source.resolve()), "bytes": status.st_size, **times}


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError("text at a URL", "ray", "pip install fsspec") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise CorpusError(f"{url}: cannot be read: {' '.join(str(error).split())}") from None
    return system, str(path)
