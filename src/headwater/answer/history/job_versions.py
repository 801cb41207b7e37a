"""The versions of a job: its code, its SQL, what it read and wrote. Each distinct one, from which run to which.

Read from the job's latest runs and their events. A run that did not end well may report too little: if its
report is part of the version before it, it counts as that version. What a run does not report (code, SQL) is taken from the run before it. A job that
never ran has the versions that JobEvents declared.
"""

import datetime as dt
import difflib
import uuid
from collections.abc import Iterable

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.run_facets import Code, code_of
from headwater.errors import NotFound
from headwater.model import version
from headwater.model.run import RunState
from headwater.model.statement import statement_kind
from headwater.store.database import Database
from headwater.store.history import facets as facet_store
from headwater.store.history import versions as version_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.runs import RunRow

_MOST_LINES = 400
_MOST_BODIES = 2000
_Datasets = dict[tuple[uuid.UUID, str], frozenset[str]]


class RunReport(msgspec.Struct, frozen=True):
    """One run's report of its job. None: not reported."""

    run: uuid.UUID | None
    began: dt.datetime
    whole: bool
    code: Code | None
    sql: str | None
    inputs: frozenset[str]
    outputs: frozenset[str]


class JobChange(msgspec.Struct, kw_only=True):
    """The differences from the version before; None and empty lists: no change. `sql_diff`: lines of a unified diff, at most 400."""

    code: list[Code | None] | None
    sql_diff: list[str] | None
    inputs_added: list[str]
    inputs_removed: list[str]
    outputs_added: list[str]
    outputs_removed: list[str]


class JobVersion(msgspec.Struct, kw_only=True):
    """`runs`: how many runs were of it. `returns`: how often the job came back to it after another version."""

    id: str
    current: bool
    code: Code | None
    statement: str | None
    sql: str | None
    inputs: list[str]
    outputs: list[str]
    first_run: str | None
    first_at: dt.datetime
    last_run: str | None
    last_at: dt.datetime
    runs: int
    returns: int
    changes: JobChange | None


class JobVersions(msgspec.Struct):
    """Versions, the latest begun first, from the latest `examined` of the job's `runs` runs."""

    id: str
    runs: int
    examined: int
    versions: list[JobVersion]


async def job_versions(database: Database, namespace: str, name: str, limit: int) -> JobVersions:
    """Versions of a job over its latest `limit` runs. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await node_row(connection, f"job:{namespace}:{name}")
        if row.type != "JOB":
            raise NotFound(f"job {name!r} is not known in namespace {namespace!r}")
        rows, total = await run_store.page(connection, job=row.id, state=None, parent=None, limit=limit, offset=0)
        declared = [] if rows else await version_store.declarations(connection, row.id, limit)
        reports = [one.run_id for one in rows] + [report for report, _ in declared]
        datasets = await version_store.report_datasets(connection, row.id, reports)
        names = await node_store.by_ids(connection, {id_ for ids in datasets.values() for id_ in ids})
        facets = await run_log.load(connection, rows)
        past = await facet_store.history(connection, row.id, None, _MOST_BODIES) if declared else []
    shown = {key: frozenset(names[id_].node_id for id_ in ids if id_ in names) for key, ids in datasets.items()}
    told = [_report_of(one, facets[one.run_id, one.job_id], shown) for one in reversed(rows)]
    told += [_declared(report, at, past, shown) for report, at in declared]
    return JobVersions(row.node_id, total, len(rows), fold(told))


def _text(facets: dict[str, bytes]) -> str | None:
    """The job's SQL, else its source code."""
    query = node.plain(facets.get("sql")).get("query")
    source = node.plain(facets.get("sourceCode")).get("sourceCode")
    return query if isinstance(query, str) else source if isinstance(source, str) else None


