"""The versions that a command read and left in Delta and Iceberg tables, and what it wrote, from the tables' histories: the server is asked for them.

A program may name the version that it reads. Otherwise it is the last one before the command began, if no commit is in doubt: one in the command's
time, or so near to it that the clocks of the machines that write may be wrong about it. The client's clock is compared with the server's once.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import msgspec

from headwater.capture.spark import snapshots
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import Server
from headwater.capture.spark.connect.statements import quoted
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.snapshots import Commit
from headwater.capture.spark.statistics import Statistics

MARGIN = 1000
"""Milliseconds by which the clocks of the machines that commit may differ from the server's."""
_NAMED = ("versionasof", "snapshot-id")
# Options by which a read is not of a table's latest version.
_PAST = frozenset(
    {"timestampasof", "as-of-timestamp", "branch", "tag", "start-snapshot-id", "end-snapshot-id", "readchangefeed", "startingversion"}
)  # fmt: skip
_IN_PATH = re.compile(r"@(?:v(\d+)|\d{17})$")
_IN_SQL = re.compile(r"\b(?:version|timestamp|system_time|system_version)\s+as\s+of\b|@v?\d+\b", re.IGNORECASE)
_MOST_TABLES = 1000
_MOST_COMMITS = 20


class Asked(msgspec.Struct, frozen=True):
    """The version that a program asks for: `options` of its reader; `in_text`: a text of SQL may name one, which is not read."""

    options: Mapping[str, str] = {}
    in_text: bool = False

    def of(self, dataset: Dataset) -> Dataset:
        """Return a dataset with the version that is asked for."""
        if not dataset.layer:
            return dataset
        given = {key.lower(): value for key, value in self.options.items()}
        version = next((given[name] for name in _NAMED if given.get(name, "").isdigit()), "")
        past = self.in_text or any(name in given for name in (*_NAMED, *_PAST))
        name, location = dataset.name, dataset.location
        if dataset.layer == snapshots.DELTA and (found := _IN_PATH.search(location)) is not None:
            past, version = True, found[1] or ""
            name, location = name.removesuffix(found[0]), location.removesuffix(found[0])
        return msgspec.structs.replace(dataset, name=name, location=location, version=version, current=not past)


LATEST = Asked()


def asked_in(text: str) -> Asked:
    """Return the version that a text of SQL asks for."""
    return Asked(in_text=_IN_SQL.search(text) is not None)


class _Left(msgspec.Struct, frozen=True):
    """A version that a command left, which ended then (milliseconds of the client)."""

    version: str
    ended: int


class _Clock(msgspec.Struct, frozen=True):
    """The milliseconds by which the server's clock is ahead of the client's, at least and at most."""

    least: int
    most: int


