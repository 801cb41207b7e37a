"""PostgreSQL: its catalog, and the statements that `pg_stat_statements` counts.

The catalog is readable by every role, so a role that may connect and nothing else is enough for tables, columns and views. Nothing of a table's rows
is read. A view is a job, named as the view is; a statement is a job as one of the query log is. Each question has a limit on rows and on time, in one
read-only transaction. What is left out at a limit is a warning of the pull.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from headwater.client import event
from headwater.columns import Catalog, Session, Statement, analyse
from headwater.columns.openlineage import facets, names
from headwater.columns.project import Project, Text
from headwater.connectors import Send
from headwater.connectors.changed import Changes
from headwater.connectors.dynamic_texts import dynamic_names
from headwater.errors import DatabaseRefused, DatabaseUnavailable
from headwater.model import dependents, inheritance, references
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.measured import QUERIES
from headwater.pipeline.query_log.events import execution
from headwater.pipeline.query_log.reading import Understood, understood

MOST_TABLES: Final = 100_000
MOST_STATEMENTS: Final = 5_000
MOST_CHILDREN: Final = 10_000
MOST_ROUTINES: Final = 5_000
_SECONDS: Final = 60
_DIALECT: Final = "postgres"
_KINDS: Final = {"v": "VIEW", "m": "MATERIALIZED_VIEW"}
_FACETS: Final = {"columnLineage": "ColumnLineageDatasetFacet"}
_LONGEST_SQL: Final = 65_536
_DEFINES: Final = frozenset({"ALTER", "COMMENT", "CREATE", "DROP", "GRANT", "REFRESH"})
_UNAVAILABLE: Final = frozenset({"08", "40", "53", "55", "57", "58"})


class _Relation(NamedTuple):
    schema: str
    name: str
    kind: str
    description: str | None
    columns: list[dict[str, Any]] | None
    definition: str | None
    referenced_by: list[dict[str, Any]] | None
    children: list[list[str]] | None
    dependents: list[dict[str, Any]] | None = None


class _Routine(NamedTuple):
    schema: str
    name: str
    arguments: str
    kind: str
    text: str
    fires: bool
    triggers: list[dict[str, Any]] | None


class _Rights(NamedTuple):
    version: str
    extension: str | None
    loaded: bool
    sees_all: bool
    missing_schemas: list[str]
    role: str
    quoted_role: str
    now: dt.datetime


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    settings = task.settings
    with _connected(settings) as connection:
        rights = _rights(connection, settings)
        yield ConnectorCheck(
            "connect", "ok", f"PostgreSQL {rights.version}, database {settings['database']}, as {rights.role}"
        )
        for name in rights.missing_schemas:
            yield ConnectorCheck("schemas", "failed", f"there is no schema {name}", "correct the option schemas")
        tables = _tables(connection, settings, 1)
        text = "tables, columns and views can be read" if tables else "the catalog can be read; there is no table yet"
        yield ConnectorCheck("catalog", "ok", text)
        yield _statement_check(rights)
        if (guess := _guess(settings)) is not None:
            yield ConnectorCheck("namespace", "ok", guess)


def _statement_check(rights: _Rights) -> ConnectorCheck:
    if not rights.loaded:
        return ConnectorCheck(
            "statements",
            "missing",
            "the server does not count statements, so what people run is not seen",
            "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements';  -- then restart the server",
        )
    if rights.extension is None:
        return ConnectorCheck(
            "statements",
            "missing",
            "the extension pg_stat_statements is not in this database, so what people run is not seen",
            "CREATE EXTENSION pg_stat_statements;",
        )
    if not rights.sees_all:
        return ConnectorCheck(
            "statements",
            "missing",
            f"{rights.role} does not see the statements of other roles",
            f"GRANT pg_read_all_stats TO {rights.quoted_role};",
        )
    return ConnectorCheck("statements", "ok", "the statements of all roles can be read")


def pull(task: ConnectorTask, send: Send) -> PullReport:
    settings, before = task.settings, task.cursor or {}
    warnings = [guess for guess in (_guess(settings),) if guess is not None]
    with _connected(settings) as connection:
        rights = _rights(connection, settings)
        relations = _tables(connection, settings, MOST_TABLES + 1)
        routines = _routines(connection, warnings)
        counted = _statements(connection, rights, warnings)
    if len(relations) > MOST_TABLES:
        relations = relations[:MOST_TABLES]
        warnings.append(f"only the first {MOST_TABLES:,} tables were read; name some with the option schemas")
    source = _Source(settings, rights.now)
    earlier = before.get("objects") or {}
    changes = Changes(earlier)
    parsed = source.read_routines(routines, relations)
    for one in relations:
        if len(one.children or ()) > MOST_CHILDREN:
            warnings.append(f"only the first {MOST_CHILDREN:,} partitions of {one.schema}.{one.name} were read")
        needing = [*(one.dependents or ()), *parsed.get((one.schema, one.name), ())]
        content = [one.kind, one.description, one.columns, one.referenced_by, one.children, needing]
        if changes.is_new(key := f"{one.schema}.{one.name}", content):
            send(source.table(one, needing, is_known=key in earlier))
    seen = Changes(before.get("views"))
    views = [
        one
        for one in relations
        if one.definition and seen.is_new(f"{one.schema}.{one.name}", [one.definition, one.columns])
    ]
    # A view of another view needs that one's columns, which the catalog has.
    for one, statement in source.read_views(views, relations):
        send(source.view(one, statement))
    if len(relations) < MOST_TABLES:
        for key in changes.gone():
            send(source.dropped(key))
    calls = source.send_statements(counted, before.get("calls") or {}, relations, send)
    cursor = {"objects": changes.digests, "views": seen.digests, "calls": calls}
    return PullReport(len(relations) + len(counted), cursor, rights.now if counted else None, tuple(warnings))


class _Source:
    """One database, as it was at a time."""

    def __init__(self, settings: Mapping[str, str], now: dt.datetime) -> None:
        self.database, self.now = settings["database"], now
        self.namespace = _namespace(settings)

    def table(self, one: _Relation, needing: Sequence[dict[str, Any]], *, is_known: bool) -> dict[str, Any]:
        """The event of a table or view: its columns, its description, its kind, the tables that refer to it or hold rows of it, and the objects that
        need it. `is_known`: an earlier event may have had keys or objects that are gone."""
        told = {
            "schema": event.schema(
                {key: value for key, value in column.items() if value} for column in one.columns or ()
            ),
            "datasetType": event.facet("DatasetTypeDatasetFacet/1-0-0", datasetType=_KINDS.get(one.kind, "TABLE")),
        }
        if needing or is_known:
            objects = [
                {**each, "dataset": self._name(*each["dataset"]) if each.get("dataset") else None} for each in needing
            ]
            told[dependents.FACET] = event.facet(dependents.FACET, objects=objects)
        if one.referenced_by or is_known:
            told[references.FACET] = event.facet(
                references.FACET,
                referencedBy=[{**each, "table": self._name(*each["table"])} for each in one.referenced_by or ()],
            )
        if one.children or one.kind == "p":
            children = [self._name(*each) for each in (one.children or ())[:MOST_CHILDREN]]
            told[inheritance.FACET] = event.facet(inheritance.FACET, children=children)
        if one.description:
            told["documentation"] = event.documentation(one.description)
        return event.dataset_event(self.namespace, self._name(one.schema, one.name), facets=told, event_time=self.now)

    def dropped(self, key: str) -> dict[str, Any]:
        state = event.facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange="DROP")
        return event.dataset_event(
            self.namespace, f"{self.database}.{key}", facets={"lifecycleStateChange": state}, event_time=self.now
        )

    def read_views(
        self, views: list[_Relation], relations: list[_Relation]
    ) -> Iterator[tuple[_Relation, Statement | None]]:
        """Yield each view with its query as it was understood; None if nothing of it was."""
        by_place = {f"{one.schema}.{one.name}": one for one in views}
        project = Project(_DIALECT, self._catalog(relations), lambda: Session(self.database))
        texts = [
            Text(place, one.definition or "", (self.database, one.schema, one.name), "view")
            for place, one in by_place.items()
        ]
        for analysed in project.analyse(texts):
            yield by_place[analysed.text.place], analysed.statements[-1] if analysed.statements else None

    def read_routines(
        self, routines: Sequence[_Routine], relations: list[_Relation]
    ) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """Return by table the functions and procedures whose text reads or writes it, or that name it in a string of SQL, and the triggers of
        others that run them."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        catalog = self._catalog(relations)
        by_name = {self._name(one.schema, one.name): (one.schema, one.name) for one in relations}
        for one in routines:
            statement = understood(one.text, _DIALECT, self.namespace, Session(self.database, "public"), catalog)
            made = {"kind": one.kind, "name": f"{one.schema}.{one.name}({one.arguments})", "parsed": True}
            fired = [
                {"kind": "trigger", "name": f"{each['trigger']} on {'.'.join(each['table'])}", "dataset": each["table"], "parsed": True}
                for each in one.triggers or ()
            ]  # fmt: skip
            dynamic = dynamic_names(one.text)
            named = {name for name, place in by_name.items() if place in dynamic or place[1:] in dynamic}
            parsed = {name for _, name in (*statement.reads, *statement.writes)} & by_name.keys()
            for name in sorted(parsed | named):
                # A function of triggers runs for the tables that have them, and else never.
                found.setdefault(by_name[name], []).extend(
                    [each for each in fired if tuple(each["dataset"]) != by_name[name]] if one.fires else [made]
                )
        return found

    def view(self, one: _Relation, statement: Statement | None) -> dict[str, Any]:
        """The event of the job that a view is: what it reads, which columns feed which of its own."""
        text = one.definition or ""
        told = facets(statement, _DIALECT, self.namespace) if statement else None
        bodies = next(iter(told.outputs.values()), {}) if told else {}
        output = event.dataset(
            self.namespace,
            self._name(one.schema, one.name),
            facets={key: event.facet(_FACETS[key], **body) for key, body in bodies.items() if key in _FACETS},
        )
        return event.job(
            (self.namespace, self._name(one.schema, one.name)),
            inputs=[event.dataset(name.namespace, name.name) for name in (told.inputs if told else ())],
            outputs=[output],
            job_facets={
                "jobType": event.job_type("BATCH", "POSTGRES", _KINDS[one.kind]),
                "sql": event.facet("SQLJobFacet", query=text[:_LONGEST_SQL], dialect=_DIALECT),
            },
            event_time=self.now,
        )

    def send_statements(
        self, counted: list[tuple[Any, ...]], before: Mapping[str, int], relations: list[_Relation], send: Send
    ) -> dict[str, int]:
        """Send a run for each statement that ran since the last pull and touches a table; return the counts."""
        calls: dict[str, int] = {}
        catalog = self._catalog(relations)
        for query_id, role, text, count, milliseconds, rows in counted:
            key = f"{query_id} {role}"
            calls[key] = count
            # The counts begin anew when the server forgets a statement.
            ran = count - before.get(key, 0) if count >= before.get(key, 0) else count
            if ran <= 0:
                continue
            found = understood(text, _DIALECT, self.namespace, Session(self.database, "public"), catalog)
            if found.temporary or not (found.reads or found.writes) or _is_definition(found):
                continue
            fingerprint = next((one.fingerprint for one in analyse(text, _DIALECT)), query_id)
            target = next(iter(sorted(name for _, name in found.writes) or [name for _, name in found.reads]))
            row = {
                "namespace": self.namespace, "query_id": f"{key} {count}", "source": _DIALECT, "dialect": _DIALECT,
                "job": f"{found.kind} {target} {fingerprint[:8]}", "state": "succeeded", "level": found.level,
                "started_at": event.timestamp(self.now), "sql": text, "outputs": found.outputs,
                "reads": [{"namespace": space, "name": name} for space, name in found.reads],
                "writes": [{"namespace": space, "name": name} for space, name in found.writes],
                "user": role, "actor": role,
            }  # fmt: skip
            began, ended = execution(row)
            # The times are of the counts: each run stands for those since the last pull.
            ended["run"]["facets"][QUERIES] |= {"executions": ran, "durationMs": milliseconds / count * ran}
            if found.writes:
                ended["run"]["facets"][QUERIES]["rowsWritten"] = round(rows / count * ran)
            send(began)
            send(ended)
        return calls

    def _catalog(self, relations: list[_Relation]) -> Catalog:
        return Catalog(
            {(self.database, one.schema, one.name): [each["name"] for each in one.columns or ()] for one in relations},
            _DIALECT,
        )

    def _name(self, schema: str, name: str) -> str:
        return names((self.database, schema, name), _DIALECT, self.namespace).name


