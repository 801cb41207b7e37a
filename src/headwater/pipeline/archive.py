"""Export the event log to Parquet files, by day of arrival, and import it into a server.

The executors read the log over the API, each a range of numbers of arrival, and keep bodies byte for byte. A window of numbers is one commit, and how
far the archive goes is in the same commit: after an interruption the next call continues there, and the archive holds no event twice.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import BinaryType, DateType, LongType, StringType, StructField, StructType, TimestampType

from headwater import __version__
from headwater.client.ask import ask
from headwater.client.retries import retry
from headwater.client.step import step
from headwater.errors import InvalidQuestion, NotFound, ServerUnavailable, StageFailed, TooLarge
from headwater.model.version import digests_of, event_digest
from headwater.pipeline.stages import Desk, Stage, run
from headwater.pipeline.tables import DAY, Store, Table

EXPORT: Final = "archive.export"
IMPORT: Final = "archive.import"
# `day`: of arrival, UTC. `arrived`: the number of arrival, 0 from before there were any. `body`: what was received, byte for byte.
EVENTS: Final = Table(
    "events",
    StructType(
        [
            StructField(DAY, DateType(), False),
            StructField("arrived", LongType(), False),
            StructField("event_time", TimestampType(), False),
            StructField("received_at", TimestampType(), False),
            StructField("digest", BinaryType(), False),
            StructField("kind", StringType(), False),
            StructField("event_type", StringType(), True),
            StructField("run_id", StringType(), True),
            StructField("producer", StringType(), False),
            StructField("body", BinaryType(), False),
        ]
    ),
    ("digest", "event_time"),
    DAY,
)
_STATE: Final = "archive"
# Numbers of arrival of the first window; then as many as make a window of about so many events.
_FIRST_WINDOW: Final = 2_000
_WINDOW_EVENTS: Final = 500_000
# Changes that a day's files come from before they are written as one.
_PIECES: Final = 8
_FILES: Final = 4
_PAUSES: Final = (0.25, 1.0, 4.0, 16.0)
_TIMEOUT: Final = 120.0
_POSTED_EVENTS: Final = 500
_POSTED_BYTES: Final = 2 << 20
_EXAMPLES: Final = 20
_PATH: Final = "/api/v2/admin/log"
_TALLY: Final = "events long, accepted long, duplicates long, refused long, examples array<string>"


class Server(msgspec.Struct, frozen=True):
    """The server whose log is exported or imported. The key needs the role admin."""

    url: str
    api_key: str | None = None

    @property
    def display_url(self) -> str:
        parts = urlsplit(self.url if "://" in self.url else f"http://{self.url}")
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path.rstrip('/')}"

    def page(self, **asked: object) -> "_Page":
        return msgspec.json.decode(self._patiently("GET", None, asked), type=_Page)

    def take(self, events: list["_ArchivedRow"]) -> "_Taken":
        body = msgspec.json.encode({"events": events})
        return msgspec.json.decode(self._patiently("POST", body, {}), type=_Taken)

    def _patiently(self, method: str, body: bytes | None, asked: dict[str, object]) -> bytes:
        return retry(
            lambda: ask(self.url, _PATH, asked, self.api_key, _TIMEOUT, method=method, body=body),
            passes=lambda error: isinstance(error, ServerUnavailable),
            pauses=_PAUSES,
        )


class _Event(msgspec.Struct):
    arrived: int
    event_time: dt.datetime
    received_at: dt.datetime
    digest: bytes
    kind: str
    event_type: str | None
    run_id: str | None
    producer: str
    body: bytes


class _Page(msgspec.Struct):
    settled: int
    events: list[_Event]
    next: str | None


class _ArchivedRow(msgspec.Struct):
    body: bytes
    received_at: dt.datetime
    event_time: dt.datetime


class _Refusal(msgspec.Struct):
    index: int
    reason: str


class _Taken(msgspec.Struct):
    accepted: int
    duplicates: int
    refused: list[_Refusal]


class Progress(msgspec.Struct, frozen=True):
    """The progress of an export: `done` and `total` are numbers of arrival, `events` those exported so far."""

    done: int
    total: int
    events: int


class Exported(msgspec.Struct, kw_only=True):
    """`events`, `days`: of this call. `upto`: the number of arrival that the archive goes to now."""

    store: str
    server: str
    events: int = 0
    days: int = 0
    upto: int = 0
    seconds: float = 0.0


class Imported(msgspec.Struct, kw_only=True):
    """`accepted` were new to the server, `duplicates` it had; `examples`: why some were refused."""

    store: str
    server: str
    events: int = 0
    accepted: int = 0
    duplicates: int = 0
    refused: int = 0
    examples: list[str] = []
    seconds: float = 0.0


def export(
    spark: SparkSession,
    path: str,
    server: Server,
    show: Callable[[Progress], None] = lambda _: None,
    *,
    recorded: bool = False,
) -> Exported:
    """Bring the archive at `path` up to what the server's log has now.

    InvalidQuestion: the archive is of another server, or of a log that had more. Forbidden, ServerUnavailable, StageFailed: call again, and it goes
    on after the last window. `recorded`: a run of its own, if there is anything to keep.
    """
    began = time.monotonic()
    store = Store(spark, path, engine=__version__)
    store.sweep()
    answer = Exported(store=store.path, server=server.display_url)
    state = store.state.get(_STATE, {})
    upto, first = server.page(limit=0).settled, int(state.get("upto", -1))
    if state and state["server"] != server.display_url:
        raise InvalidQuestion(
            f"{store.path} is an archive of {state['server']}, not of {server.display_url}: give another folder",
            path=store.path,
        )
    if first > upto:
        raise InvalidQuestion(
            f"{store.path} goes to arrival {first:,}, and the log of {server.display_url} to {upto:,}: it is another log, so give another folder",
            path=store.path,
        )
    done, window, days = first, _FIRST_WINDOW, set[dt.date]()
    with step(EXPORT, version=__version__) if recorded and done < upto else nullcontext() as told:
        while done < upto:
            show(Progress(done - first, upto - first, answer.events))
            last = min(upto, max(done, 0) + window)
            found: dict[dt.date, int] = {}
            stage = Stage(EXPORT, (EVENTS,), (EVENTS,), _keeping(server, done, last, found))
            run(store, stage, _noting(server, last, found))
            rows = sum(found.values())
            answer.events += rows
            days.update(found)
            window = max(1, min(window * 4, (last - max(done, 0)) * _WINDOW_EVENTS // max(rows, 1)))
            done = last
            store.sweep()
        if told is not None:
            told.output(f"{store.path}/{EVENTS.name}")
    answer.days, answer.upto, answer.seconds = len(days), max(done, 0), round(time.monotonic() - began, 3)
    return answer


def _noting(server: Server, upto: int, found: dict[dt.date, int]) -> Callable[[dict[str, Any]], None]:
    def note(state: dict[str, Any]) -> None:
        pieces = dict(state.get(_STATE, {}).get("pieces", {}))
        for day in map(str, found):
            # The pieces that _keeping wrote as one are one piece again.
            pieces[day] = 1 if pieces.get(day, 0) >= _PIECES else pieces.get(day, 0) + 1
        state[_STATE] = {"server": server.display_url, "upto": upto, "pieces": pieces}

    return note


def _keeping(server: Server, done: int, last: int, found: dict[dt.date, int]) -> Callable[[Desk], None]:
    """Reads arrivals after `done` up to `last` and writes them; `found` becomes the rows of each day."""

    def write_events(desk: Desk) -> None:
        rows = fetched(desk.spark, server, done, last).persist()
        try:
            found.update({row[DAY]: row["count"] for row in rows.groupBy(DAY).count().collect()})
            pieces = desk.state.get(_STATE, {}).get("pieces", {})
            full = [day for day in found if pieces.get(str(day), 0) >= _PIECES]
            some = [day for day in found if day not in full]
            if full:
                whole = desk.read(EVENTS, full).unionByName(rows.where(F.col(DAY).isin(full)))
                desk.replace(EVENTS, whole.repartition(_FILES), full)
            if some:
                desk.append(EVENTS, rows.where(F.col(DAY).isin(some)))
        finally:
            rows.unpersist()

    return write_events


def fetched(spark: SparkSession, server: Server, done: int, last: int) -> DataFrame:
    """Rows of EVENTS: arrivals after `done` (-1: also those without a number) up to `last`, read by the executors a range each."""
    tasks = max(1, min(spark.sparkContext.defaultParallelism if _has_context(spark) else 8, last - max(done, 0)))
    start = max(done, 0)
    step_ = -(-(last - start) // tasks)
    ranges = [
        (None if done < 0 and number == 0 else start + number * step_, min(start + (number + 1) * step_, last))
        for number in range(tasks)
        if start + number * step_ < last or number == 0
    ]

    def fetch_ranges(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for row in batch.to_pylist():
                begin, end = ranges[row["id"]]
                after: str | None = None if begin is None else str(begin)
                while True:
                    page = server.page(after=after, upto=end)
                    if page.next is None:
                        break
                    yield pa.RecordBatch.from_pylist([_row(event) for event in page.events], schema=_arrow())
                    after = page.next

    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(fetch_ranges, EVENTS.schema)


def _has_context(spark: SparkSession) -> bool:
    """A session of Spark Connect has none."""
    return hasattr(spark, "_jsparkSession")


def _row(event: _Event) -> dict[str, Any]:
    if event.digest not in digests_of(event.body):
        raise ValueError(f"event {event.digest.hex()} did not arrive as it is in the log")
    received = event.received_at.astimezone(dt.UTC)
    return {**msgspec.structs.asdict(event), DAY: received.date(), "received_at": received}


def _arrow() -> Any:
    import pyarrow as pa

    kinds = {
        "date": pa.date32(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "binary": pa.binary(),
    }
    return pa.schema(
        [(field.name, kinds.get(field.dataType.simpleString(), pa.string())) for field in EVENTS.schema.fields]
    )


def import_(
    spark: SparkSession,
    path: str,
    server: Server,
    since: dt.date | None = None,
    until: dt.date | None = None,
    *,
    connections: int = 4,
    recorded: bool = False,
) -> Imported:
    """Send the archive's events to a server, each as it arrived then; those it has stay as they are. `since` ≤ day of arrival < `until`.

    NotFound: no archive, or nothing of these days. StageFailed: the server did not take them; call again, what it has it has.
    """
    began = time.monotonic()
    store = Store(spark, path, engine=__version__)
    days = [day for day in store.days(EVENTS) if (since is None or day >= since) and (until is None or day < until)]
    if not days:
        raise NotFound(f"{store.path} has no events" + (" of these days" if since or until else ""), path=store.path)
    server.page(limit=0)  # a missing right or server is reported before anything is read

    def send_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        kinds = [(name, pa.int64()) for name in ("events", "accepted", "duplicates", "refused")]
        schema = pa.schema([*kinds, ("examples", pa.list_(pa.string()))])
        yield pa.RecordBatch.from_pylist([_sent(server, batches)], schema=schema)

    answer = Imported(store=store.path, server=server.display_url)
    rows = store.read(EVENTS, days).select("digest", "body", "received_at", "event_time")
    told: Any = step(IMPORT, version=__version__, inputs=[f"{store.path}/{EVENTS.name}"]) if recorded else nullcontext()
    with told:
        try:
            counted = rows.coalesce(max(1, connections)).mapInArrow(send_batches, _TALLY).collect()
        except PySparkException as error:
            lines = [line for line in str(error).splitlines() if "headwater.errors." in line] or [type(error).__name__]
            raise StageFailed(f"not all of {store.path} was taken: {lines[-1].strip()[:500]}", stage=IMPORT) from error
    for row in counted:
        for name in ("events", "accepted", "duplicates", "refused"):
            setattr(answer, name, getattr(answer, name) + row[name])
        answer.examples = [*answer.examples, *row["examples"]][:_EXAMPLES]
    answer.seconds = round(time.monotonic() - began, 3)
    return answer


def _sent(server: Server, batches: Iterator[Any]) -> dict[str, Any]:
    """Deliver the events of one task and return the tally of their receipts. Raises ValueError for an event that is not as it was."""
    tally: dict[str, Any] = {"events": 0, "accepted": 0, "duplicates": 0, "refused": 0, "examples": []}
    waiting: list[_ArchivedRow] = []
    size = 0
    for batch in batches:
        for row in batch.to_pylist():
            if row["digest"] not in digests_of(row["body"]):
                raise ValueError(f"event {row['digest'].hex()} is not as it was: the archive is damaged")
            waiting.append(_ArchivedRow(row["body"], row["received_at"], row["event_time"]))
            size += len(row["body"])
            if len(waiting) >= _POSTED_EVENTS or size >= _POSTED_BYTES:
                _deliver(server, waiting, tally)
                waiting, size = [], 0
    if waiting:
        _deliver(server, waiting, tally)
    return tally


def _deliver(server: Server, events: list[_ArchivedRow], tally: dict[str, Any]) -> None:
    try:
        told = server.take(events)
    except TooLarge as error:
        if len(events) > 1:
            half = len(events) // 2
            _deliver(server, events[:half], tally)
            _deliver(server, events[half:], tally)
            return
        told = _Taken(0, 0, [_Refusal(0, error.message)])
    tally["events"] += len(events)
    tally["accepted"] += told.accepted
    tally["duplicates"] += told.duplicates
    tally["refused"] += len(told.refused)
    more = [f"{event_digest(events[one.index].body).hex()}: {one.reason}" for one in told.refused]
    tally["examples"] = [*tally["examples"], *more][:_EXAMPLES]
