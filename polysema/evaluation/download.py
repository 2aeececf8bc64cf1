"""Missing sets from their public homes, by ``pooch``: verified, and never half there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from polysema.errors import DataError, needing
from polysema.evaluation.datasets import cache_directory, search
from polysema.evaluation.records import DataFile, Record

TIMEOUT = 20  # seconds to wait for an answer


def fetch(
    records: Iterable[Record],
    data: str | Path | None = None,
    progress: Callable[[DataFile], None] | None = None,
) -> list[Path]:
    """Download what is not yet in a data directory into the user's cache.

    Returns:
        the files that were downloaded.
    """
    found = search((file for record in records for file in record.files), data)
    missing = [item.file for item in found.values() if item.path is None]
    if not missing:
        return []
    with needing("downloading evaluation sets", "data"):
        import pooch
    pooch.get_logger().setLevel("WARNING")
    fetched = []
    for file in missing:
        if progress:
            progress(file)
        try:
            path = pooch.retrieve(
                file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=cache_directory(),
                downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
            )
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            reason = "what it serves is not the published file" if isinstance(error, ValueError) else "no answer"
            raise DataError(
                f"{file.name} cannot be downloaded from {file.url}: {reason}; get it elsewhere and put it in "
                f"{cache_directory()}, or in a folder that you name with --data or POLYSEMA_DATA"
            ) from error
        fetched.append(Path(path))
    return fetched
