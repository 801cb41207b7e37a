"""The aspects of runs: what their events, the versions they read and the runs that wrote those say, as evidence for `model.causes`."""

import functools
import uuid
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.run_facets import code_of, parameters_of
from headwater.answer.lineage.run_records import named_version
from headwater.model import facets as known
from headwater.model.observation import Aspect, Kind
from headwater.model.run import RunState
from headwater.store.database import Connection
from headwater.store.history import why as store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey, RunRow

# Facets that say what other aspects say, what came of the run (that it read nothing is its failure, no cause of it), or what differs in every run by
# nature.
_TOLD_ELSEWHERE = {
    "processing_engine", "environmentVariables", "executionParameters", "headwater_code", "errorMessage", "nominalTime", "parent", "tags",
    "spark.exception", "spark.logicalPlan", "spark_unknown", "headwater_heartbeat", "headwater_warnings", "headwater_plan", "externalQuery",
    "extractionError", "headwater_coverage", "headwater_queries", "headwater_item", "headwater_period", "headwater_reconcile",
}  # fmt: skip
_NAMES_OF_RUNS = {"applicationId", "executionId", "jobId", "uiWebUrl", "driverHost"}
"""Leaves of Spark's facets that are new in each run."""
_SCALARS = (str, int, float, bool)
# Leaves of one other facet, their depth, and the length of a value: what is longer is no setting.
_MOST_LEAVES, _DEEPEST, _LONGEST = 60, 4, 400
_LONGEST_TEXT = 100_000
# Runs that wrote what was read: how many are looked at, and how far up.
_MOST_WRITERS, _MOST_STEPS = 1_000, 3


class RunAspects(msgspec.Struct):
    """A run with what is known of it. `inputs`: the versions that it read, by dataset."""

    row: RunRow
    values: dict[Aspect, str]
    numbers: dict[Aspect, float]
    error: str | None
    inputs: dict[uuid.UUID, frozenset[uuid.UUID]]
    versions: dict[Aspect, str] = {}
    """The aspects among `values` that say which version of an input the run read."""


async def load(connection: Connection, rows: Sequence[RunRow], steps: int = _MOST_STEPS) -> list[RunAspects]:
    """Return the aspects of runs, in their order; those of the runs that wrote their inputs up to `steps` runs away."""
    facets = await run_log.load(connection, rows)
    environments = _Environments()
    found = [_of_facets(row, facets[row.run_id, row.job_id], environments) for row in rows]
    versions = await _inputs(connection, found, facets)
    names = await node_store.by_ids(connection, {dataset for one in found for dataset in one.inputs})
    shown = {id_: row.node_id for id_, row in names.items()}
    schemas = await store.schemas_of(connection, versions)
    for one in found:
        _add_inputs(one, facets[one.row.run_id, one.row.job_id], versions, schemas, shown)
    _add_renewals(found, shown)
    if steps:
        await _add_writers(connection, found, versions, steps)
    return found


def _of_facets(row: RunRow, facets: run_log.RunFacets, environments: "_Environments") -> RunAspects:
    values: dict[Aspect, str] = {}
    code = code_of(facets.run, facets.job)
    if code is not None and code.version:
        values[Aspect(Kind.CODE, "version")] = code.version + (" with uncommitted changes" if code.dirty else "")
    for name, key in (("sql", "query"), ("sourceCode", "sourceCode")):
        text = node.plain(facets.job.get(name)).get(key)
        if isinstance(text, str):
            values[Aspect(Kind.SQL, "" if name == "sql" else "source code")] = text.strip()[:_LONGEST_TEXT]
    values |= {Aspect(Kind.PARAMETER, key): value for key, value in parameters_of(facets.run).items()}
    engine = node.plain(facets.run.get("processing_engine"))
    if isinstance(engine.get("version"), str):
        values[Aspect(Kind.ENGINE, str(engine.get("name") or ""))] = engine["version"]
    if isinstance(engine.get("openlineageAdapterVersion"), str):
        values[Aspect(Kind.PACKAGE, "openlineage adapter")] = engine["openlineageAdapterVersion"]
    if variables := facets.run.get("environmentVariables"):
        values |= environments[variables]
    for item in _items(node.plain(facets.run.get("tags")).get("tags")):
        values[Aspect(Kind.TAG, str(item.get("key")))] = str(item.get("value"))
    if row.user:
        values[Aspect(Kind.USER, "")] = row.user
    for name, body in facets.run.items():
        if name not in _TOLD_ELSEWHERE:
            values |= {_aspect_of_leaf(name, path): value for path, value in _leaves(node.plain(body))}
    message = node.plain(facets.run.get("errorMessage")).get("message")
    return RunAspects(row, values, {}, message.strip() if isinstance(message, str) else None, {})


