"""The spread of a change by way of routines, triggers and generated columns, which lineage has no edges for: found by the words of the jobs' SQL."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from headwater.answer.lineage import find, inferred
from headwater.answer.whatif import routines
from headwater.answer.whatif.changes import Unjudged
from headwater.answer.whatif.spread import Spread
from headwater.answer.whatif.verdicts import BREAKS, CHANGES, CHECKED_DEFAULT, ORDER, Edit, Verdict
from headwater.store import search
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow

_MOST: Final = 500
_MOST_ROUTINES: Final = 100
_NOW: Final = Moment()
_REFUSING: Final = frozenset({"add constraint", "set not null", "create rule", "create trigger"})
"""Rules that may refuse what a statement writes into their table."""


class Around(msgspec.Struct):
    """The jobs whose SQL may say what hangs on the tables of a question: their texts."""

    texts: dict[uuid.UUID, str]

    def generated(self, table: NodeRow, edits: Iterable[Edit]) -> list[Edit]:
        """Return the edits that these bring about: a generated column goes with a column that its expression names."""
        made: dict[str, str] = {}
        for text in self.texts.values():
            made |= routines.generated_columns(text, table.name)
        gone = [edit for edit in edits if edit.action == "drop_column"]
        return [
            Edit("drop_column", column, replaced=edit.replaced)
            for edit in gone
            for column, expression in made.items()
            if routines.names_column(expression, edit.column)
        ]

    def beside(self, table: NodeRow, edits: Iterable[Edit]) -> list[Edit]:
        """Return the edits with what hangs on their columns: policies go with a column, and a CHECK may refuse a default."""
        found = []
        for edit in edits:
            if (edit.action, edit.to) == ("rule", "set default") and self._is_checked(table, edit.column):
                found.append(msgspec.structs.replace(edit, to=CHECKED_DEFAULT))
                continue
            found.append(edit)
            if edit.action == "drop_column" and any(
                routines.is_policy_of(text, table.name, edit.column) for text in self.texts.values()
            ):
                found.append(Edit("rule", "", "policy", replaced=edit.replaced))
        return found

    def _is_checked(self, table: NodeRow, column: str) -> bool:
        return any(routines.is_checked(text, table.name, column) for text in self.texts.values())

    def owned(self, table: NodeRow, edits: Iterable[Edit]) -> list[str]:
        """Return the sequences that go with the table or its columns."""
        gone = {edit.column.lower() for edit in edits if edit.action in {"drop_column", "drop_table"}}
        pairs = [one for text in self.texts.values() if (one := routines.owned_sequence(text)) is not None]
        return [
            sequence
            for sequence, owner, column in pairs
            if routines.same_name(owner, table.name) and ("" in gone or column.lower() in gone)
        ]

    def published(self, table: NodeRow, edits: Iterable[Edit]) -> list[Unjudged]:
        """Return what is not known where a published table loses a column, which may be of its key."""
        if not any(edit.action == "drop_column" for edit in edits):
            return []
        if not any(routines.is_published(text, table.name) for text in self.texts.values()):
            return []
        reason = "it is published: without its key as replica identity PostgreSQL refuses UPDATE and DELETE"
        return [Unjudged(table.name, reason)]

    def relatives(self, table: NodeRow) -> tuple[list[str], list[str]]:
        """Return the tables that are parts of this one, partitions and heirs, and those that it is a part of."""
        pairs = [routines.parents_of(text) for text in self.texts.values()]
        parts = [made for made, parents in pairs if any(routines.same_name(one, table.name) for one in parents)]
        wholes = [one for made, parents in pairs if made and routines.same_name(made, table.name) for one in parents]
        return list(dict.fromkeys(parts)), list(dict.fromkeys(wholes))

    def functions(self, table: NodeRow, edits: Iterable[Edit]) -> list[str]:
        """Return the functions that triggers of the table run and that name a changed column of the row."""
        named = {edit.column for edit in edits if edit.action in {"drop_column", "rename_column", "retype_column"}}
        made = [one for text in self.texts.values() for one in routines.triggers(text)]
        run = {one.function for one in made if named and routines.same_name(one.table, table.name)}
        return [
            name
            for name in sorted(run)
            for text in self.texts.values()
            if any(routines.same_name(name, one) for one in routines.routine_names(text))
            and any(routines.uses_row(text, column) for column in named)
        ]


async def load_around(connection: Connection, tables: Iterable[NodeRow]) -> Around:
    """Fetch the texts that name one of the tables and make triggers, generated columns, partitions or heirs, and those of the triggers' functions."""
    lasts = {table.name.rpartition(".")[2] for table in tables}
    words = ("trigger", "generated", "partition", "inherits", "check", "policy", "owned", "publication")
    asked = [f"{last} {word}" for last in sorted(lasts) for word in words]
    texts = await _texts(connection, await search.of_sql(connection, asked, _MOST))
    run = {one.function.rpartition(".")[2] for text in texts.values() for one in routines.triggers(text)}
    return Around(texts | await _texts(connection, await search.of_sql(connection, sorted(run), _MOST)))