def _namespace(settings: Mapping[str, str]) -> str:
    """Return the namespace of the tables. A folder of sockets is a server of this machine, and is no name that another program gives it."""
    host = "localhost" if _is_socket(settings["host"]) else settings["host"]
    return settings.get("namespace") or f"postgres://{host}:{settings['port']}"


def _is_socket(host: str) -> bool:
    return host.startswith(("/", "@"))


def _guess(settings: Mapping[str, str]) -> str | None:
    """Return what the namespace of a server behind a socket rests on; None if it was given, or is that of a host."""
    if settings.get("namespace") or not _is_socket(settings["host"]):
        return None
    return (
        f"the host {settings['host']} is a folder of sockets, so the namespace {_namespace(settings)} is a guess: "
        "set the option namespace to the one that other programs report"
    )


@contextmanager
def _connected(settings: Mapping[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """Open one read-only transaction. Raises DatabaseUnavailable, DatabaseRefused."""
    where: dict[str, Any] = {
        "host": settings["host"], "port": settings["port"], "dbname": settings["database"], "user": settings["user"],
        "password": settings.get("password"), "sslmode": settings["sslmode"],
    }  # fmt: skip
    place = f"{settings['host']}:{settings['port']}"
    try:
        with psycopg.connect(
            **where, connect_timeout=10, application_name="headwater",
            options=f"-c statement_timeout={_SECONDS * 1000} -c lock_timeout=2000 -c search_path= "
            "-c default_transaction_read_only=on -c timezone=UTC",
        ) as connection:  # fmt: skip
            connection.execute("set transaction isolation level repeatable read, read only")
            yield connection
    except psycopg.Error as error:
        words = f"PostgreSQL at {place}: {' '.join(str(error).split()) or type(error).__name__}"
        state = error.sqlstate or ""
        refused = state[:2] not in _UNAVAILABLE if state else _is_refusal(error)
        raise (DatabaseRefused if refused else DatabaseUnavailable)(words, sqlstate=state or None) from None


def _is_definition(found: Understood) -> bool:
    """Return whether a statement only defines what the catalog has: a view, or an object that it reads nothing for."""
    first, _, rest = found.kind.partition(" ")
    return first in _DEFINES and (not found.reads or rest.endswith("VIEW"))


def _is_refusal(error: psycopg.Error) -> bool:
    """Return whether a connection failed in a way that trying again does not mend: libpq gives these no state."""
    return any(
        words in str(error) for words in ("authentication failed", "no pg_hba.conf", "does not exist", "no password")
    )


def _question(name: str) -> str:
    return resources.files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")


def _schemas(settings: Mapping[str, str]) -> list[str] | None:
    return [one.strip() for one in settings.get("schemas", "").split(",") if one.strip()] or None


def _rights(connection: psycopg.Connection[Any], settings: Mapping[str, str]) -> _Rights:
    cursor = connection.execute(_question("postgres_rights").encode(), {"schemas": _schemas(settings)})
    return _Rights(*cursor.fetchone() or ())


def _tables(connection: psycopg.Connection[Any], settings: Mapping[str, str], limit: int) -> list[_Relation]:
    parameters = {"schemas": _schemas(settings), "limit": limit, "children": MOST_CHILDREN + 1}
    return [_Relation(*row) for row in connection.execute(_question("postgres_tables").encode(), parameters)]


def _routines(connection: psycopg.Connection[Any], warnings: list[str]) -> list[_Routine]:
    rows = connection.execute(_question("postgres_functions").encode(), {"limit": MOST_ROUTINES + 1}).fetchall()
    if len(rows) > MOST_ROUTINES:
        warnings.append(f"only the first {MOST_ROUTINES:,} functions and procedures were read")
    return [_Routine(*row) for row in rows[:MOST_ROUTINES]]


def _statements(connection: psycopg.Connection[Any], rights: _Rights, warnings: list[str]) -> list[tuple[Any, ...]]:
    check = _statement_check(rights)
    if check.state != "ok":
        warnings.append(f"{check.text}: {check.remedy}")
        if rights.extension is None or not rights.loaded:
            return []
    question = sql.SQL(_question("postgres_statements")).format(extension=sql.Identifier(rights.extension))  # type: ignore[arg-type]
    rows = connection.execute(question, {"limit": MOST_STATEMENTS + 1}).fetchall()
    if len(rows) > MOST_STATEMENTS:
        warnings.append(f"only the {MOST_STATEMENTS:,} statements that took the most time were read")
    return rows[:MOST_STATEMENTS]
