"""The spread of a change over datasets, columns and jobs, a hop at a time; a fixed number of statements for each hop.

Three things spread. A change of a table's form meets the jobs that touch the table: each is judged by its text (`verdicts`), or by its reported
columns. A view that breaks is gone, and so meets its own readers. Everything else that a job makes holds other values, column by column.
"""

import asyncio
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from headwater.answer.lineage import inferred
from headwater.answer.whatif.verdicts import BREAKS, CHANGES, NOTHING, ORDER, Edit, Verdict, judge
from headwater.graph import explicit
from headwater.model.lineage import ColumnEdge, Edge
from headwater.store.database import Connection
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

ROWS: Final = ""
"""The column that stands for all rows of a dataset."""
GONE: Final = Edit("drop_table")
_NOW: Final = Moment()
Column = tuple[uuid.UUID, str]


class Reached(msgspec.Struct, frozen=True):
    """A column that the change reaches. `kind`: direct, indirect (only a filter, a join, an order), unknown; `masked`: on every way to it.
    `because`: the column before it, None of a changed one; `job`: between them.
    """

    kind: str
    masked: bool
    severity: str
    hop: int
    because: Column | None = None
    job: uuid.UUID | None = None


class Spread:
    """`columns`: all that are reached. `jobs`: the verdict on each that notices. `gone`: views that break, by the job that defines them.
    `hidden`: datasets past the limit, whose own readers were not looked at. `writes`: what the jobs write that were met as readers.
    """

    def __init__(self) -> None:
        self.columns: dict[Column, Reached] = {}
        self.jobs: dict[uuid.UUID, Verdict] = {}
        self.gone: dict[uuid.UUID, uuid.UUID] = {}
        self.hidden = 0
        self.writes: dict[uuid.UUID, set[uuid.UUID]] = {}


async def spread(
    connection: Connection,
    edits: Mapping[uuid.UUID, list[Edit]],
    columns: Mapping[uuid.UUID, Collection[str]],
    most: int,
) -> Spread:
    """Follow these changes of tables down. `columns`: those each table has. `most`: datasets that are looked at."""
    found = Spread()
    forms: dict[uuid.UUID, list[Edit]] = {}
    fresh: dict[uuid.UUID, set[str]] = {}
    for dataset, some in edits.items():
        forms[dataset] = [edit for edit in some if edit.action != "values"]
        touched = _touched(some, columns.get(dataset, ()))
        fresh[dataset] = touched
        for column in touched:
            found.columns[dataset, column] = Reached("direct", False, NOTHING, 0)
    seen = 0
    hop = 0
    edges = _Edges(connection, found.writes)
    while fresh:
        hop += 1
        level = dict(list(fresh.items())[: max(0, most - seen)])
        found.hidden += len(fresh) - len(level)
        seen += len(level)
        step = _Step(connection, found, hop, edges)
        await step.load(level, forms)
        await step.judge(level, forms)
        fresh, forms = step.next(level)
    return found


async def jobs_that_use(connection: Connection, columns: Mapping[uuid.UUID, set[str]]) -> Spread:
    """Return the jobs that read these columns of each dataset (`ROWS`: any), with the verdict on each; `columns` of it are those it uses."""
    found = Spread()
    step = _Step(connection, found, 1, _Edges(connection, found.writes))
    await step.load(columns, {})
    await step.judge(columns, {})
    return found


def _touched(edits: Iterable[Edit], columns: Collection[str]) -> set[str]:
    found: set[str] = set()
    for edit in edits:
        if edit.action == "add_column":
            continue
        found |= {edit.column} if edit.column else {*columns, ROWS}
    return found


