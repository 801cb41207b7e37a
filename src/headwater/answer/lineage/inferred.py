"""Column lineage, reported and inferred: what no producer reports of a column is read out of the job's SQL, with the schemas known at the time
of the question.

Nothing is stored: the text is in the log, the schemas have their history, and reading both for each question gives every past event
the newest reading (decision 010). Its edges have the origin PARSED_SQL and count only for the columns of an output of which the job reported nothing.
A statement's tables are the datasets the job reported; a table that is none of them, or could be two, gives no edge."""

import asyncio
import contextlib
import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any

import msgspec

from headwater.answer.lineage.renamed_columns import renamed_edges, renames_of
from headwater.graph.explicit import feeds
from headwater.model import facets as known
from headwater.model.lineage import ColumnEdge, Origin, Transformation
from headwater.model.names import DatasetName
from headwater.model.sql_platform import dialect_of
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment

# A text beyond this is a dump of data, and jobs beyond this are no question about columns.
_LONGEST = 500_000
_MOST_JOBS = 500
_DUCKDB_SCHEMA = "main"
# Tables in a row of which no schema is reported, whose columns are read from the SQL that writes them.
_MOST_UNREPORTED = 8
Parts = tuple[str, ...]


class JobTable(msgspec.Struct, frozen=True):
    """A dataset a job reported, under all its names. `documented`: the columns are those that dbt's files describe, and it may have others."""

    id: uuid.UUID
    names: tuple[DatasetName, ...]
    columns: tuple[str, ...]
    documented: bool = False

    @property
    def parts(self) -> list[Parts]:
        return [_parts(name) for name in self.names]


class JobText(msgspec.Struct, frozen=True):
    """A job's SQL, and the datasets it touches. `read`, `written`: those of them that it reads and writes."""

    query: str
    dialect: str
    tables: tuple[JobTable, ...]
    read: frozenset[uuid.UUID]
    written: frozenset[uuid.UUID]


class _Work(msgspec.Struct, frozen=True):
    """One job's SQL. `outputs`: the datasets that wait for column lineage."""

    job: uuid.UUID
    text: JobText
    outputs: frozenset[uuid.UUID]


async def column_edges(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment
) -> list[ColumnEdge]:
    """Return the column edges of these (job, target): those that are reported or drawn, and for each column that no report is about, those of the
    job's SQL. A job with explicit lineage for a target has named all its inputs, so its SQL is not read for it, and column lineage from a dataset
    that its entries leave out is none.
    """
    reported = await edge_store.reported_columns(connection, pairs, moment)
    found = reported.edges + await _unreported_edges(connection, pairs, reported, moment)
    allowed = await edge_store.explicit_pairs(connection, {edge.job for edge in found}, moment)
    return [
        edge
        for edge in found
        if edge.job not in allowed or feeds(allowed[edge.job], edge.job, edge.source, edge.target)
    ]


async def sql_edges(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment
) -> list[ColumnEdge]:
    """Return those of `column_edges` that are read out of SQL. Jobs without SQL cost nothing but the question for it."""
    texts = await _texts(connection, {job for job, _ in pairs}, moment)
    asked = {pair for pair in pairs if pair[0] in texts} | (await renames_of(connection, pairs, moment)).keys()
    if not asked:
        return []
    return await _unreported_edges(
        connection, asked, await edge_store.reported_columns(connection, asked, moment), moment
    )


async def pairs_with_sql(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], reported: edge_store.ReportedColumns
) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Return those of these (job, target) with unreported columns at present for which the job's SQL is read, and those of renames."""
    left_out = await _left_out(connection, reported, Moment())
    waiting = {(job, target) for job, target in pairs if job != target and (job, target) not in reported.fields}
    waiting |= left_out.keys()
    texts = await _texts(connection, {job for job, _ in waiting}, Moment())
    return {pair for pair in waiting if pair[0] in texts} | (await renames_of(connection, pairs, Moment())).keys()


async def _unreported_edges(
    connection: Connection,
    pairs: Collection[tuple[uuid.UUID, uuid.UUID]],
    reported: edge_store.ReportedColumns,
    moment: Moment,
) -> list[ColumnEdge]:
    left_out = await _left_out(connection, reported, moment)
    unreported = set(pairs) - reported.fields.keys()
    known_places = {
        (e.job, e.target, e.target_field, e.source, e.source_field)
        for e in (reported.edges if left_out else ())
        if (e.job, e.target) in left_out
    }
    found = []
    for edge in await _parsed_edges(connection, unreported | left_out.keys(), moment):
        fields = left_out.get((edge.job, edge.target))
        place = edge.job, edge.target, edge.target_field, edge.source, edge.source_field
        if fields is None or (edge.target_field.lower() in fields and place not in known_places):
            found.append(edge)
    told = {(*pair, field) for pair, fields in reported.fields.items() for field in fields}
    told |= {(edge.job, edge.target, edge.target_field) for edge in found}
    renamed = await renamed_edges(connection, {pair for pair in pairs if pair not in reported.explicit}, moment)
    return found + [edge for edge in renamed if (edge.job, edge.target, edge.target_field) not in told]