async def follow_calls(database: Database, reached: Spread, changed: Mapping[str, str]) -> list[Unjudged]:
    """Add the statements that call a routine which breaks or changes, and those that fire its triggers; return what stays open.

    `changed`: routines that the question drops or replaces, or whose row it changes, with the severity.
    """
    waiting = dict(changed)
    done: dict[str, str] = {}
    async with database.snapshot() as connection:
        made = await search.with_sql(connection, reached.jobs, "language")
        seen: set[uuid.UUID] = set()
        while (made - seen or waiting) and len(done) < _MOST_ROUTINES:
            for job, text in (await _texts(connection, made - seen)).items():
                for name in routines.routine_names(text):
                    waiting.setdefault(name, reached.jobs[job].severity)
            seen |= made
            waiting = {
                name: severity
                for name, severity in waiting.items()
                if name not in done and severity in {BREAKS, CHANGES}
            }
            done |= waiting
            callers = await _texts(
                connection, await search.of_sql(connection, [name.rpartition(".")[2] for name in waiting], _MOST)
            )
            for name, severity in waiting.items():
                for job, text in callers.items():
                    if not routines.calls(text, name):
                        continue
                    fired = [one for one in routines.triggers(text) if routines.same_name(one.function, name)]
                    await _fire(database, connection, reached, fired, severity)
                    if name not in routines.routine_names(text) and (not fired or routines.routine_names(text)):
                        _note(reached, job, Verdict(severity, f"it calls {name}", ("*",), certain=False))
                        made |= {job} if routines.routine_names(text) else set()
            waiting = {}
    return [
        Unjudged(name, "statements that call this routine, or fire a trigger of it, and that the log has without a table are not known")
        for name in done
        if name not in changed
    ]  # fmt: skip


async def _fire(
    database: Database, connection: Connection, reached: Spread, fired: Iterable[routines.Trigger], severity: str
) -> None:
    for trigger in fired:
        resolution = await find.resolve(database, trigger.table, "dataset", suggest=False)
        if resolution.match is None:
            continue
        table = (await find.node_row(connection, resolution.match.id)).id
        writers = {edge.job for edge in await edge_store.at_datasets(connection, [table], "out", _NOW)}
        writers |= await _writers_by_views(connection, [table])
        for job, text in (await _texts(connection, writers)).items():
            if routines.fires(trigger, text) and not routines.routine_names(text):
                _note(
                    reached,
                    job,
                    Verdict(severity, f"it fires {trigger.name}, which runs {trigger.function}", ("*",), certain=False),
                )


async def follow_views(connection: Connection, reached: Spread, edits: Mapping[uuid.UUID, Iterable[Edit]]) -> None:
    """Add the statements that write a table by way of a view of it, where a rule of the table may refuse what they write."""
    rules = {
        id_: [edit for edit in some if edit.action == "rule" and edit.to in _REFUSING] for id_, some in edits.items()
    }
    for id_, some in rules.items():
        if not some:
            continue
        for job, text in (await _texts(connection, await _writers_by_views(connection, [id_]))).items():
            if not routines.routine_names(text):
                reason = f"it writes the table by way of a view ({some[0].to})"
                _note(reached, job, Verdict(BREAKS, reason, ("*",), certain=False))


async def _writers_by_views(connection: Connection, tables: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Return the jobs that write views over these tables, at any depth, without those that make the views."""
    waiting, views, makers = set(tables), set[uuid.UUID](), set[uuid.UUID]()
    while waiting:
        readers = {edge.job for edge in await edge_store.at_datasets(connection, waiting, "in", _NOW)} - makers
        made = {job for job, text in (await _texts(connection, readers)).items() if routines.makes_view(text)}
        makers |= made
        waiting = {edge.dataset for edge in await edge_store.at_jobs(connection, made, "out", _NOW)} - views
        views |= waiting
    return {edge.job for edge in await edge_store.at_datasets(connection, views, "out", _NOW)} - makers


def _note(reached: Spread, job: uuid.UUID, verdict: Verdict) -> None:
    old = reached.jobs.get(job)
    if old is None or ORDER.index(verdict.severity) > ORDER.index(old.severity):
        reached.jobs[job] = verdict.worst(old or Verdict())


async def _texts(connection: Connection, jobs: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    bodies = await facet_store.of_owners(connection, set(jobs), ("sql",))
    return {job: inferred.decode_sql(facets["sql"])[0] for job, facets in bodies.items()}
