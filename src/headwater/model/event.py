"""Read OpenLineage events tolerantly.

Only an event without identity is refused: not JSON, or no run, job or dataset name. Every other event is read as far as possible, and each
oddity becomes a warning with a stable code. Facets stay raw bytes and are decoded on demand. The keys decide the kind (OpenLineage §1.1):
`run` is a RunEvent, else `dataset`, else `job`; `schemaURL` is not reliable.
"""

import datetime as dt
import re
import uuid
from functools import lru_cache
from typing import Any, Literal

import msgspec

from headwater.errors import InvalidEvent
from headwater.model import dbt_jobs, version
from headwater.model.names import LONGEST, DatasetName, JobName, bounded, normalised

Facets = dict[str, msgspec.Raw]

# Facet keys that real producers misspell (Prefect, Airflow before 2).
_FACET_ALIASES = {"parentRun": "parent", "processingEngine": "processing_engine"}
_EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})

# Any escape in JSON text. The group matches a lone half of a surrogate pair.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_texts = msgspec.json.Decoder(str)


class Warning(msgspec.Struct, frozen=True):
    """Something odd about an accepted event. `code` is stable; `where` is a path in the event."""

    code: str
    where: str
    message: str


class DatasetReport(msgspec.Struct, frozen=True):
    """A dataset as one event reports it. `io_facets`: its inputFacets or outputFacets, which apply to this run only."""

    name: DatasetName
    facets: Facets
    io_facets: Facets


class Event(msgspec.Struct, frozen=True):
    """One event, read. `run_id` is set for kind `run`; `job` for `run` and `job`; `dataset` for `dataset`."""

    kind: Literal["run", "job", "dataset"]
    time: dt.datetime | None
    event_type: str | None
    run_id: uuid.UUID | None
    external_run_id: str | None
    job: JobName | None
    dataset: DatasetReport | None
    run_facets: Facets
    job_facets: Facets
    inputs: list[DatasetReport]
    outputs: list[DatasetReport]
    producer: str
    warnings: list[Warning]


class _PlainDataset(msgspec.Struct, rename="camel"):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] = {}
    input_facets: dict[str, msgspec.Raw] = {}
    output_facets: dict[str, msgspec.Raw] = {}


class _PlainJob(msgspec.Struct):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] = {}


class _PlainRun(msgspec.Struct, rename="camel"):
    run_id: uuid.UUID
    facets: dict[str, msgspec.Raw] = {}


class _PlainEvent(msgspec.Struct, rename="camel"):
    """A RunEvent that needs no warning, as nearly all do."""

    event_type: Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]
    event_time: str
    producer: str
    run: _PlainRun
    job: _PlainJob
    inputs: list[_PlainDataset] = []
    outputs: list[_PlainDataset] = []


_plain = msgspec.json.Decoder(_PlainEvent)
# A text of at most this many characters fits in LONGEST bytes: UTF-8 takes up to 4 bytes for each.
_SHORT = LONGEST // 4
# Of texts of at most _SHORT characters: runs repeat their datasets.
_spelled = lru_cache(maxsize=8192)(normalised)


def _read_plain(body: bytes) -> Event | None:
    """Read a RunEvent that needs no warning; None for any other event, which `_read_tolerantly` has to read."""
    if b"\\u0000" in body:
        return None
    try:
        event = _plain.decode(body)
        # As in `_read_tolerantly`, digits beyond a microsecond are cut.
        time = dt.datetime.fromisoformat(event.event_time)
        at = time.astimezone(dt.UTC)
    except (ValueError, OverflowError, RecursionError):
        return None
    reports = [*event.inputs, *event.outputs]
    facets = [
        event.run.facets,
        event.job.facets,
        *(f for r in reports for f in (r.facets, r.input_facets, r.output_facets) if f),
    ]
    names = [
        event.job.namespace,
        event.job.name,
        event.producer,
        *(text for r in reports for text in (r.namespace, r.name)),
    ]
    if (
        time.tzinfo is None
        or not all(text and not text.isspace() and len(text) <= _SHORT for text in names)
        or any(
            bytes(raw)[:1] != b"{" or key in _FACET_ALIASES or not key.strip() or len(key) > _SHORT
            for named_facets in facets
            for key, raw in named_facets.items()
        )
    ):
        return None
    return Event(
        "run", at, event.event_type, event.run.run_id, None, JobName(event.job.namespace, event.job.name),
        None, event.run.facets, event.job.facets,
        [DatasetReport(_spelled(d.namespace, d.name), d.facets, d.input_facets) for d in event.inputs],
        [DatasetReport(_spelled(d.namespace, d.name), d.facets, d.output_facets) for d in event.outputs],
        event.producer, [],
    )  # fmt: skip


