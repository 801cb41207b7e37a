"""The rules about dataset names, and what becomes of a name under them."""

from typing import Literal

import msgspec

from headwater.model.identity import Identity, Rule
from headwater.model.names import DatasetName
from headwater.store.database import Database
from headwater.store.events import server_state
from headwater.store.lineage import names, nodes


class Rules(msgspec.Struct, frozen=True):
    """`behind`: what was recorded before the rules changed still goes by the old ones; a rebuild ends that."""

    rules: tuple[Rule, ...]
    behind: bool


class Step(msgspec.Struct, frozen=True):
    """`by`: its spelling was settled, rule number `rule` applied, a `keep` rule forbade to fold it, or `part` was folded out of it."""

    by: Literal["spelling", "rule", "keep", "fold"]
    rule: int | None
    namespace: str
    name: str
    part: dict[str, str]


class Placement(msgspec.Struct, frozen=True):
    """The place of a name under the rules: the dataset `id`, and the `part` of it that the name means.

    `known`: whether any event mentioned that dataset. `stands_for`: the dataset it is shown as, if links say that it is
    another name of one.
    """

    namespace: str
    name: str
    id: str
    part: dict[str, str]
    steps: list[Step]
    known: bool
    stands_for: str | None


async def rules(database: Database) -> Rules:
    async with database.connection() as connection:
        state = await server_state.read(connection)
    return Rules(state.rules, state.identity_behind)


async def place(database: Database, namespace: str, name: str) -> Placement:
    """Return where an event that names a dataset so would put it, and why."""
    async with database.snapshot() as connection:
        placed, steps = Identity((await server_state.read(connection)).rules).explain(DatasetName(namespace, name))
        settled = (await names.canonical(connection, [placed.id])).get(placed.id)
        known = await nodes.by_ids(connection, {placed.id} | ({settled} if settled else set()))
    return Placement(
        namespace,
        name,
        placed.name.node_id,
        dict(placed.part),
        [Step(s.by, s.rule, s.name.namespace, s.name.name, dict(s.part)) for s in steps],
        placed.id in known,
        known[settled].node_id if settled in known else None,
    )
