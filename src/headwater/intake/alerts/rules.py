"""Apply rules of alerts, with an audit row in the same transaction. A version is added, never changed."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.entities.alerts.rules import RuleFile, RuleSet, read_rules
from headwater.intake.people.audit import Change
from headwater.store.alerts import applied_rules as store
from headwater.store.database import Database
from headwater.store.people import audit as audit_store


class AppliedRules(msgspec.Struct, frozen=True):
    """`changed`: False if the version before has the same texts, and stays. `unmatched`: selectors that select nothing now, with their rules."""

    version: int
    applied_at: dt.datetime
    rules: int
    slas: int
    changed: bool
    unmatched: list[str] = []


async def apply_rules(database: Database, files: Sequence[RuleFile], *, by: Change) -> AppliedRules:
    """Replace the rules that hold by those of these files; without a file no rule holds. Raises InvalidRules, and changes nothing."""
    found = read_rules(files) if files else RuleSet()
    counts = len(found.rules), len(found.slas)
    text = msgspec.json.encode(files).decode()
    async with database.transaction() as connection:
        await store.lock(connection)
        held = await store.versions(connection, "rules", 1)
        if held and msgspec.json.decode(held[0].files) == msgspec.json.decode(text):
            return AppliedRules(held[0].version, held[0].applied_at, *counts, False)
        version, at = await store.apply(connection, "rules", text, by.actor)
        await audit_store.append(connection, by)
    return AppliedRules(version, at, *counts, True)