async def _left_out(
    connection: Connection, reported: edge_store.ReportedColumns, moment: Moment
) -> dict[tuple[uuid.UUID, uuid.UUID], set[str]]:
    """Return the columns of a target that a job's reports leave out, in lower case, and "" for its rows; by pair, if there are any.

    Columns by the target's schema: without one, no report can be called partial, and the SQL may name its outputs otherwise than the target does.
    """
    targets = {target for job, target in reported.fields if job != target}
    schemas = await facet_store.of_owners(connection, targets, ("schema",), moment.as_of) if targets else {}
    columns = {target: {name.lower() for name in top_columns(told["schema"])} for target, told in schemas.items()}
    found = {}
    for pair, fields in reported.fields.items():
        missing = columns.get(pair[1], set()) - {field.lower() for field in fields}
        if missing and pair not in reported.explicit:
            found[pair] = missing | {""}
    return found


async def _parsed_edges(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment
) -> list[ColumnEdge]:
    """Return the column edges of these (job, output) pairs by their SQL; pairs without SQL, or that it does not mention, have none."""
    waiting: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for job, output in pairs:
        if job != output:
            waiting[job].add(output)
    if not waiting:
        return []
    work = [
        _Work(job, text, frozenset(waiting[job]))
        for job, text in (await job_texts(connection, waiting.keys(), moment)).items()
    ]
    return await asyncio.get_running_loop().run_in_executor(sql_thread(), _read, work) if work else []


async def job_texts(
    connection: Connection, jobs: Collection[uuid.UUID], moment: Moment, depth: int = _MOST_UNREPORTED
) -> dict[uuid.UUID, JobText]:
    """Return the SQL of these jobs with the tables they touch, of those that reported any; of at most 500 jobs.

    A `*` stands for the columns of a table. Where none are reported, they are those that the SQL of its writer makes, `depth` tables up.
    """
    texts = await _texts(connection, jobs, moment)
    chosen = sorted(texts)[:_MOST_JOBS]
    if not chosen:
        return {}
    sides: dict[str, dict[uuid.UUID, set[uuid.UUID]]] = {"in": defaultdict(set), "out": defaultdict(set)}
    for direction, touched in sides.items():
        for edge in await edge_store.at_jobs(connection, chosen, direction, moment):
            touched[edge.job].add(edge.dataset)
    ids = {id_ for touched in sides.values() for some in touched.values() for id_ in some}
    tables = await load_tables(connection, ids, moment)
    starred = {id_ for job in chosen if "*" in texts[job][0] for id_ in sides["in"][job]}
    unknown = {id_ for id_ in starred if id_ in tables and (tables[id_].documented or not tables[id_].columns)}
    if unknown and depth:
        for id_, columns in (await _written_columns(connection, unknown, moment, depth - 1)).items():
            tables[id_] = msgspec.structs.replace(tables[id_], columns=columns, documented=False)
    found = {}
    for job in chosen:
        query, dialect = texts[job]
        read, written = frozenset(sides["in"][job]), frozenset(sides["out"][job])
        mine = tuple(tables[id_] for id_ in sorted(read | written) if id_ in tables)
        found[job] = JobText(query, dialect or guess_dialect(mine), mine, read, written)
    return found


async def _written_columns(
    connection: Connection, ids: Collection[uuid.UUID], moment: Moment, depth: int
) -> dict[uuid.UUID, Parts]:
    """Return the columns that the SQL of these datasets' writers makes; none of a dataset whose writers make different ones."""
    written: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for edge in await edge_store.at_datasets(connection, ids, "out", moment):
        written[edge.job].add(edge.dataset)
    texts = await job_texts(connection, written, moment, depth)
    work = [_Work(job, text, frozenset(written[job])) for job, text in texts.items()]
    return await asyncio.get_running_loop().run_in_executor(sql_thread(), _made_columns, work) if work else {}


def _made_columns(work: list[_Work]) -> dict[uuid.UUID, Parts]:
    made: dict[uuid.UUID, set[Parts]] = defaultdict(set)
    for one in work:
        for target, flow, named in _flows(one):
            names = tuple(output.name for output in flow.columns) if named else ("",)
            made[target].add(names if all(name not in {"", "*"} for name in names) else ())
    return {target: next(iter(some)) for target, some in made.items() if len(some) == 1 and all(some)}


