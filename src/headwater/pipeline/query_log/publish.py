"""Send the content of the tables to a server as OpenLineage events, which executors build and post in batches, with retries.

A measurement is sent when it differs from the last one sent to that server (`published`), and deleted when it no longer holds. Events are
functions of the tables, so repeating uncertain ones after a crash changes nothing there.

Raises ServerUnavailable if a server accepts nothing for long; the next call begins with the unsent rest. Raises FacetsNotUnderstood if it
stored facets that it does not understand; the next call sends them again.
"""

import datetime as dt
import json
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from headwater import __version__
from headwater.client.address import Destination, parse
from headwater.client.delivery import Http
from headwater.client.event import timestamp
from headwater.client.retries import pause
from headwater.client.transport import Console, File, Outcome, Unreachable, local
from headwater.errors import FacetsNotUnderstood, InvalidSettings, ServerUnavailable
from headwater.pipeline.query_log.events import events
from headwater.pipeline.query_log.publishable import MEASURES_OF, RUNS_OF, Runs, measured_rows, run_rows
from headwater.pipeline.query_log.schema import TEXTS_LIST
from headwater.pipeline.tables import Store, Table

# The last measurements sent to each server. `facets`: those it has of this dataset or job from us.
PUBLISHED: Final = Table(
    "published",
    StructType(
        [
            StructField("server", StringType(), False),
            StructField("kind", StringType(), False),
            StructField("namespace", StringType(), False),
            StructField("name", StringType(), False),
            StructField("digest", StringType(), False),
            StructField("facets", TEXTS_LIST, True),
        ]
    ),
    ("server", "kind", "namespace", "name"),
)

_BATCH_EVENTS: Final = 200
_BATCH_BYTES: Final = 2 << 20
_FIRST_WAIT: Final = 0.25
_LONGEST_WAIT: Final = 15.0
_EXAMPLES: Final = 20
_KEY: Final = ["kind", "namespace", "name"]
# Trying again will not make them true.
_FINAL: Final = ("HTTP 401", "HTTP 403")

_COUNTED: Final = (
    "rows",
    "events",
    "accepted",
    "duplicates",
    "refused",
    "unsent",
    "requests",
    "retries",
    "bytes",
    "misunderstood",
)
_TALLY: Final = StructType(
    [
        *(StructField(name, LongType()) for name in _COUNTED),
        StructField("reason", StringType()),
        StructField("examples", ArrayType(StringType())),
    ]
)


class Published(msgspec.Struct, kw_only=True):
    """The outcome of publishing. `accepted` events were new to the server, it had `duplicates` already; `examples`: reasons of some that
    it `refused`, and of facets that it `misunderstood`: it stored the event and derived nothing from them."""

    rows: int = 0
    events: int = 0
    accepted: int = 0
    duplicates: int = 0
    refused: int = 0
    unsent: int = 0
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    misunderstood: int = 0
    reason: str | None = None
    examples: list[str] = []

    def and_(self, other: "Published") -> "Published":
        """Both together; the reason is the first one's, if it has one."""
        counted = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        examples = [*self.examples, *other.examples][:_EXAMPLES]
        return Published(**counted, reason=self.reason or other.reason, examples=examples)


def destination(url: str, api_key: str | None = None) -> Destination:
    """Return the destination to publish to, from an address as `HEADWATER_URL` takes it, of a server or a file. Raises InvalidSettings
    for any other."""
    found = parse(url, spool=Path())
    if found is None or found.transport not in {"http", "file", "console"}:
        raise InvalidSettings(f"{url!r} is no address that query logs are published to: http(s)://host or file:///path")
    return msgspec.structs.replace(found, api_key=api_key or found.api_key)


def publish_runs(
    store: Store,
    to: Destination,
    *,
    at: dt.datetime,
    days: Collection[dt.date],
    runs: Runs = "daily",
    batch: DataFrame | None = None,
    connections: int = 4,
    patience: float = 300.0,
) -> Published:
    """Send runs of these days: what they read and wrote. The measures need not be there.

    `at`: the time of the state that is published, the same when the same state is published again. `batch`: with runs="every", rows with (source,
    namespace, query_id) of the executions that are new. `connections`: how many executors post at once. `patience`: seconds without any progress
    after which one of them gives up.

    Raises ServerUnavailable when not all was sent; everything that was is kept there.
    """
    if not days:
        return Published()
    with store.in_one_task_if_small(RUNS_OF, days):
        going = (
            run_rows(store, days, runs, batch)
            .withColumn("gone", F.expr("cast(array() as array<string>)"))
            .drop("facets")
        )
        return _sent(send(going, to, timestamp(at), connections=connections, patience=patience), to)


def publish_measures(
    store: Store,
    to: Destination,
    *,
    at: dt.datetime,
    connections: int = 4,
    patience: float = 300.0,
    again: bool = False,
) -> Published:
    """Send the measurements that the server does not have yet; then record them as sent (`PUBLISHED`).

    `again`: send every measurement, also those sent before. The rest is as with `publish_runs`; after ServerUnavailable nothing is
    recorded.
    """
    with store.in_one_task_if_small((*MEASURES_OF, PUBLISHED)):
        return _publish_measures(store, to, timestamp(at), connections, patience, again=again)