class TableVersions:
    """The versions of tables that the commands of one session read and left. `is_cached`: the session keeps tables in memory, maybe as they were."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._found: _Clock | None = None
        self._left: OrderedDict[tuple[str, str], list[_Left]] = OrderedDict()
        self.is_cached = False

    def left(self, target: Dataset, request: Request) -> Commit | None:
        """Return the only commit of a table in the time of a command; None for none or several. Raises NoAnswer."""
        if not target.layer:
            return None
        clock, before = self._clock(), self._before(target, request)
        commits = (one for one in self._history(target) if one.version not in before)
        found = snapshots.left(commits, request.started + clock.least, request.ended + clock.most, "")
        if found is not None:
            self.note(target, found.version, request.ended)
        return found

    def note(self, target: Dataset, version: str, ended: int) -> None:
        """Note the version that a command left, which ended then (milliseconds of the client)."""
        self._left[target.key] = [*self._left.get(target.key, [])[-_MOST_COMMITS:], _Left(version, ended)]
        self._left.move_to_end(target.key)
        while len(self._left) > _MOST_TABLES:
            self._left.popitem(last=False)

    def date(self, leaves: Leaves, request: Request, target: Dataset | None) -> Leaves:
        """Return leaves with the versions that a command read. `target`: the table that it wrote, with the version that it left. Raises NoAnswer."""
        found: dict[tuple[str, str], str] = {}
        made: dict[str, list[Dataset]] = {}
        for key, some in leaves.by_key.items():
            made[key] = dated = []
            for one in some:
                version = one.version
                if one.layer and not version and one.current and not self.is_cached:
                    if one.key not in found:
                        own = target.version if target is not None and target.key == one.key else ""
                        found[one.key] = self._read(one, request, own)
                    version = found[one.key]
                dated.append(msgspec.structs.replace(one, version=version, current=False))
        return msgspec.structs.replace(leaves, by_key=made)

    def _read(self, dataset: Dataset, request: Request, own: str) -> str:
        """Return the version of a table that a command read, or empty if a commit is in doubt. `own`: the version that it left in the same table."""
        clock, before = self._clock(), self._before(dataset, request)
        for one in self._line(dataset):
            if one.version in before or one.at <= request.started + clock.least - MARGIN:
                return one.version
            if one.version != own and one.at <= request.ended + clock.most + MARGIN:
                return ""
        return ""

    def _before(self, dataset: Dataset, request: Request) -> set[str]:
        """Return versions of a table that earlier commands left."""
        return {one.version for one in self._left.get(dataset.key, []) if one.ended <= request.started}

    def _clock(self) -> _Clock:
        if self._found is None:
            asked = time.time_ns() // 1_000_000
            (row,) = self._server.query(_text("clock"))
            answered = time.time_ns() // 1_000_000
            self._found = _Clock(int(row["now"]) - answered, int(row["now"]) - asked)
        return self._found

    def _line(self, dataset: Dataset) -> Iterator[Commit]:
        """Yield the last versions that were a table's current one, the latest first."""
        if dataset.layer == snapshots.DELTA:
            yield from _of_delta(self._server, dataset.location)
        elif dataset.layer == snapshots.ICEBERG and dataset.symlink is not None:
            yield from _line_of_iceberg(self._server, dataset.symlink[1])

    def _history(self, dataset: Dataset) -> Iterator[Commit]:
        """Yield the last commits of a table, the latest first."""
        if dataset.layer == snapshots.DELTA:
            yield from _of_delta(self._server, dataset.location)
        elif dataset.layer == snapshots.ICEBERG and dataset.symlink is not None:
            yield from _of_iceberg(self._server, dataset.symlink[1])


def _of_delta(server: Server, location: str) -> Iterator[Commit]:
    for row in server.rows(_text("delta_history").format(location=location.replace("`", "``"))):
        counts = dict(row["operationMetrics"] or ())
        found = _statistics(counts, "numOutputRows", "numOutputBytes", "numFiles")
        yield Commit(str(row["version"]), int(row["timestamp"].timestamp() * 1000), str(row["operation"]), found)


def _of_iceberg(server: Server, name: str) -> Iterator[Commit]:
    for row in server.query(_text("iceberg_history").format(snapshots=quoted([*name.split("."), "snapshots"]))):
        found = _statistics(dict(row["summary"] or ()), "added-records", "added-files-size", "added-data-files")
        at = int(row["committed_at"].timestamp() * 1000)
        yield Commit(str(row["snapshot_id"]), at, str(row["operation"]), found)


def _line_of_iceberg(server: Server, name: str) -> Iterator[Commit]:
    for row in server.query(_text("iceberg_line").format(history=quoted([*name.split("."), "history"]))):
        yield Commit(str(row["snapshot_id"]), int(row["made_current_at"].timestamp() * 1000), "", Statistics())


def _text(name: str) -> str:
    return resources.files("headwater.capture.spark.connect").joinpath(f"{name}.sql").read_text("utf-8")


def _statistics(counts: Mapping[str, Any], *names: str) -> Statistics:
    return Statistics(*(int(counts[name]) if str(counts.get(name, "")).isdigit() else None for name in names))
