"""Changes of schemas as changes of the tables in them: RENAME, SWAP, DROP … CASCADE and UNDROP of a schema name no table, but each gets another name,
or goes.

The tables in a schema at a time are those that the log shows there before it, and those that it first shows under their new names after it. Knows no
Spark.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

SCHEMA: Final = "schema_"
"""Actions of schemas begin with it; what is behind it is an action of a table, but for `renamed`."""
PART: Final = "part"
"""A query of `other` reads the table, too: it is a partition of it, or inherits from it. It is no change."""
THERE: Final = "there"
"""A statement used the table, so it was there."""
_BEGINS: Final = frozenset({"created", "renamed_from", "undropped"})
_ENDS: Final = frozenset({"dropped", "renamed_to"})

Row = dict[str, Any]
"""A change of an object or a schema: `name`, `action`, `other`, `conditional`, `branch`, and what else there is of it."""


def moves(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the changes of tables that changes of schemas are. `rows`: of one namespace, in their order, with a row of `THERE` for each use."""
    implied = _implied(rows)
    there: set[str] = set()
    doubtful: set[str] = set()
    gone: dict[str, set[str]] = {}
    for place, row in enumerate(rows):
        name, other, action = row["name"], row["other"], row["action"]
        if not action.startswith(SCHEMA):
            _follow(row, there, doubtful)
            continue
        there |= implied.get(place, set())
        doubtful -= there
        for known, is_doubtful in ((there, False), (doubtful, True)):
            inside = {one for one in known if _is_inside(one, name)}
            if action == "schema_undropped":
                back = set() if is_doubtful else gone.get(name, set())
                found, after = [(one, "undropped", "") for one in back], known | back
            elif action == "schema_dropped":
                gone[name] = gone.get(name, set()) if is_doubtful else inside
                found, after = [(one, "dropped", "") for one in inside], known - inside
            else:
                moved = {one: other + one[len(name) :] for one in inside}
                if action == "schema_swapped":
                    moved |= {one: name + one[len(other) :] for one in known if _is_inside(one, other)}
                found = list(_renamings(moved))
                after = (known - moved.keys()) | set(moved.values())
            for one, what, with_ in sorted(found):
                yield {
                    **row,
                    "name": one,
                    "action": what,
                    "other": with_ or None,
                    "branch": row["branch"] or is_doubtful or None,
                }
            if not row["branch"]:
                known.intersection_update(after)
                known.update(after)


def _follow(row: Row, there: set[str], doubtful: set[str]) -> None:
    """Note what a change of one table says of its being there."""
    name, action = row["name"], row["action"]
    if row["branch"]:
        if action in _ENDS or (action in _BEGINS and name not in there):
            there.discard(name)
            doubtful.add(name)
        return
    if action in _BEGINS or action in {"swapped", THERE}:
        there.add(name)
        doubtful.discard(name)
    elif action in _ENDS:
        there.discard(name)
        doubtful.discard(name)


def _is_inside(name: str, schema: str) -> bool:
    return name.startswith(schema + ".")


def _renamings(moved: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """The changes of names, of both ends; two tables that take each other's name are swapped."""
    for old, new in moved.items():
        if moved.get(new) == old:
            yield old, "swapped", new
        else:
            yield old, "renamed_to", new
            yield new, "renamed_from", old


def _implied(rows: Sequence[Row]) -> dict[int, set[str]]:
    """By the place of a change of a schema: the tables that were in it, because they are used after it and not made in between."""
    needed: set[str] = set()
    found: dict[int, set[str]] = {}
    for place in range(len(rows) - 1, -1, -1):
        row = rows[place]
        name, other, action = row["name"], row["other"], row["action"]
        if action in _BEGINS:
            needed.discard(name)
        elif action.startswith(SCHEMA) and not row["branch"]:
            moved = {one for one in needed if other is not None and _is_inside(one, other)}
            own = {one for one in needed if _is_inside(one, name)}
            before = {name + one[len(other) :] for one in moved}
            if action == "schema_swapped":
                before |= {other + one[len(name) :] for one in own}
            needed = (needed - moved - own) | before
            found[place] = before
        elif action == THERE or not (row["conditional"] or row["branch"]):
            needed.add(name)
    return found
