"""Streaming queries: each is one run per dataset that it writes, until it ends.

A micro-batch is an execution like any other, with its inputs and outputs; Spark's progress events have the offsets. START comes with the first
micro-batch that writes, RUNNING with progress (at most once in `Config`'s interval), COMPLETE when it was stopped, FAIL when it failed, ABORT
when its application died. Each event has the offsets to which every source was read and the last written micro-batch, as a checkpoint does.
"""

import json
import re
import time
from typing import Any

import msgspec

from headwater.capture.spark import crossing, emission
from headwater.capture.spark.statistics import Metrics, Statistics
from headwater.capture.spark.telling import Query, Teller
from headwater.model import names

_OF = re.compile(r"^id = (?P<id>\S+)\nrunId = (?P<run>\S+)\nbatch = (?P<batch>\S+)", re.MULTILINE)
_PLACE = re.compile(r"\w+\[(.+)\]", re.DOTALL)
_MOST_PARTITIONS = 10_000
_MOST_STREAMS = 1000


class _Written(msgspec.Struct):
    """One dataset that a stream writes. `counts`: since its last event."""

    query: Query
    counts: Statistics
    batch: int


class _Stream(msgspec.Struct):
    """One start of a streaming query. `read_to`: the offsets to which each source was read, by Spark's description of the source."""

    written: dict[tuple[str, str], _Written]
    at: int
    read_to: dict[str, Any]
    told_at: int


class Streams:
    """The streaming queries of one application."""

    kinds = frozenset({"QueryProgressEvent", "QueryTerminatedEvent"})
    """The classes of Spark's events that `take` handles."""

    def __init__(self, teller: Teller, seconds: float) -> None:
        self._teller = teller
        self._milliseconds = int(seconds * 1000)
        self._streams: dict[str, _Stream] = {}

    def begin(self, description: str, started: int, query: Query) -> None:
        """Note that a micro-batch, as `description` names it, began to write at `started` (milliseconds). The first one of a target sends START."""
        found = _OF.search(description)
        target = query.write.target
        if found is None or target is None:
            return
        batch = int(found["batch"]) if found["batch"].isdigit() else 0
        query.spark = {
            "queryId": found["id"],
            "queryRunId": found["run"],
            "query": description[: found.start()].strip()[:500],
        }
        self.open(found["run"], target.key, started, query, batch)

    def open(self, run: str, target: tuple[str, str], started: int, query: Query, batch: int) -> None:
        """Note that a query (`run`: Spark's id of this start of it) writes `target`. The first time sends START."""
        stream = self._streams.setdefault(run, _Stream({}, started, {}, started))
        while len(self._streams) > _MOST_STREAMS:
            self._streams.pop(next(iter(self._streams)))
        known = stream.written.get(target)
        if known is not None:
            query.run_id = known.query.run_id
            if query.analysis is not None and known.query.analysis is not None:
                query.analysis = query.analysis.extends(known.query.analysis)
            known.query, known.batch = query, batch
            return
        stream.written[target] = written = _Written(query, Statistics(), batch)
        self._tell("START", stream, written, started)

    def wrote(self, description: str, query: Query, metrics: Metrics | None) -> None:
        """Add what an execution that began to write has written."""
        found = _OF.search(description)
        target = query.write.target
        stream = self._streams.get(found["run"]) if found is not None else None
        written = stream.written.get(target.key) if stream is not None and target is not None else None
        if written is not None and metrics is not None:
            written.counts = written.counts.plus(metrics.written)

    def take(self, kind: str, happening: Any) -> None:
        """Handle Spark's event about a query: its progress or its end."""
        if kind == "QueryProgressEvent":
            self.further(json.loads(str(happening.progress().json())))
        else:
            self.close(str(happening.runId()), crossing.text(happening.exception()))

    @property
    def running(self) -> list[str]:
        """Return Spark's ids of the running queries."""
        return list(self._streams)

    def close(self, run: str, failure: str) -> None:
        """End a query, which was stopped, or failed."""
        stream = self._streams.pop(run, None)
        if stream is not None:
            facets = emission.error(failure, failure) if failure else None
            for written in stream.written.values():
                self._tell("FAIL" if failure else "COMPLETE", stream, written, _now(), facets)

    def end(self, *, died: bool, reason: str = "") -> None:
        """End all running streams with the application, which ended or died (`reason`: of what)."""
        facets = emission.error(reason, "") if reason else None
        for stream in list(self._streams.values()):
            for written in stream.written.values():
                self._tell("ABORT" if died else "COMPLETE", stream, written, _now(), facets)
        self._streams.clear()

    def beat(self) -> None:
        """Say of every stream that it runs."""
        for stream in self._streams.values():
            for written in stream.written.values():
                self._teller.beat(written.query)

    def further(self, progress: dict[str, Any]) -> None:
        """Note the progress of a query, as Spark describes it in JSON."""
        stream = self._streams.get(progress["runId"])
        if stream is None:
            return
        read_to = {str(source["description"]): source["endOffset"] for source in progress["sources"]}
        if read_to == stream.read_to:
            return  # it waits for data
        stream.read_to = read_to
        now = emission.milliseconds(progress["timestamp"]) + int(progress.get("batchDuration") or 0)
        stream.at = max(stream.at, now)
        if stream.at - stream.told_at >= self._milliseconds:
            stream.told_at = stream.at
            for written in stream.written.values():
                self._tell("RUNNING", stream, written, stream.at)

    def _tell(
        self,
        kind: str,
        stream: _Stream,
        written: _Written,
        at: int,
        facets: dict[str, Any] | None = None,
    ) -> None:
        analysis = written.query.analysis
        keys = [dataset.key for dataset in analysis.inputs] if analysis is not None else []
        self._teller.tell(
            kind,
            written.query,
            emission.moment(at),
            facets=facets,
            metrics=Metrics(written.counts),
            streaming=True,
            read_to=offsets(stream.read_to, keys),
            written_to=[{"partition": "batch", "offset": written.batch}],
        )
        written.counts = Statistics()


def offsets(read_to: dict[str, Any], datasets: list[tuple[str, str]]) -> dict[tuple[str, str], list[emission.Offset]]:
    """Return the offsets to which each dataset (namespace, name) was read, from those of Spark's sources by their descriptions.

    A source belongs to a dataset if it names its location (`FileStreamSource[file:/lake/in]`) or topic, or if there is only one of each.
    """
    found: dict[tuple[str, str], list[emission.Offset]] = {}
    for description, offset in read_to.items():
        place = _PLACE.match(description)
        named = names.from_location(place[1]) if place is not None and "/" in place[1] else None
        topics = offset if isinstance(offset, dict) and all(isinstance(one, dict) for one in offset.values()) else None
        for key in datasets:
            if topics is not None and key[1] in topics:
                found[key] = _partitions(topics[key[1]], key[1])
            elif (named is not None and (named.namespace, named.name) == key) or (
                topics is None and len(datasets) == len(read_to) == 1
            ):
                found[key] = _partitions(offset)
    return {key: some for key, some in found.items() if some}


def _partitions(offset: Any, topic: str | None = None) -> list[emission.Offset]:
    """Return a source's offset in any shape, a number or numbers by name, as partitions."""
    by = offset if isinstance(offset, dict) else {"0": offset}
    more = {"topic": topic} if topic is not None else {}
    return [
        {**more, "partition": str(name), "offset": one}
        for name, one in list(by.items())[:_MOST_PARTITIONS]
        if isinstance(one, int) and not isinstance(one, bool)
    ]


def _now() -> int:
    """Return the current time: Spark does not say when a query ended."""
    return int(time.time() * 1000)