class _Edges:
    """The edges below datasets. Those of some hops are fetched at once: a question to the database costs more than a few edges too many."""

    _MOST, _MOST_HOPS = 1_000, 25

    def __init__(self, connection: Connection, writes: dict[uuid.UUID, set[uuid.UUID]]) -> None:
        self._connection, self._writes = connection, writes
        self._reads: dict[uuid.UUID, list[Edge]] = {}
        self._columns: dict[tuple[uuid.UUID, uuid.UUID], dict[uuid.UUID, list[ColumnEdge]]] = {}
        # Jobs with explicit lineage, and what each reports once that is fetched.
        self._explicit: set[uuid.UUID] = set()
        self._sources: dict[uuid.UUID, explicit.ReportedSources] = {}
        # A narrow change ends soon: the first hop is asked alone.
        self._hops = 1

    async def below(self, datasets: Collection[uuid.UUID]) -> list[Edge]:
        """Return the edges of the jobs that read these datasets; then `writes` and `columns` know these jobs."""
        missing = [one for one in datasets if one not in self._reads]
        if missing:
            is_whole = await self._fetch(missing, self._hops)
            # A chain is asked many hops at once; a wide graph one hop at a time.
            self._hops = self._MOST_HOPS if is_whole else 1
        reads = [edge for one in datasets for edge in self._reads[one]]
        return sorted(reads, key=lambda edge: (edge.dataset, edge.job))

    def writes(self, job: uuid.UUID) -> Collection[uuid.UUID]:
        return self._writes.get(job, ())

    def columns(self, source: uuid.UUID, job: uuid.UUID, target: uuid.UUID) -> list[ColumnEdge]:
        return self._columns.get((job, target), {}).get(source, [])

    def feeds(self, source: uuid.UUID, job: uuid.UUID, target: uuid.UUID) -> bool:
        """Return whether the job makes the target of the source: by columns, else unless its explicit lineage says otherwise, or both are one."""
        if self.columns(source, job, target):
            return True
        sources = self._sources.get(job)
        return source != target and (sources is None or explicit.feeds(sources, job, source, target))

    async def _fetch(self, datasets: list[uuid.UUID], hops: int) -> bool:
        """Fetch so many hops at once; return False where that would be too much, and one hop was fetched."""
        if hops == 1:
            await self._fetch_hop(datasets)
            return True
        ahead = await edge_store.ahead(self._connection, datasets, (), "downstream", hops, self._MOST)
        if not ahead.whole:
            await self._fetch_hop(datasets)
            return False
        level, pairs = list(datasets), set[tuple[uuid.UUID, uuid.UUID]]()
        for _ in range(hops):
            reads = ahead.at_datasets(level, "in")
            for one in level:
                self._reads[one] = []
            level = self._note(reads, ahead.at_jobs({edge.job for edge in reads}, "out"), pairs)
        await self._add_columns(pairs)
        return True

    async def _fetch_hop(self, datasets: list[uuid.UUID]) -> None:
        reads = await edge_store.at_datasets(self._connection, datasets, "in", _NOW)
        self._reads |= {one: [] for one in datasets}
        pairs = set[tuple[uuid.UUID, uuid.UUID]]()
        self._note(reads, await edge_store.at_jobs(self._connection, {edge.job for edge in reads}, "out", _NOW), pairs)
        await self._add_columns(pairs)

    def _note(
        self, reads: Iterable[Edge], writes: Iterable[Edge], pairs: set[tuple[uuid.UUID, uuid.UUID]]
    ) -> list[uuid.UUID]:
        """Keep the edges of a hop, add its (job, target) to the pairs, and return the datasets of the next hop that are not fetched yet."""
        for edge in reads:
            self._reads[edge.dataset].append(edge)
        for edge in writes:
            self._writes.setdefault(edge.job, set()).add(edge.dataset)
            pairs.add((edge.job, edge.dataset))
            if edge.explicit:
                self._explicit.add(edge.job)
        return list({edge.dataset: None for edge in writes if edge.dataset not in self._reads})

    async def _add_columns(self, pairs: set[tuple[uuid.UUID, uuid.UUID]]) -> None:
        fresh = [pair for pair in pairs if pair not in self._columns]
        for pair in fresh:
            self._columns[pair] = {}
        for column in await inferred.column_edges(self._connection, fresh, _NOW):
            self._columns[column.job, column.target].setdefault(column.source, []).append(column)
        unread = self._explicit - self._sources.keys()
        found = await edge_store.explicit_pairs(self._connection, unread, _NOW)
        self._sources |= {job: found.get(job, {}) for job in unread}


