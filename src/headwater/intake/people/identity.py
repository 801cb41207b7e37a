"""Keep new rules about dataset names.

They hold for what arrives from now on; what was recorded before follows when the log is replayed (`headwater rebuild`), never by itself: a
rebuild takes as long as the log is long, and whoever changes rules may want to change them again first.
"""

import msgspec

from headwater.intake.people.audit import Change
from headwater.model.identity import Identity, Rule, checked
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.lineage import names
from headwater.store.people import audit

_PAGE = 2000
NEXT = "what arrives from now on follows these rules; `headwater rebuild` applies them to what was recorded before"


class Kept(msgspec.Struct, frozen=True):
    """The rules as they are kept. Of `names` known datasets a rebuild gives `moving` another name.

    `at_least`: more may move: what the rules before had joined is one name here, and these rules may part it.
    """

    rules: tuple[Rule, ...]
    names: int
    moving: int
    at_least: bool
    dry_run: bool
    next: str


async def keep(database: Database, rules: tuple[Rule, ...], *, by: Change, dry_run: bool = False) -> Kept:
    """Keep the rules instead of those there were; `by` is written in the same transaction. With `dry_run` nothing is changed.

    Raises InvalidQuestion naming a rule that makes no sense.
    """
    kept = checked(rules)
    async with database.snapshot() as connection:
        before = (await server_state.read(connection)).rules
        total, moving = await _moving(connection, Identity(kept))
    parting = any(rule not in kept for rule in before) or any(r.kind == "keep" and r not in before for r in kept)
    if not dry_run:
        async with database.transaction() as connection:
            await server_state.set_rules(connection, kept)
            await audit.append(connection, by)
    return Kept(kept, total, moving, parting, dry_run, "nothing was changed" if dry_run else NEXT)


async def _moving(connection: Connection, identity: Identity) -> tuple[int, int]:
    """How many dataset names there are, and how many of them would be others."""
    total = moving = 0
    async for page in names.pages(connection, _PAGE):
        total += len(page)
        moving += sum(identity.place(name).name != name for name in page)
    return total, moving