def _publish_measures(
    store: Store, to: Destination, at: str, connections: int, patience: float, *, again: bool
) -> Published:
    server = to.redacted
    now = measured_rows(store).withColumn("digest", F.sha2("payload", 256)).persist()
    try:
        before = store.read(PUBLISHED)
        mine = before.where(F.col("server") == server).drop("server")
        changed = _changed(now, mine.limit(0) if again else mine)
        told = _sent(send(changed, to, at, connections=connections, patience=patience), to)
        if told.rows:
            after = now.select(F.lit(server).alias("server"), *_KEY, "digest", "facets")
            others = before.where(F.col("server") != server)
            with store.change() as change:
                change.replace(PUBLISHED, others.unionByName(after))
        return told
    finally:
        now.unpersist()


def _sent(told: Published, to: Destination) -> Published:
    if told.unsent:
        raise ServerUnavailable(
            f"{to.redacted} took {told.accepted + told.duplicates:,} of {told.events:,} events, then: {told.reason}; run it again to send the rest",
            **_figures(told),
        )
    if told.misunderstood:
        raise FacetsNotUnderstood(
            f"{to.redacted} stored {told.misunderstood:,} facets without understanding them, so its figures lack them. Update the server to this "
            f"version, {__version__}, then sync again. The first: {told.examples[0]}",
            **_figures(told),
        )
    return told


def _figures(told: Published) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(told).items() if key != "examples"}


def _changed(now: DataFrame, before: DataFrame) -> DataFrame:
    """Rows that are other than before, or are no more, with the facets that are `gone`."""
    was = before.select(*_KEY, F.col("digest").alias("was"), F.col("facets").alias("had"))
    both = now.join(was, _KEY, "full").where(~F.col("digest").eqNullSafe(F.col("was")))
    nothing = F.expr("cast(array() as array<string>)")
    gone = F.array_except(F.coalesce("had", nothing), F.coalesce("facets", nothing))
    return both.select(*_KEY, F.coalesce("payload", F.lit("{}")).alias("payload"), gone.alias("gone"))


def send(going: DataFrame, to: Destination, at: str, *, connections: int = 4, patience: float = 300.0) -> Published:
    """Post the events of rows (kind, namespace, name, payload, gone), from as many tasks as there are connections. Raises nothing of the network."""

    def post_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        told = msgspec.structs.asdict(Posting(to, patience).post(_records(batches, at)))
        kinds = {"reason": pa.string(), "examples": pa.list_(pa.string())}
        schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in _TALLY.names])
        yield pa.RecordBatch.from_pylist([told], schema=schema)

    total = Published()
    for row in going.repartition(max(1, connections)).mapInArrow(post_rows, _TALLY).collect():
        total = total.and_(Published(**row.asDict()))
    return total


def _records(batches: Iterable[Any], at: str) -> Iterator[list[bytes]]:
    """The events of each row, encoded."""
    encoder = msgspec.json.Encoder()
    for batch in batches:
        for row in batch.to_pylist():
            made = events(row["kind"], row["namespace"], row["name"], json.loads(row["payload"]), row["gone"] or (), at)
            yield [encoder.encode(one) for one in made]


class Posting:
    """Posts records to one server, as one task does."""

    def __init__(self, to: Destination, patience: float) -> None:
        self._to, self._patience = to, patience
        self._tally = Published()
        self._transport: Http | Console | File | None = None

    def post(self, rows: Iterable[list[bytes]]) -> Published:
        """Post them all, or until the server has taken nothing for too long: what is left then is counted as unsent."""
        waiting: list[bytes] = []
        size = 0
        try:
            for records in rows:
                self._tally.rows += 1
                self._tally.events += len(records)
                waiting += records
                size += sum(map(len, records))
                if len(waiting) >= _BATCH_EVENTS or size >= _BATCH_BYTES:
                    self._deliver(waiting)
                    waiting, size = [], 0
            if waiting:
                self._deliver(waiting)
        finally:
            if isinstance(self._transport, Http):
                self._transport.close()
        return self._tally

    def _deliver(self, records: list[bytes]) -> None:
        tally, failures, given_up = self._tally, 0, time.monotonic() + self._patience
        if tally.reason is not None:
            tally.unsent += len(records)
            return
        while records:
            try:
                outcome = self._send(records)
            except (Unreachable, OSError) as error:
                outcome = Outcome(again=list(range(len(records))), reason=str(error) or type(error).__name__)
                outcome.retry_after = getattr(error, "retry_after", None)
            taken = len(records) - len(outcome.again) - len(outcome.refused)
            tally.accepted += taken - outcome.duplicates
            tally.duplicates += outcome.duplicates
            tally.refused += len(outcome.refused)
            tally.examples += [
                f"{reason}: {records[at][:300].decode('utf-8', 'replace')}" for at, reason in outcome.refused
            ]
            tally.misunderstood += len(outcome.warnings)
            tally.examples += outcome.warnings
            del tally.examples[_EXAMPLES:]
            if not outcome.again:
                return
            if len(outcome.again) < len(records):
                failures, given_up = 0, time.monotonic() + self._patience
            records = [records[at] for at in outcome.again]
            wait = max(pause(failures, _FIRST_WAIT, _LONGEST_WAIT), outcome.retry_after or 0.0)
            if outcome.reason.startswith(_FINAL) or time.monotonic() + wait > given_up:
                tally.reason = outcome.reason or "the server took nothing"
                tally.unsent += len(records)
                return
            tally.retries += 1
            time.sleep(wait)
            failures += 1

    def _send(self, records: list[bytes]) -> Outcome:
        if self._transport is None:
            to = self._to
            self._transport = local(to) or Http(to.url, to.api_key, timeout=60.0, batches=to.batches)
        self._tally.requests += 1
        self._tally.bytes += sum(map(len, records))
        return self._transport.send(records)
