"""Fingerprints of files, folders and objects in stores: equal content has an equal text, however it is packed.

    fingerprint("readings.csv.gz").text        # xxh3-128:…, what `gunzip -c readings.csv.gz | xxhsum -H2` prints

Never loads whole content into memory, and writes nothing. The reasons: docs/explanation/fingerprints.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headwater.client.fingerprint.result import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fingerprint", "fingerprint"]


def fingerprint(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    *,
    raw: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
    storage: dict[str, Any] | None = None,
) -> Fingerprint:
    """Return the fingerprint of a file, a folder or a URL that fsspec can open (`storage`: options for its file system).

    `raw`: of the stored bytes, packed or not. `progress` is called in this thread with the stored bytes read so far and their total, or None
    while unknown. Raises NotFound, UnreadableContent (damaged, cut off, not permitted; with the place), ContentChanged (written to
    while it was read) and NotInstalled.
    """
    from headwater.client.fingerprint import folder, source

    place = os.fspath(path)
    if isinstance(place, str) and place.startswith("file://"):
        place = source.local_path(place)
    if source.is_url(place):
        return folder.of_url(place, raw, progress, storage)  # type: ignore[arg-type]  # a URL is a str
    return folder.of_path(place, raw, progress)
