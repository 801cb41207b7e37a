"""Tell edits that give other values whatever the data hold from those that do only if the data have a row that shows it.

A value that is edited in a condition (of CASE, FILTER, a comparison), or by what many values pass unchanged (COALESCE, a cast, ROUND), differs only
for rows that meet it. One that is made of other columns or literals differs whatever the data hold, save by chance.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from headwater.columns.shape.writing import WrittenQuery

_HIDING: Final = frozenset(
    "Coalesce Nullif Trim Lower Upper Initcap Round Cast TryCast Abs Distinct Ceil Floor DateTrunc TimestampTrunc Filter Ordered Order Paren".split()
)
"""Parts that many values pass unchanged."""
_ARITHMETIC: Final = frozenset({"Add", "Sub", "Mul", "Div", "Neg", "DPipe", "Concat"})
_AGGREGATES: Final = frozenset({"Sum", "Avg", "Min", "Max", "Count"})
_SETS: Final = frozenset({"Except", "Intersect", "Union"})
_NEUTRAL: Final = {"Add": "0", "Sub": "0", "Mul": "1", "Div": "1"}


_READ, _CONDITIONS = 0, 1
"""Places in what decides about the rows of a SELECT."""
_MADE: Final = 2
"""Parts of that where a CREATE stands before the query."""


def surely_changed(old: WrittenQuery, new: WrittenQuery) -> frozenset[str]:
    """Return the columns that both queries make of the same rows, and with other values unless by chance."""
    if len(old.arms) != len(new.arms):
        return frozenset()
    found: set[str] = set()
    names = [[one.name for one in query.arms[0].columns] for query in (old, new)]
    for before, now in zip(old.arms, new.arms, strict=True):
        if before.rest != now.rest or any(
            len(arm.columns) != len(some) for arm, some in zip((before, now), names, strict=True)
        ):
            return frozenset()
        was, becomes = (
            {name: one.value for name, one in zip(some, arm.columns, strict=True)}
            for some, arm in zip(names, (before, now), strict=True)
        )
        equal = {repr(one) for one in _parts(now.rest) if one[0] == "EQ"}
        found |= {name for name in was.keys() & becomes.keys() if differs(was[name], becomes[name], equal)}
    return frozenset(found)


def surely_other_rows(old: WrittenQuery, new: WrittenQuery, sources: Callable[[str], bool]) -> bool:
    """Return whether a query returns other rows whatever the data hold: those with another literal (`a = 1`), of another source, or of another set
    operation. `sources`: whether a table of this name is made by no text."""
    if len(old.arms) != 1 or len(new.arms) != 1:
        return False
    before, now = old.arms[0], new.arms[0]
    rests = [before.rest, now.rest]
    if len(rests[0]) == len(rests[1]) == _MADE and rests[0][0] == rests[1][0] and rests[0][0][0] == "Create":
        rests = [rests[0][1], rests[1][1]]
    if not before.columns and not now.columns:
        return _is_other_set(*rests)
    if [(one.name, one.value) for one in before.columns] != [(one.name, one.value) for one in now.columns]:
        return False
    places = [place for place, pair in enumerate(zip(*rests, strict=False)) if pair[0] != pair[1]]
    if len(rests[0]) != len(rests[1]) or len(places) != 1 or places[0] not in (_READ, _CONDITIONS):
        return False
    was, becomes = ([one for one in rests[side][places[0]] if one not in rests[1 - side][places[0]]] for side in (0, 1))
    if len(was) != 1 or len(becomes) != 1 or was[0][0] != becomes[0][0]:
        return False
    if places[0] == _CONDITIONS:
        return was[0][0] == "EQ" and _is_other_literal(was[0][1], becomes[0][1])
    tables = [dict(one[0][1]) if one[0][0] == "Table" else {} for one in (was, becomes)]
    names = [one.pop("this", None) for one in tables]
    return (
        all(isinstance(one, str) and sources(one) for one in names)
        and tables[0].get("alias") == tables[1].get("alias")
        and tables[0].get("db") == tables[1].get("db")
    )


def _is_other_set(old: Any, new: Any) -> bool:
    if not ({old[0], new[0]} <= _SETS and isinstance(old[1], tuple) and isinstance(new[1], tuple)):
        return False
    was, becomes = dict(old[1]), dict(new[1])
    sides = [(one.get("this"), one.get("expression")) for one in (was, becomes)]
    return (sides[0] == sides[1] and old[0] != new[0]) or (
        old[0] == new[0] == "Except" and sides[0] == sides[1][::-1] and sides[0][0] != sides[0][1]
    )


def _is_other_literal(old: Any, new: Any) -> bool:
    literals = [[one for one in some if one[0] == "Literal"] for some in (old, new)]
    others = [[one for one in some if one[0] != "Literal"] for some in (old, new)]
    return others[0] == others[1] != [] and len(literals[0]) == len(literals[1]) == 1


def differs(old: Any, new: Any, equal: set[str] = frozenset()) -> bool:  # type: ignore[assignment]
    """Return whether two written values differ whatever the data hold. `equal`: the written equations that hold for each row."""
    old, new = _core(old), _core(new)
    if old == new:
        return False
    if "Case" in (old[0], new[0]) or "If" in (old[0], new[0]):
        return old[0] == new[0] == "Case" and _has_other_branch(old, new, equal)
    if old[0] == new[0]:
        return _same_kind(old, new, equal)
    if {old[0], new[0]} <= _AGGREGATES:
        return True
    if "Literal" in (old[0], new[0]) or "Null" in (old[0], new[0]):
        return True
    if _columns(old) != _columns(new):
        return True
    return any(_is_shifted(one, other) for one, other in ((old, new), (new, old)))


def _same_kind(old: Any, new: Any, equal: set[str]) -> bool:
    kind = old[0]
    if kind == "Literal":
        return True
    if kind == "Column":
        names = [dict(one[1]).get("this") for one in (old, new)]
        return names[0] != names[1] and not any(repr(("EQ", pair)) in equal for pair in ((old, new), (new, old)))
    if kind == "Window":
        return _is_other_window(old, new, equal)
    if kind.startswith("JSON") or kind == "Bracket":
        was, becomes = ([one for one in _parts(some) if one[0] in {"Literal", "JSONPathKey"}] for some in (old, new))
        return was != becomes
    if kind not in _ARITHMETIC | _AGGREGATES:
        return False
    parts = [list(_operands(one)) for one in (old, new)]
    alone = [[one for one in some if one not in others] for some, others in (parts, parts[::-1])]
    if len(alone[0]) == len(alone[1]) == 1:
        return differs(alone[0][0], alone[1][0], equal)
    return bool(alone[0] or alone[1]) and _columns(old) != _columns(new)


def _is_other_window(old: Any, new: Any, equal: set[str]) -> bool:
    """Return whether a function looks at rows in another order or of other groups, or at another value of them."""
    was, becomes = dict(old[1]), dict(new[1])
    if was.get("this") != becomes.get("this"):
        rest = [{key: value for key, value in one.items() if key != "this"} for one in (was, becomes)]
        return rest[0] == rest[1] and differs(was["this"], becomes["this"], equal)
    for key in ("partition_by", "order"):
        lists = [_listed(one.get(key)) for one in (was, becomes)]
        shorter = min(map(len, lists))
        if lists[0][:shorter] != lists[1][:shorter]:
            return True
    return False


def _listed(one: Any) -> tuple[Any, ...]:
    """Return the items of PARTITION BY or ORDER BY."""
    if isinstance(one, tuple) and len(one) == 2 and one[0] == "Order":
        return tuple(dict(one[1]).get("expressions", ()))
    return one if isinstance(one, tuple) else ()


def _has_other_branch(old: Any, new: Any, equal: set[str]) -> bool:
    """Return whether two CASEs of the same conditions give another value in one of their branches."""
    if not (isinstance(old[1], tuple) and len(old) == len(new) == 3 and len(old[1]) == len(new[1])):
        return False
    if [test for test, _ in old[1]] != [test for test, _ in new[1]]:
        return False
    pairs = [*zip((value for _, value in old[1]), (value for _, value in new[1]), strict=True), (old[2], new[2])]
    return any(isinstance(was, tuple) and isinstance(now, tuple) and differs(was, now, equal) for was, now in pairs)


def _core(one: Any) -> Any:
    """Return what a value is made of, below what many values pass unchanged."""
    while one[0] in _HIDING and isinstance(one[1], tuple):
        inner = dict(one[1]).get("this") if all(_is_pair(each) for each in one[1]) else one[1][0]
        if not isinstance(inner, tuple):
            many = dict(one[1]).get("expressions") if all(_is_pair(each) for each in one[1]) else None
            inner = many[0] if many and len(many) == 1 else None
        if not isinstance(inner, tuple) or len(inner) < 2 or not isinstance(inner[0], str):
            return one
        one = inner
    return one


def _is_pair(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and one[0].islower()


def _operands(one: Any) -> Iterator[Any]:
    for each in one[1]:
        value = each[1] if _is_pair(each) else each
        if isinstance(value, tuple) and value and isinstance(value[0], str):
            yield value
        elif isinstance(value, tuple):
            yield from value


def _is_shifted(whole: Any, part: Any) -> bool:
    """Return whether a value is another one, plus or times a literal that does something."""
    if whole[0] not in _NEUTRAL:
        return bool(whole[0] == "Neg")
    operands = [_core(one) for one in _operands(whole)]
    literals = [dict(one[1]).get("this") for one in operands if one[0] == "Literal"]
    return part in operands and any(one != _NEUTRAL[whole[0]] for one in literals)


def _columns(one: Any) -> set[Any]:
    return {each for each in _parts(one) if each[0] == "Column"}


def _parts(one: Any) -> Iterator[Any]:
    if not isinstance(one, tuple):
        return
    if len(one) > 1 and isinstance(one[0], str):
        yield one
    for each in one:
        yield from _parts(each)