class _Reader:
    """Reads the parts of an event and collects warnings."""

    def __init__(self) -> None:
        self.warnings: list[Warning] = []

    def warn(self, code: str, where: str, message: str) -> None:
        self.warnings.append(Warning(code, where, message))

    def part(self, raw: msgspec.Raw | None, decoder: Any, where: str, want: str) -> Any:
        """The decoded part; None if it is absent, or has the wrong type (then with a warning)."""
        if raw is None or bytes(raw) == b"null":
            return None
        try:
            return decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.warn("wrong_type", where, f"{where} should be {want}; ignored")
            return None

    def text(self, raw: msgspec.Raw | None, where: str) -> str | None:
        """A non-blank string that PostgreSQL can hold."""
        value = self.part(raw, _texts, where, "a string")
        if value is not None and "\0" in value:
            self.warn("null_character", where, f"{where} holds a NUL character; replaced")
            value = value.replace("\0", "�")
        return value if value and value.strip() else None

    def name(self, raw: msgspec.Raw | None, where: str) -> str | None:
        """A text that an index holds: at most `LONGEST` bytes."""
        text = self.text(raw, where)
        return None if text is None else self.shorten(text, where)

    def shorten(self, text: str, where: str) -> str:
        if (short := bounded(text)) is not text:
            self.warn("long_name", where, f"{where} is over {LONGEST} bytes; stored as its beginning and a digest")
        return short

    def facets(self, raw: msgspec.Raw | None, where: str) -> Facets:
        facets: Facets = {}
        for key, body in (self.part(raw, _objects, where, "an object") or {}).items():
            if bytes(body) == b"null" or not key.strip():
                continue
            if bytes(body).lstrip()[:1] != b"{":
                self.warn(
                    "wrong_type",
                    f"{where}.{bounded(key)}",
                    f"facet {bounded(key)!r} should be an object; stored in the log only",
                )
                continue
            facets[self.shorten(_FACET_ALIASES.get(key, key).replace("\0", "�"), where)] = body
        return facets

    def datasets(self, raw: msgspec.Raw | None, where: str, io_facets: str, job: JobName | None) -> list[DatasetReport]:
        found = []
        for index, item in enumerate(self.part(raw, _arrays, where, "an array") or []):
            place = f"{where}[{index}]"
            parts = self.part(item, _objects, place, "an object")
            if bytes(item) == b"null":
                self.warn("dataset_without_name", place, f"{place} is null; ignored")
            if parts is not None and (report := self.dataset(parts, place, io_facets, job)):
                found.append(report)
        return found

    def dataset(self, parts: Facets, where: str, io_facets: str, job: JobName | None = None) -> DatasetReport | None:
        """Return a dataset. An empty namespace, as Flink's connectors for files send it, stands for the namespace of `job`."""
        given = parts.get("namespace")
        namespace = self.name(given, f"{where}.namespace")
        name = self.name(parts.get("name"), f"{where}.name")
        if name and namespace is None and job and given is not None and bytes(given)[:1] == b'"':
            namespace = job.namespace
            self.warn(
                "dataset_without_namespace",
                where,
                f"{where} has an empty namespace; its job's is used: {bounded(namespace)!r}",
            )
        if namespace is None or name is None:
            self.warn("dataset_without_name", where, f"{where} has no namespace or no name; ignored")
            return None
        return DatasetReport(
            normalised(namespace, name),
            self.facets(parts.get("facets"), f"{where}.facets"),
            self.facets(parts.get(io_facets), f"{where}.{io_facets}"),
        )

    def time(self, raw: msgspec.Raw | None) -> dt.datetime | None:
        text = self.text(raw, "eventTime")
        if text is None:
            self.warn("no_event_time", "eventTime", "no eventTime; the time of arrival is used")
            return None
        try:
            time = dt.datetime.fromisoformat(text)
            if time.tzinfo is None:
                self.warn("naive_event_time", "eventTime", f"eventTime {text[:40]!r} has no time zone; UTC assumed")
                time = time.replace(tzinfo=dt.UTC)
            return time.astimezone(dt.UTC)
        except (ValueError, OverflowError):
            self.warn(
                "bad_event_time", "eventTime", f"eventTime {text[:40]!r} is not ISO 8601; the time of arrival is used"
            )
            return None