class _Step:
    """One hop from the datasets of a level: their jobs, and what these make."""

    def __init__(self, connection: Connection, found: Spread, hop: int, edges: _Edges) -> None:
        self._connection, self._found, self._hop = connection, found, hop
        self._below = edges
        self._reads: list[Edge] = []
        self._verdicts: dict[uuid.UUID, Verdict] = {}
        self._level: Mapping[uuid.UUID, set[str]] = {}

    async def load(self, level: Mapping[uuid.UUID, set[str]], forms: Mapping[uuid.UUID, list[Edit]]) -> None:
        """Fetch the edges of the level's datasets; of tables whose form changes also who writes them."""
        changed = [one for one in level if forms.get(one)]
        self._reads = await self._below.below(level)
        self._writers = await edge_store.at_datasets(self._connection, changed, "out", _NOW)

    async def judge(self, level: Mapping[uuid.UUID, set[str]], forms: Mapping[uuid.UUID, list[Edit]]) -> None:
        """Say what each job notices of the change of each dataset it touches."""
        self._level = level
        doubted: list[tuple[Edge, list[Edit]]] = [(edge, forms[edge.dataset]) for edge in self._writers]
        for edge in self._reads:
            if forms.get(edge.dataset):
                doubted.append((edge, forms[edge.dataset]))
                continue
            columns = sorted(level[edge.dataset] - {ROWS})
            if ROWS in level[edge.dataset] or not columns:
                self._note(edge, Verdict(CHANGES, "it reads what holds other values", ("*",)))
                continue
            edits = [Edit("values", column) for column in columns]
            known = self._by_columns(edge, edits)
            if known.severity and known.certain:
                # What is made of the column says that it is used: the text would say no more.
                self._note(edge, known)
            else:
                doubted.append((edge, edits))
        texts = await inferred.job_texts(self._connection, {edge.job for edge, _ in doubted}, _NOW) if doubted else {}
        for edge, edits in doubted:
            await self._add(edge, edits, texts)

    async def _add(self, edge: Edge, edits: list[Edit], texts: Mapping[uuid.UUID, "inferred.JobText"]) -> None:
        text = texts.get(edge.job)
        mine = {one.id: one for one in text.tables} if text else {}
        if text is None or edge.dataset not in mine:
            self._note(edge, self._by_columns(edge, edits))
            return
        work = (text.query, text.dialect, text.tables, mine[edge.dataset], edits)
        verdict = await asyncio.get_running_loop().run_in_executor(inferred.sql_thread(), judge, *work)
        self._note(edge, self._by_columns(edge, edits) if verdict is None else verdict)

    def _by_columns(self, edge: Edge, edits: list[Edit]) -> Verdict:
        """A job without SQL, or whose SQL names the table nowhere: what it reported of columns; without that, it may use any."""
        reported = [
            one
            for target in self._below.writes(edge.job)
            for one in self._below.columns(edge.dataset, edge.job, target)
        ]
        named = {one.source_field.lower() for one in reported}
        found = Verdict()
        for edit in edits:
            used = not edit.column or not reported or edit.column.lower() in named
            if edit.action == "add_column" or not used:
                continue
            severity = CHANGES if edit.action in {"swap_table", "retype_column", "values"} else BREAKS
            reason = "it reports that it uses the column" if reported else "it does not report which columns it uses"
            if not edit.column:
                reason = "it uses the table"
            sure = bool(reported) or not edit.column
            found = found.worst(Verdict(severity, reason, (edit.column or "*",), certain=sure))
        return found

    def _note(self, edge: Edge, verdict: Verdict) -> None:
        job = edge.job
        if verdict.severity and verdict.certain and not self._is_certain(edge.dataset, verdict.columns):
            verdict = msgspec.structs.replace(verdict, certain=False)
        self._verdicts[job] = verdict.worst(self._verdicts.get(job, Verdict()))
        if verdict.severity:
            self._found.jobs[job] = verdict.worst(self._found.jobs.get(job, Verdict()))

    def _is_certain(self, dataset: uuid.UUID, used: Collection[str]) -> bool:
        """Return whether the change is known to come as far as the dataset: by a job of which that is certain. `used`: columns, `*` for any."""
        lower = {column.lower() for column in used}
        ways = [
            reached.job
            for column in self._level.get(dataset, ())
            if "*" in lower or column == ROWS or column.lower() in lower
            if (reached := self._found.columns.get((dataset, column))) is not None
        ]
        return not ways or any(job is None or self._found.jobs.get(job, Verdict()).certain for job in ways)

    def next(
        self, level: Mapping[uuid.UUID, set[str]]
    ) -> tuple[dict[uuid.UUID, set[str]], dict[uuid.UUID, list[Edit]]]:
        """The datasets of the next hop: views that are gone, and columns that are reached for the first time."""
        fresh: dict[uuid.UUID, set[str]] = {}
        forms: dict[uuid.UUID, list[Edit]] = {}
        for edge in self._reads:
            for target in self._below.writes(edge.job):
                if not self._below.feeds(edge.dataset, edge.job, target):
                    continue
                verdict = self._verdicts.get(edge.job, Verdict())
                if verdict.is_view and verdict.severity == BREAKS and target not in self._found.gone:
                    self._found.gone[target] = edge.job
                    forms[target] = [GONE]
                    fresh.setdefault(target, set()).add(ROWS)
                reached = self._reached(edge, target, level[edge.dataset])
                fresh.setdefault(target, set()).update(
                    column for column in reached if self._reach(target, column, reached[column])
                )
        return {dataset: columns for dataset, columns in fresh.items() if columns or dataset in forms}, forms

    def _reached(self, edge: Edge, target: uuid.UUID, columns: set[str]) -> dict[str, Reached]:
        """The target's columns that the job makes of these columns; all of them where it reports none, or where it makes nothing any more."""
        verdict = self._verdicts.get(edge.job, Verdict())
        severity = verdict.severity if verdict.severity in {BREAKS, CHANGES} else CHANGES
        edges = self._below.columns(edge.dataset, edge.job, target)
        lower = {column.lower(): column for column in columns}
        found: dict[str, Reached] = {}
        for one in edges:
            if not (one.source_field.lower() in lower or ROWS in columns or not one.source_field):
                continue
            source = (
                edge.dataset,
                lower.get(one.source_field.lower(), ROWS if ROWS in columns else next(iter(columns), ROWS)),
            )
            kind = "indirect" if one.transformation is not None and one.transformation.type == "INDIRECT" else "direct"
            masked = one.transformation is not None and one.transformation.masking
            new = Reached(kind, masked, severity, self._hop, source, edge.job)
            old = found.get(one.target_field)
            if old is None or (old.kind, old.masked) > (new.kind, new.masked):
                found[one.target_field] = new
        if not edges and not (verdict.severity == NOTHING and edge.job in self._verdicts):
            source = (edge.dataset, ROWS if ROWS in columns else next(iter(sorted(columns)), ROWS))
            found[ROWS] = Reached("unknown", False, severity, self._hop, source, edge.job)
        return found

    def _reach(self, target: uuid.UUID, column: str, reached: Reached) -> bool:
        """Note it; return whether it is reached for the first time. A worse severity of a known one is noted and not followed again."""
        old = self._found.columns.get((target, column))
        if old is None:
            self._found.columns[target, column] = reached
            return True
        if ORDER.index(reached.severity) > ORDER.index(old.severity) and old.because is not None:
            self._found.columns[target, column] = msgspec.structs.replace(old, severity=reached.severity)
        return False