class _Variable(msgspec.Struct, gc=False):
    name: str
    value: str


class _Variables(msgspec.Struct, rename="camel"):
    environment_variables: list[_Variable] = []


_decode_variables = msgspec.json.Decoder(_Variables).decode


class _AspectsByName(dict[str, Aspect]):
    """Aspects of the environment: thousands of runs name the same hundreds of variables."""

    _MOST = 20_000

    def __missing__(self, name: str) -> Aspect:
        if len(self) >= self._MOST:
            self.clear()
        self[name] = Aspect(Kind.ENVIRONMENT, name)
        return self[name]


_environment = _AspectsByName()


class _Environments(dict[bytes, dict[Aspect, str]]):
    """The aspects of each `environmentVariables` facet: many runs of a host report the same one. At most 1,000 are held."""

    _MOST = 1_000

    def __missing__(self, body: bytes) -> dict[Aspect, str]:
        if len(self) >= self._MOST:
            self.clear()
        self[body] = {_environment[one.name]: one.value for one in _variables(body)}
        return self[body]


def _variables(body: bytes) -> list[_Variable]:
    """Return the variables of an `environmentVariables` facet; of odd ones what can be read."""
    try:
        return _decode_variables(body).environment_variables
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        listed = _items(node.plain(body).get("environmentVariables"))
        return [_Variable(str(item.get("name")), str(item.get("value"))) for item in listed]