def repaired(body: bytes) -> bytes:
    """Replace what JSON text must not contain by U+FFFD: bytes that are not UTF-8, and lone surrogates.

    A producer that truncates a text may cut its last emoji in half; the event must still be accepted.
    """
    try:
        body.decode()
    except UnicodeDecodeError:
        body = body.decode("utf-8", "replace").encode()
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match[1] else match[0], body)


def read(body: bytes | msgspec.Raw) -> Event:
    """Read one event. Raises InvalidEvent (permanent) if it has no identity; `detail.where` names the missing part."""
    received = bytes(body)
    readable = repaired(received)
    event = _read_plain(received) if readable is received else None
    if event is None:
        event = _read_tolerantly(readable, broken=readable != received)
    if dbt_jobs.FACET in event.job_facets and event.job is not None:
        name = dbt_jobs.name_by_node(event.job.name, event.job_facets[dbt_jobs.FACET])
        return msgspec.structs.replace(event, job=JobName(event.job.namespace, name))
    return event


def _read_tolerantly(readable: bytes, *, broken: bool) -> Event:
    reader = _Reader()
    if broken:
        reader.warn("broken_text", "$", "text that is not UTF-8, or half a surrogate pair; replaced by U+FFFD")
    try:
        top = _objects.decode(readable)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidEvent(f"not a JSON object: {error}", where="$") from error
    except RecursionError as error:
        raise InvalidEvent("JSON nested too deeply", where="$") from error
    run = reader.part(top.get("run"), _objects, "run", "an object")
    job = reader.part(top.get("job"), _objects, "job", "an object")
    dataset = reader.part(top.get("dataset"), _objects, "dataset", "an object")
    job_name = _job_name(reader, job) if job is not None and (run is not None or dataset is None) else None
    producer = reader.name(top.get("producer"), "producer")
    if producer is None:
        reader.warn("no_producer", "producer", "no producer; OpenLineage requires one")
        producer = ""
    time = reader.time(top.get("eventTime"))
    inputs = reader.datasets(top.get("inputs"), "inputs", "inputFacets", job_name)
    outputs = reader.datasets(top.get("outputs"), "outputs", "outputFacets", job_name)
    job_facets = reader.facets((job or {}).get("facets"), "job.facets")
    if run is not None:
        if job_name is None:
            raise _incomplete("a run event needs job.namespace and job.name", "job", job, "namespace", "name")
        text = reader.text(run.get("runId"), "run.runId")
        if text is None:
            raise _incomplete("a run event needs run.runId", "run", run, "runId")
        run_id, is_uuid = version.run_id(text)
        if not is_uuid:
            reader.warn("run_id_not_uuid", "run.runId", f"runId {text[:80]!r} is not a UUID; {run_id} is used instead")
        return Event(
            "run", time, _event_type(reader, top.get("eventType")), run_id, None if is_uuid else text, job_name, None,
            reader.facets(run.get("facets"), "run.facets"), job_facets, inputs, outputs, producer, reader.warnings,
        )  # fmt: skip
    if dataset is not None:
        report = reader.dataset(dataset, "dataset", "facets")
        if report is None:
            raise _incomplete(
                "a dataset event needs dataset.namespace and dataset.name", "dataset", dataset, "namespace", "name"
            )
        return Event("dataset", time, None, None, None, None, report, {}, {}, [], [], producer, reader.warnings)
    if job_name is None:
        raise InvalidEvent(
            "an event needs a run, a job or a dataset, with its namespace and name; this one has none",
            where="$",
            errors=["run must not be null", "job must not be null"],
        )
    return Event(
        "job", time, None, None, None, job_name, None, {}, job_facets, inputs, outputs, producer, reader.warnings
    )


def _incomplete(message: str, where: str, part: Facets | None, *names: str) -> InvalidEvent:
    """The error of an event without identity; `errors` has each missing value, in Marquez's words."""
    reader = _Reader()
    missing = [f"{where}.{name}" for name in names if part is not None and reader.text(part.get(name), name) is None]
    return InvalidEvent(message, where=where, errors=[f"{place} must not be null" for place in missing or [where]])


def _job_name(reader: _Reader, job: Facets) -> JobName | None:
    namespace, name = reader.name(job.get("namespace"), "job.namespace"), reader.name(job.get("name"), "job.name")
    return JobName(namespace, name) if namespace and name else None


def _event_type(reader: _Reader, raw: msgspec.Raw | None) -> str | None:
    text = reader.text(raw, "eventType")
    if text is None:
        return None
    if text.upper() not in _EVENT_TYPES:
        reader.warn(
            "unknown_event_type", "eventType", f"eventType {text[:40]!r} is not one of OpenLineage's; read as OTHER"
        )
        return "OTHER"
    return text.upper()
