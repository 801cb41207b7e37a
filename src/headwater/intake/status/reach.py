"""Everything that is wrong because of some instances, runs, versions and contents: by schedules and by recorded reads, where they meet."""

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.columns import ALL, Columns, both
from headwater.entities.status.propagation import Spread
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status import histories
from headwater.intake.status.condemned_code import coded_versions, produced_since
from headwater.intake.status.incident_columns import Restricted, restricted
from headwater.store.database import Connection
from headwater.store.status import histories as histories_store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.wrong_versions import InstanceRange, MadeInstances, Origin


class Search(Protocol):
    """Finds what used runs, versions and contents, by recorded reads (`headwater.answer.status.wrong_versions`)."""

    def begin(self, connection: Connection) -> None:
        """Search in this transaction."""

    async def condemn(self, origins: Sequence[Origin]) -> None:
        """Add what is wrong itself, and everyone that used it."""

    async def condemn_instances(
        self, made: Sequence[tuple[str, InstanceRange]], columns: Mapping[int, Columns]
    ) -> None:
        """Add the versions of datasets that these instances are, and everyone that used them."""

    async def condemn_makers(self, made: Sequence[tuple[str, InstanceRange]], columns: Mapping[int, Columns]) -> None:
        """Add the runs that made these instances from something wrong, and everyone that used what they wrote."""

    async def settle(self) -> None:
        """Add the readers of which no schedule said what they used."""

    async def follow_roots(self, roots: Sequence[tuple[str, InstanceRange]], within: Mapping[int, Ordinals]) -> None:
        """Add the runs that used these instances in a version that was replaced since, among those in `within`."""

    async def follow_instances(self) -> None:
        """Add the runs that used an instance which the runs found so far made, in any version."""

    def run_ids(self) -> set[uuid.UUID]:
        """The ids of the runs found that are wrong as a whole."""

    async def made_instances(self) -> Sequence[MadeInstances]:
        """The instances that the wrong runs made, or that the wrong versions are, in their current versions."""

    def columns_of(self, one: MadeInstances) -> Columns:
        """The wrong columns of wrong instances."""

    def found_versions(self) -> bool:
        """Return whether any wrong version of a dataset was found."""

    async def describe(self) -> None:
        """Look up the names of what was found."""


class Reach(NamedTuple):
    """`roots`: the instances condemned themselves; `gone`: those that do not exist any more; `reached`: all that used them."""

    roots: dict[str, Ordinals]
    gone: Mapping[str, Ordinals]
    reached: Spread
    columns: Restricted | None
    coded: dict[str, list[histories_store.Coded]]


async def reach(
    connection: Connection,
    held: StoredDeclarations,
    wrong: Mapping[str, Columns],
    named: Mapping[str, Ordinals],
    search: Search | None,
) -> Reach:
    """Follow schedules from the instances, recorded reads from the runs, and each from the other until neither finds more. `wrong`: the wrong columns
    by entity; empty if whole instances are.
    """
    asked, of_columns = dict(named), dict(wrong) or dict.fromkeys(named, ALL)
    if search is not None:
        # The schedule says through what an instance is wrong; recorded reads say only that it is. So it is asked of the first ones.
        made = await _load_made(held, search, of_columns)
        _add(asked, {name: some for name, some in made.items() if not _needs_any(held, name, made)})
    while True:
        recorded, gone = await histories.reached(connection, held, asked)
        roots = {name: (some & recorded.there.get(name, NONE)) - gone.get(name, NONE) for name, some in asked.items()}
        coded = await coded_versions(connection, held, roots)
        columns = None
        of_roots = {name: of_columns.get(name, ALL) for name in asked}
        if any(some != ALL for some in of_roots.values()):
            columns = await restricted(connection, held, of_roots, produced_since(roots, coded), checked=wrong)
        # Each step is slow with thousands of entities; a thread leaves the event loop free.
        unaffected = columns.unaffected if columns else frozenset[tuple[str, str]]()
        reached = await asyncio.to_thread(Spread, recorded, roots, {}, unaffected)
        found = Reach(roots, gone, reached, columns, coded)
        if search is None:
            return found
        before = search.run_ids()
        of_entity = {held.number(name): some for name, some in columns.columns.items()} if columns else {}
        used = {name: some - roots.get(name, NONE) for name, some in reached.current.items()}
        await search.condemn_makers(await _makers(connection, held, used), of_entity)
        makers = await _makers(connection, held, roots)
        await search.condemn_instances(makers, of_entity)
        if any(reached.past.values()):
            within = {held.number(name): some for name, some in reached.current.items()}
            for name, some in reached.past.items():
                within[held.number(name)] = within.get(held.number(name), NONE) | some
            await search.follow_roots(makers, within)
            await search.follow_instances()
        await search.settle()
        made = await _load_made(held, search, of_columns)
        new = {name: some - asked.get(name, NONE) - reached.current.get(name, NONE) for name, some in made.items()}
        if search.run_ids() == before and not any(new.values()):
            return found
        _add(asked, new)


async def _load_made(held: StoredDeclarations, search: Search, of_columns: dict[str, Columns]) -> dict[str, Ordinals]:
    """The instances that the wrong runs made, or that the wrong versions are, of entities that are declared. Their wrong columns are added."""
    found: dict[str, Ordinals] = {}
    for one in await search.made_instances():
        if (name := held.names.get(one.some.entity_id)) is not None:
            _add(found, {name: Ordinals.between(one.some.start_, one.some.end_)})
            of_columns[name] = both(of_columns.get(name, frozenset()), search.columns_of(one))
    return found


def _add(to: dict[str, Ordinals], more: Mapping[str, Ordinals]) -> None:
    for name, some in more.items():
        to[name] = to.get(name, NONE) | some


def _needs_any(held: StoredDeclarations, name: str, of: Collection[str]) -> bool:
    """Return whether instances of an entity need those of another one of these."""
    return any(link.upstream in of and link.upstream != name for link in held.graph.upstream(name))


async def _makers(
    connection: Connection, held: StoredDeclarations, sets: Mapping[str, Ordinals]
) -> list[tuple[str, InstanceRange]]:
    windows = [(held.number(name), start, end) for name, some in sets.items() for start, end in some]
    return await origin_store.runs_of_instances(connection, windows)
