"""Changes that a question asks about, as data: from SQL (`statements`), or from `drop`, `rename` and `retype`. Pure."""

from typing import Literal

import msgspec

from headwater.errors import InvalidQuestion

Action = Literal[
    "drop_table", "rename_table", "swap_table", "drop_column", "rename_column", "retype_column", "add_column", "rule", "unknown", "values"
]  # fmt: skip


Replaced = Literal["", "kept", "gone", "own"]


class TableChange(msgspec.Struct, frozen=True):
    """A change of a table, named as the question names it. `column`: "" if it is about the table. `to`: the new name or type; of a `rule`, the words
    that change it. `replaced`: another table has the name afterwards, and the old one goes on under another name (`kept`) or is dropped (`gone`);
    `own`: a change of the old one that goes on.
    """

    action: Action
    table: str
    column: str = ""
    to: str = ""
    replaced: Replaced = ""


class Unjudged(msgspec.Struct, frozen=True):
    """A statement of the question, or an object that breaks, whose effects are not known, and why."""

    text: str
    reason: str


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """Exactly one of: `sql` (with its `dialect`), `drop` (`t` or `t.c`), `rename` (`t.c:d`, or `t:u`), `retype` (`t.c:bigint`)."""

    sql: str | None = None
    dialect: str = ""
    drop: str | None = None
    rename: str | None = None
    retype: str | None = None


def split_target(text: str, what: str) -> tuple[str, str]:
    """Split `t.c:d` at its last colon. Raises InvalidQuestion without one."""
    name, colon, to = text.rpartition(":")
    if not colon or not name or not to.strip():
        raise InvalidQuestion(f"{what} {text!r} names no new one: write {what} t.c:d", parameter=what)
    return name, to.strip()
