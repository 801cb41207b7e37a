"""Store new identity rules.

They apply to events that arrive from now on. `headwater server rebuild` applies them to the log; this never happens automatically, because a rebuild
of a long log takes long, and you may want to change the rules again first.
"""

import msgspec

from headwater.intake.people.audit import Change
from headwater.model.identity import Identity, Rule, checked
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.lineage import names
from headwater.store.people import audit

_PAGE = 2000
NEXT = (
    "events that arrive from now on follow these rules; run `headwater server rebuild` to apply them to earlier events"
)


class StoredRules(msgspec.Struct, frozen=True):
    """The rules as they are stored. A rebuild renames `moving` of the `names` datasets.

    `at_least`: it may rename more, because datasets that the old rules merged count once and the new rules may separate them.
    """

    rules: tuple[Rule, ...]
    names: int
    moving: int
    at_least: bool
    dry_run: bool
    next: str


async def store_rules(database: Database, rules: tuple[Rule, ...], *, by: Change, dry_run: bool = False) -> StoredRules:
    """Replace the stored rules; the audit row `by` is written in the same transaction. With `dry_run`, nothing is changed.

    Raises InvalidQuestion that names the invalid rule.
    """
    new = checked(rules)
    async with database.snapshot() as connection:
        before = (await server_state.read(connection)).rules
        total, moving = await _moving(connection, Identity(new))
    parting = any(rule not in new for rule in before) or any(r.kind == "keep" and r not in before for r in new)
    if not dry_run:
        async with database.transaction() as connection:
            await server_state.set_rules(connection, new)
            await audit.append(connection, by)
    return StoredRules(new, total, moving, parting, dry_run, "nothing was changed" if dry_run else NEXT)


async def _moving(connection: Connection, identity: Identity) -> tuple[int, int]:
    """The number of dataset names, and how many of them the rules would change."""
    total = moving = 0
    async for page in names.pages(connection, _PAGE):
        total += len(page)
        moving += sum(identity.place(name).name != name for name in page)
    return total, moving