async def _texts(
    connection: Connection, jobs: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, tuple[str, str]]:
    """Return the SQL of each job, and its dialect.

    A job without SQL has that of the jobs below it which touch no dataset, as one script: dbt's structured logs report datasets of the model's
    job, and its statements of the jobs below.
    """
    told = await facet_store.of_owners(connection, jobs, ("sql",), moment.as_of)
    found = {job: decode_sql(facets["sql"]) for job, facets in told.items()}
    below = await statements_below(connection, [job for job in jobs if job not in told], moment)
    children = [child for some in below.values() for child in some]
    scripts = await facet_store.of_owners(connection, children, ("sql",), moment.as_of) if children else {}
    for job, some in below.items():
        read = [decode_sql(scripts[one]["sql"]) for one in some if one in scripts]
        script = ";\n".join(query.rstrip().rstrip(";") for query, _ in read if query)
        if len(script) <= _LONGEST:
            found[job] = script, next((dialect for _, dialect in read if dialect), "")
    return {job: text for job, text in found.items() if text[0]}


async def statements_below(
    connection: Connection, jobs: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the jobs below each of these that touch no dataset, in the order of the numbers in their names; jobs without any are absent."""
    below = await edge_store.children(connection, jobs)
    children = {child for some in below.values() for child in some}
    if not children:
        return {}
    for side in ("in", "out"):
        children -= {edge.job for edge in await edge_store.at_jobs(connection, children, side, moment)}
    rows = await node_store.by_ids(connection, children)
    found = {
        job: sorted(children.intersection(some), key=lambda one: _numbered(rows[one].name))
        for job, some in below.items()
    }
    return {job: some for job, some in found.items() if some}


async def sql_levels(connection: Connection, jobs: Collection[uuid.UUID], moment: Moment) -> dict[uuid.UUID, str]:
    """Return how far the SQL of each job is understood: `full`, `partial` or `tables`, by its worst statement that touches a table."""
    texts = await job_texts(connection, jobs, moment) if jobs else {}
    return await asyncio.get_running_loop().run_in_executor(sql_thread(), _levels, texts) if texts else {}


def _levels(texts: dict[uuid.UUID, JobText]) -> dict[uuid.UUID, str]:
    from headwater.columns.tables import tables_of

    levels = {job: tables_of(text.query, text.dialect).level for job, text in texts.items()}
    return {job: level.value for job, level in levels.items() if level is not None}


def _numbered(name: str) -> list[tuple[int, str]]:
    """Order names by the numbers in them: `query.2` is before `query.10`."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


async def load_tables(connection: Connection, ids: Collection[uuid.UUID], moment: Moment) -> dict[uuid.UUID, JobTable]:
    rows = await node_store.by_ids(connection, ids)
    others = await names.aliases(connection, ids)
    facets = await facet_store.of_owners(connection, ids, ("schema", "dbt_model"), moment.as_of)
    found = {}
    for id_, row in rows.items():
        told = facets.get(id_, {})
        columns = top_columns(told["schema"]) if "schema" in told else ()
        documented = "dbt_model" in told and "schema" in told and not _has_types(told["schema"])
        found[id_] = JobTable(id_, (DatasetName(row.namespace, row.name), *others.get(id_, ())), columns, documented)
    return found


def _has_types(schema: bytes) -> bool:
    """Return whether a column has a type: dbt-ol sends columns of dbt's catalog with types, and those of dbt's files without."""
    try:
        return any(field.type for field in known.schema(schema))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


@lru_cache(maxsize=2048)
def top_columns(schema: bytes) -> tuple[str, ...]:
    """Return the columns at the top: columns nested in them are addressed through them."""
    told = list[str]()
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        told = [field.name for field in known.schema(schema)]
    top = set(told)
    return tuple(name for name in told if name.rpartition(".")[0] not in top)


def decode_sql(body: bytes) -> tuple[str, str]:
    """Return a facet's text and dialect; no text where it is malformed or too long to read."""
    query, dialect = _sql_of(body)
    return (query, dialect) if len(query) <= _LONGEST else ("", "")


def too_long(body: bytes) -> int | None:
    """Return the number of characters of a text that is too long to read."""
    length = len(_sql_of(body)[0])
    return length if length > _LONGEST else None


def _sql_of(body: bytes) -> tuple[str, str]:
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", ""
    query, dialect = told.get("query"), told.get("dialect")
    return query if isinstance(query, str) else "", dialect if isinstance(dialect, str) else ""


def guess_dialect(tables: Iterable[JobTable]) -> str:
    for table in tables:
        for name in table.names:
            dialect = dialect_of(name.namespace)
            if dialect and not (name.namespace.split(":", 1)[0].lower() == "file" and "/" not in name.name):
                return dialect
    return ""


@cache
def sql_thread() -> ThreadPoolExecutor:
    """Return the executor of one thread that reads SQL: a hard text must not keep the server from answering others, and
    the engine's memory has one user."""
    return ThreadPoolExecutor(1, "sql")


@cache
def sql_engine() -> Any:
    """The SQL engine, loaded when the first job needs it: it is heavy."""
    from headwater.columns.cache import Cache

    return Cache()


def _read(work: list[_Work]) -> list[ColumnEdge]:
    return [edge for one in work for edge in _edges_of(one)]


def _edges_of(work: _Work) -> list[ColumnEdge]:
    found: dict[ColumnEdge, None] = {}
    for target, flow, _ in _flows(work):
        for output in flow.columns:
            for one in output.inputs if output.name not in {"", "*"} else ():
                for edge in _edges(work, target, output.name, one):
                    found[edge] = None
        for one in flow.rows:
            for edge in _edges(work, target, "", one):
                found[edge] = None
    return list(found)


def _flows(work: _Work) -> Iterable[tuple[uuid.UUID, Any, bool]]:
    """Yield what the text writes into the outputs that are asked for, and whether it names their columns: a query does, and what creates a table; an
    INSERT fills columns that are named elsewhere."""
    from headwater.columns.catalog import Catalog
    from headwater.columns.composed import MADE, composed
    from headwater.columns.tables import final_names

    text = work.text
    catalog = Catalog({parts: table.columns for table in text.tables for parts in table.parts if table.columns}, "")
    try:
        statements = sql_engine().analyse(text.query, text.dialect, catalog.of(text.dialect))
    except ValueError:  # an unknown dialect: the plain one reads most of it
        statements = sql_engine().analyse(text.query, "", catalog)
    renamed = final_names(statements)
    made = {change.table for statement in statements for change in statement.changes if change.action in MADE}
    flows = list(composed(statements))
    alone = len({renamed.get(flow.target, flow.target) for flow in flows if flow.target}) <= 1
    for flow in flows:
        target = _target(flow.target, renamed, text, alone=alone)
        if target is not None and target in work.outputs:
            yield target, flow, flow.target is None or flow.target in made


def _edges(work: _Work, target: uuid.UUID, field: str, one: Any) -> Iterable[ColumnEdge]:
    source = match_table(one.table, work.text.tables)
    # What the job is not known to read would be found upstream of its output, and the output not downstream of it.
    if source is None or source.id not in work.text.read or one.field == "*":
        return
    for kind in one.transformations:
        words = f"from {one.path} in it" if one.path else None
        yield ColumnEdge(
            work.job, target, field, source.id, one.field, Origin.PARSED_SQL,
            Transformation(kind.type, kind.subtype, kind.masking, words),
        )  # fmt: skip


def _target(table: Parts | None, renamed: dict[Parts, Parts], text: JobText, *, alone: bool) -> uuid.UUID | None:
    """Return the dataset that a flow goes into, under the name it has or gets later.

    The job's only output, for a bare query (dbt sends a model's so), and for a name that is none of the job's datasets, if the text fills it
    `alone`: a table may be reported by its path.
    """
    for name in (table, renamed.get(table)) if table is not None else ():
        found = match_table(name, text.tables) if name is not None else None
        if found is not None:
            return found.id if found.id in text.written else None
    return next(iter(text.written)) if len(text.written) == 1 and alone else None


def match_table(table: Parts, tables: Collection[JobTable]) -> JobTable | None:
    """The one dataset whose name ends as the table's does (or the other way round); None when none or several do."""
    wanted = tuple(part.lower() for part in table)
    fitting: dict[uuid.UUID, tuple[int, JobTable]] = {}
    for one in tables:
        for parts in one.parts:
            shared = min(len(parts), len(wanted))
            if shared and parts[-shared:] == wanted[-shared:]:
                fitting[one.id] = max(fitting.get(one.id, (0, one)), (shared, one), key=lambda found: found[0])
    if not fitting and len(wanted) == 2:
        # DuckDB's `catalog.table`, the schema left out.
        whole = (wanted[0], _DUCKDB_SCHEMA, wanted[1])
        fitting = {one.id: (3, one) for one in tables for parts in one.parts if parts == whole}
    best = max((shared for shared, _ in fitting.values()), default=0)
    closest = [one for shared, one in fitting.values() if shared == best]
    return closest[0] if len(closest) == 1 else None


def _parts(name: DatasetName) -> Parts:
    """A dataset's name as SQL would write it: `db.schema.table`; Glue's `table/db/name`; of a path, the whole and its last segment."""
    text = name.name.lower()
    if text.startswith("table/"):
        return tuple(text.split("/")[1:])
    if "/" in text:
        return (text.rstrip("/").rsplit("/", 1)[-1],)
    return tuple(part for part in text.split(".") if part)