def _declared(report: uuid.UUID, at: dt.datetime, past: list[facet_store.Past], datasets: _Datasets) -> RunReport:
    """Return what a JobEvent reported, with the facets the job had then."""
    then: dict[str, facet_store.Past] = {}
    for one in past:
        if one.first_at <= at and (one.name not in then or one.first_at > then[one.name].first_at):
            then[one.name] = one
    facets = {name: one.body for name, one in then.items() if not one.deleted}
    inputs, outputs = (datasets.get((report, side), frozenset()) for side in ("in", "out"))
    return RunReport(None, at, True, code_of({}, facets), _text(facets), inputs, outputs)


def _report_of(row: RunRow, facets: run_log.RunFacets, datasets: _Datasets) -> RunReport:
    return RunReport(
        row.run_id,
        row.began,
        row.state == RunState.COMPLETED,
        code_of(facets.run, facets.job),
        _text(facets.job),
        datasets.get((row.run_id, "in"), frozenset()),
        datasets.get((row.run_id, "out"), frozenset()),
    )


class _Growing(msgspec.Struct):
    code: Code | None
    sql: str | None
    inputs: frozenset[str]
    outputs: frozenset[str]
    first: RunReport
    last: RunReport
    runs: int
    whole: bool
    before: "_Growing | None"
    returns: int = 0

    def key(self) -> tuple[object, ...]:
        return (_code_key(self.code), self.sql, self.inputs, self.outputs)


def fold(told: Iterable[RunReport]) -> list[JobVersion]:
    """Fold the reports of runs, oldest first, into versions, the latest begun first."""
    found: list[_Growing] = []
    now: _Growing | None = None
    for one in told:
        code = one.code or (now.code if now else None)
        sql = one.sql if one.sql is not None else (now.sql if now else None)
        made = _Growing(code, sql, one.inputs, one.outputs, one, one, 1, one.whole, now)
        if now is not None and _same_text(now, made):
            if not one.whole and one.inputs <= now.inputs and one.outputs <= now.outputs:
                made.inputs, made.outputs = now.inputs, now.outputs
            elif not now.whole and now.inputs <= one.inputs and now.outputs <= one.outputs:
                # Nothing whole had been seen of this version yet: it is what this run shows it to be.
                now.inputs, now.outputs = one.inputs, one.outputs
        known = next((each for each in found if each.key() == made.key()), None)
        if known is None:
            found.append(made)
            now = made
            continue
        if known is not now:
            known.returns += 1
        known.last, known.runs, known.whole = one, known.runs + 1, known.whole or one.whole
        now = known
    return [_version(each, each is now) for each in reversed(found)]


def _same_text(one: _Growing, other: _Growing) -> bool:
    return one.key()[:2] == other.key()[:2]


def _code_key(code: Code | None) -> tuple[object, ...]:
    return (code.version, code.url, code.dirty) if code else ()


def _version(each: _Growing, current: bool) -> JobVersion:
    content = "\0".join([repr(_code_key(each.code)), each.sql or "", *sorted(each.inputs), "", *sorted(each.outputs)])
    return JobVersion(
        id=str(version.content_id(content.encode("utf-8", "surrogatepass"))), current=current, code=each.code,
        statement=statement_kind(each.sql) if each.sql else None, sql=each.sql,
        inputs=sorted(each.inputs), outputs=sorted(each.outputs),
        first_run=str(each.first.run) if each.first.run else None, first_at=each.first.began,
        last_run=str(each.last.run) if each.last.run else None, last_at=each.last.began,
        runs=each.runs, returns=each.returns, changes=None if each.before is None else _changes(each.before, each),
    )  # fmt: skip


def _changes(old: _Growing, new: _Growing) -> JobChange:
    lines = None
    if old.sql != new.sql:
        text = difflib.unified_diff((old.sql or "").splitlines(), (new.sql or "").splitlines(), lineterm="", n=2)
        lines = [line for _, line in zip(range(_MOST_LINES), text, strict=False)]
    return JobChange(
        code=[old.code, new.code] if _code_key(old.code) != _code_key(new.code) else None, sql_diff=lines,
        inputs_added=sorted(new.inputs - old.inputs), inputs_removed=sorted(old.inputs - new.inputs),
        outputs_added=sorted(new.outputs - old.outputs), outputs_removed=sorted(old.outputs - new.outputs),
    )  # fmt: skip