def _items(listed: Any) -> list[Mapping[str, Any]]:
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _leaves(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the scalars of a facet with their paths."""
    found: list[tuple[str, str]] = []
    waiting = deque[tuple[str, Mapping[str, Any], int]]([("", body, 0)])
    while waiting:
        path, holder, depth = waiting.popleft()
        for key, value in holder.items():
            if key[:1] == "_" or key in _NAMES_OF_RUNS:
                continue
            place = f"{path}.{key}" if path else key
            if isinstance(value, dict):
                if depth + 1 < _DEEPEST:
                    waiting.append((place, value, depth + 1))
            elif isinstance(value, _SCALARS) and len(text := str(value)) <= _LONGEST:
                found.append((place, text))
                if len(found) == _MOST_LEAVES:
                    return found
    return found


_WORDS = {
    Kind.CLUSTER: ("cluster", "pool", "master", "warehouse", "queue"), Kind.HOST: ("host", "node", "executor"),
    Kind.PACKAGE: ("package", "librar", "wheel", "jar", "requirement"), Kind.USER: ("user", "owner"),
}  # fmt: skip


@functools.lru_cache(maxsize=20_000)
def _aspect_of_leaf(facet: str, path: str) -> Aspect:
    """Return the aspect of a facet that no specification describes: its kind by the last part of its path that says one, else the environment."""
    name = f"{facet}.{path}"
    for part in reversed(name.lower().split(".")):
        for kind, words in _WORDS.items():
            if any(word in part for word in words):
                return Aspect(kind, name)
    return Aspect(Kind.ENVIRONMENT, name)


async def _inputs(
    connection: Connection, found: Iterable[RunAspects], facets: Mapping[tuple[uuid.UUID, uuid.UUID], run_log.RunFacets]
) -> dict[uuid.UUID, VersionRow]:
    """Note the versions that each run read, and return them."""
    runs = {one.row.key: one for one in found}
    asked = [(key, dataset, runs[key].row.began) for key, dataset in await store.inputs_of(connection, list(runs))]
    by_time = await run_lineage.versions_at_start(connection, asked)
    texts = {
        (key, dataset): text
        for key, dataset, _ in asked
        if (text := named_version(facets.get((key.run, key.job)), dataset))
    }
    named = await run_lineage.versions_named(
        connection, {(dataset, text, runs[key].row.began) for (key, dataset), text in texts.items()}, "infinity"
    )
    for key, dataset, at in asked:
        name = texts.get((key, dataset))
        version = named.get((dataset, name, at)) if name else None
        ids = [version] if version else list(by_time.get((key, dataset), ()))
        runs[key].inputs[dataset] = frozenset(ids)
    return await run_lineage.versions(
        connection, {id_ for one in runs.values() for ids in one.inputs.values() for id_ in ids}
    )


def _add_inputs(
    one: RunAspects,
    facets: run_log.RunFacets,
    versions: Mapping[uuid.UUID, VersionRow],
    schemas: Mapping[uuid.UUID, bytes],
    shown: Mapping[uuid.UUID, str],
) -> None:
    for dataset, ids in one.inputs.items():
        name = shown.get(dataset)
        if name is None:
            continue
        read = [versions[id_] for id_ in sorted(ids, key=str) if id_ in versions]
        if read:
            one.versions[Aspect(Kind.INPUT, name)] = ", ".join(row.external_version or str(row.id) for row in read)
        told = facets.inputs.get(dataset)
        body = (told.facets.get("schema") if told else None) or next(
            (schemas[row.id] for row in read if row.id in schemas), None
        )
        if body is not None and (columns := _columns(body)):
            one.values[Aspect(Kind.SCHEMA, name)] = columns
        numbers = node.plain(told.here.get("inputStatistics") or told.here.get("dataQualityMetrics")) if told else {}
        rows = (
            numbers.get("rowCount")
            if isinstance(numbers.get("rowCount"), int)
            else next((row.rows for row in read if row.rows is not None), None)
        )
        if rows is not None:
            one.numbers[Aspect(Kind.VOLUME, f"{name} rows")] = float(rows)

    one.values |= one.versions


def _columns(body: bytes) -> str:
    """Return the columns of a schema facet, one a line, by name: their order breaks few readers."""
    try:
        columns = known.schema(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return "\n".join(sorted(f"{column.name} {column.type or ''}".strip() for column in columns))[:_LONGEST_TEXT]


def _add_renewals(found: Sequence[RunAspects], shown: Mapping[uuid.UUID, str]) -> None:
    """Say of each input whether it was new since the run of the job before. `found` is in order of time."""
    before: dict[tuple[uuid.UUID, uuid.UUID], frozenset[uuid.UUID]] = {}
    for one in found:
        for dataset, ids in one.inputs.items():
            place = (one.row.job_id, dataset)
            if dataset in shown and ids and place in before:
                one.values[Aspect(Kind.RENEWED, shown[dataset])] = "no" if ids == before[place] else "yes"
            if ids:
                before[place] = ids


async def _add_writers(
    connection: Connection, found: Sequence[RunAspects], versions: Mapping[uuid.UUID, VersionRow], steps: int
) -> None:
    """Add what is known of the runs that wrote what was read, named by their jobs."""
    readers: dict[RunKey, list[RunAspects]] = {}
    for reading in reversed(found):
        for ids in reading.inputs.values():
            for id_ in ids:
                writer = versions[id_].writer if id_ in versions else None
                if (
                    writer is not None
                    and writer != reading.row.key
                    and (writer in readers or len(readers) < _MOST_WRITERS)
                ):
                    readers.setdefault(writer, []).append(reading)
    rows = await run_lineage.runs(connection, list(readers), "infinity")
    above = await load(connection, sorted(rows.values(), key=lambda row: (row.began, row.run_id)), steps - 1)
    names = await node_store.by_ids(connection, {row.job_id for row in rows.values()})
    for wrote in above:
        job = names[wrote.row.job_id].node_id if wrote.row.job_id in names else None
        if job is None:
            continue
        told = {
            Aspect(
                Kind.UPSTREAM,
                f"{job}: {aspect.name}"
                if aspect.kind == Kind.UPSTREAM
                else f"{job}: {aspect.kind} {aspect.name}".rstrip(),
            ): value
            for aspect, value in wrote.values.items()
            if aspect.kind != Kind.INPUT
        }
        if wrote.row.state != RunState.COMPLETED:
            told[Aspect(Kind.UPSTREAM, f"{job}: state")] = wrote.row.state.name
        for reader in readers.get(wrote.row.key, ()):
            reader.values |= told
