"""The inputs and outputs of one step, until its events carry them.

A step may describe a dataset in several calls, in any order; calls about one item share an entry. The step decides when
events are sent.
"""

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from headwater.client import event
from headwater.client.item import Item, local_path

Side = Literal["inputs", "outputs"]

_TICK = 0.05  # seconds; Linux' own is 4 ms, or 10


class Entry(msgspec.Struct, eq=False):
    """One item with its facets. `wanted`: its content will be fingerprinted; `bare`: read but not imported, so without its version."""

    item: Item
    facets: dict[str, Any] = {}
    side_facets: dict[str, Any] = {}
    wanted: bool = False
    bare: bool = False
    said: bool = False
    seen: tuple[int, int, int] | None = None  # the file that was fingerprinted, as `stat` described it

    def to_dataset(self, side: Side) -> dict[str, Any]:
        """Return the entry of an event's `inputs` or `outputs`."""
        item = self.item
        facets, of_side = dict(self.facets), dict(self.side_facets)
        if not self.bare:
            if item.fingerprint:
                facets["version"] = event.facet("DatasetVersionDatasetFacet", datasetVersion=item.fingerprint)
            known = {"id": item.id, "fingerprint": item.fingerprint, "bytes": item.bytes}
            if any(value is not None for value in known.values()):
                of_side["headwater_item"] = event.facet(
                    "headwater_item", **{key: value for key, value in known.items() if value is not None}
                )
        if side == "inputs":
            return event.dataset(*item.dataset, facets=facets, input_facets=of_side or None)
        return event.dataset(*item.dataset, facets=facets, output_facets=of_side or None)

    def tell(self, facets: Mapping[str, Any], side_facets: Mapping[str, Any]) -> None:
        """Add facets; a later one replaces an earlier one of the same name."""
        self.facets = {**self.facets, **facets}
        self.side_facets = {**self.side_facets, **side_facets}

    def measure(self, *, since: float | None = None) -> None:
        """Fingerprint the content now, unless that is done and the file has not changed since. A deleted file keeps its last fingerprint.

        With `since` (a POSIX time) a local file is left for later if it is missing, or older and so perhaps about to be replaced.
        Raises what the fingerprint raises, and OSError.
        """
        if self.item.location is None and self.item.namespace != "file" and "://" not in self.item.namespace:
            raise ValueError(f"{self.item.dataset} is a name; only a path or URL can be read")
        place = self.item.place
        path = local_path(place)
        seen = None
        if path is None:
            if since is not None or self.seen:
                return
        else:
            try:
                status = os.stat(path)  # noqa: PTH116 - a str of any bytes
            except FileNotFoundError:
                if since is not None or self.item.fingerprint is not None:
                    return
                raise
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen == self.seen:
                return
            # A folder's own time says nothing about its files. The clock of a file system is coarse, hence the second.
            if since is not None and (status.st_mtime < since - 1 or not _is_file(status)):
                return
        from headwater.client.fingerprint import fingerprint  # only if a fingerprint is requested

        found = fingerprint(place if path is None else path)
        self.item.fingerprint, self.item.bytes = found.text, found.bytes
        # A file that is rewritten within one tick of the file system's clock looks unchanged: such a new one is read again at the end.
        young = path is not None and time.time() - status.st_mtime < _TICK
        self.seen = None if young else seen or (0, 0, 0)


class Entries:
    """The inputs or the outputs of one step. Not thread-safe by itself: the step's lock covers it."""

    def __init__(self, side: Side) -> None:
        self.side: Side = side
        self.all: list[Entry] = []
        self._fresh: list[
            Entry
        ] = []  # those that may be unreported: a step of a million outputs need not scan all of them
        self._of: dict[tuple[str, str], list[Entry]] = {}

    def find(self, item: Item) -> Entry | None:
        """Return the entry of the same item: the same id, or one of the two has none and their contents do not differ."""
        for entry in self._of.get(item.dataset, ()):
            have = entry.item
            if item.id is not None and item.id == have.id:
                return entry
            same = have.fingerprint is None or item.fingerprint is None or have.fingerprint == item.fingerprint
            if (item.id is None or have.id is None) and same and not entry.bare:
                return entry
        return None

    def add(self, item: Item) -> Entry:
        """Return the item's entry, a new one if needed, with the item's further data added."""
        entry = self.find(item)
        if entry is None:
            entry = Entry(item)
            self.all.append(entry)
            self._fresh.append(entry)
            self._of.setdefault(item.dataset, []).append(entry)
            return entry
        have = entry.item
        if (have.id, have.fingerprint) != (item.id or have.id, item.fingerprint or have.fingerprint):
            merged = msgspec.structs.replace(
                have,
                id=have.id or item.id,
                fingerprint=have.fingerprint or item.fingerprint,
                bytes=have.bytes if have.bytes is not None else item.bytes,
                location=have.location or item.location,
            )
            entry.item = merged
            self.again(entry)
        return entry

    def again(self, entry: Entry) -> None:
        """Mark that the entry has more data than its events."""
        if entry.said:
            entry.said = False
            self._fresh.append(entry)

    def taken_up(self, item: Item) -> None:
        """Mark an entry that was only read as imported."""
        for entry in self._of.get(item.dataset, ()):
            if entry.bare and entry.item.fingerprint == item.fingerprint:
                entry.bare = False

    def unmeasured(self) -> list[Entry]:
        return [entry for entry in self._fresh if entry.wanted]

    def unsaid(self) -> list[Entry]:
        self._fresh = [entry for entry in self._fresh if not entry.said]
        return self._fresh.copy()

    def items(self) -> tuple[Item, ...]:
        return tuple(entry.item for entry in self.all)


def _is_file(status: os.stat_result) -> bool:
    return status.st_mode & 0o170000 == 0o100000


def describe_entries(entries: Iterable[Entry], side: Side) -> list[dict[str, Any]]:
    return [entry.to_dataset(side) for entry in entries]
