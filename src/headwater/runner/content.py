"""Tell whether a run changed an instance: fingerprint its files, ignoring their names.

Spark names files at random, so names and order do not count. Skips what is not cheap: remote places, and more than 1,000 files or 256 MiB of
one instance; those have no fingerprint.
"""

import hashlib
from pathlib import Path

import msgspec

from headwater.client.fingerprint import fingerprint
from headwater.errors import HeadwaterError, NotInstalled
from headwater.runner.entities import INSTANCE, START
from headwater.runner.manifest import Declared

_MOST_FILES = 1_000
_MOST_BYTES = 256 << 20


class Content(msgspec.Struct, frozen=True):
    """The content of one instance in one output."""

    fingerprint: str
    size: int


def of_instance(output: Declared, instance: str, start: str | None = None) -> Content | None:
    """Fingerprint this instance, which begins at `start`, in the output.

    None if it is missing, remote or too large, or without the extra `fingerprint`.
    """
    if output.instance is None or output.dataset.namespace != "file":
        return None
    root = Path(output.place.removeprefix("file://").removeprefix("file:"))
    place = root / output.instance.replace(INSTANCE, instance).replace(START, (start or "")[:10])
    try:
        files = [place] if place.is_file() else sorted(each for each in place.rglob("*") if _is_data(each, place))
        size = sum(each.stat().st_size for each in files)
        if not files or len(files) > _MOST_FILES or size > _MOST_BYTES:
            return None
        found = sorted(fingerprint(each, raw=True).text for each in files)
    except (OSError, HeadwaterError) as error:
        if isinstance(error, NotInstalled | OSError) or not error.permanent:
            return None  # another process is writing there, or it cannot be read: then it counts as changed
        raise
    if len(found) == 1:
        return Content(found[0], size)
    return Content("blake2b-files:" + hashlib.blake2b("\n".join(found).encode(), digest_size=16).hexdigest(), size)


def _is_data(path: Path, root: Path) -> bool:
    """Return whether a file is data and not one of Spark's own (_SUCCESS, .crc, _temporary)."""
    return path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
