"""The states of an entity and what each needs of others.

| form | means |
|---|---|
| `depends_on: reads` | one, with what the kind needs by default |
| `depends_on: [reads, words]` | several |
| `depends_on: {reads: all_week}` | its dates |
| `depends_on: {reads: {dates: all_week, states: [estimated], …}}` | the long form |
| `depends_on: [{reads: same}, {reads: previous}]` | one entity twice |
| `depends_on: [{entity: reads, dates: all_week, …}]` | the long form in a list |
| `any_of: [{exact: same}, {rough: same}]` in place of an entity | any one of these will do |

Below the entity itself where `completed` is its only state, otherwise below each of its `states`: a mapping by name, or a list as in
`[{entity_state: estimated, depends_on: …}]`, or only the names.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headwater.entities.declaration.document import Part, Place
from headwater.entities.declaration.fields import Fields, describe_part
from headwater.entities.needs.graph import COMPLETED, Dependency, Kind, Minimum
from headwater.entities.time.custom import Custom, spaced
from headwater.entities.time.dates import Dates
from headwater.errors import InvalidDates

_DATES = ("dates", "strict", "within", "as_of", "before_start", "custom")
_WORDS = (*_DATES, "states", "accept_tainted", "optional", "min", "wait", "then", "columns")
_RESERVED = {"missing", "deleted"}
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)\s*%")
NAME = re.compile(r"\w[\w.:@$+-]{0,199}")
"""The form of names of entities and states: they stand in addresses and on command lines."""


class Needed(NamedTuple):
    """A dependency and where it stands. `rows`: where those of its `custom` do, by table and period."""

    dependency: Dependency
    place: Place
    rows: Mapping[tuple[str, ...], Place] = {}


class State(NamedTuple):
    """A state, its place in the text, and its needs, sorted by upstream, then by their fields."""

    name: str
    place: Place
    needs: tuple[Needed, ...] = ()


def states(fields: Fields, said: dict[str, Part], place: Place, kind: Kind) -> list[State]:
    """The states of an entity, in the order declared. `completed` where it declares none."""
    below, declared = said.get("depends_on"), said.get("states")
    if declared is None:
        return [State(COMPLETED, below.place if below else place, _needs(fields, below, COMPLETED, kind))]
    found: dict[str, State] = {}
    for name, at, needs in _named(fields, declared):
        if not NAME.fullmatch(name) or name in _RESERVED:
            kept = "is what an instance is called that has none" if name in _RESERVED else "has characters no name has"
            fields.note(at, f"state {name!r} {kept}; write such as estimated, partial or completed")
        elif name in found:
            fields.note(at, f"state {name!r} is declared twice, here and in line {found[name].place.line}")
        else:
            found[name] = State(name, at, _needs(fields, needs, name, kind))
    if below is not None:
        if set(found) == {COMPLETED} and not found[COMPLETED].needs:
            return [State(COMPLETED, found[COMPLETED].place, _needs(fields, below, COMPLETED, kind))]
        fields.note(
            below.place,
            f"depends_on stands beside states and belongs to none of them; move it below {', '.join(found)}",
        )
    if not found:
        fields.note(declared.place, "states names none; write such as [estimated, completed]")
    return list(found.values())


def _named(fields: Fields, part: Part) -> Iterator[tuple[str, Place, Part | None]]:
    """Name, place and `depends_on` of each state."""
    if isinstance(part.value, dict):
        for name, each in part.value.items():
            inside = {} if each.value is None else fields.mapping(each, f"state {name!r}", ("depends_on",))
            yield name, part.keys.get(name, part.place), inside.get("depends_on")
        return
    for each in fields.items(part):
        if not isinstance(each.value, dict):
            name = fields.text(each, "state") if each.value is not None else ""
            if name:
                yield name, each.place, None
            elif each.value is None:
                fields.note(each.place, "states has an item with nothing in it")
            continue
        inside = fields.mapping(each, "state", ("state", "entity_state", "depends_on"))
        name = fields.text(inside.get("state", inside.get("entity_state")), "state")
        if name:
            yield name, each.place, inside.get("depends_on")
        else:
            fields.note(each.place, "a state in a list needs its name: {state: completed, depends_on: …}")


def _needs(fields: Fields, part: Part | None, state: str, kind: Kind) -> tuple[Needed, ...]:
    found = list(_listed(fields, part, state, kind, "")) if part is not None else []
    return tuple(sorted(found, key=_order))


def _order(needed: Needed) -> tuple[object, ...]:
    one = needed.dependency
    dates, custom = (one.dates.text, one.dates.meaning.custom or ()) if one.dates else ("", ())
    return one.group, one.upstream, dates, custom, one.states, one.columns


def _listed(fields: Fields, part: Part, state: str, kind: Kind, group: str) -> Iterator[Needed]:
    """Read everything below a `depends_on`, or with `group` below an `any_of`."""
    seen = 0
    for each in fields.items(part):
        if isinstance(each.value, list):
            fields.note(each.place, "depends_on has a list in its list; write the names in one list")
            continue
        if not isinstance(each.value, dict):
            name = fields.text(each, "depends_on") if each.value is not None else ""
            if name:
                yield from _read_need(fields, name, Part(None, each.place), each.place, state, kind, group)
            elif each.value is None:
                fields.note(each.place, "depends_on has an item with nothing in it")
            continue
        if (named := _named_item(fields, each)) is not None:
            name, rest = named
            yield from _read_need(fields, name, rest, each.place, state, kind, group)
            continue
        if group and len(each.value) != 1:
            fields.note(
                each.place, "an item of any_of names one entity; that several are needed together cannot be said"
            )
            continue
        for name, what in each.value.items():
            at = each.keys.get(name, each.place)
            if name != "any_of":
                yield from _read_need(fields, name, what, at, state, kind, group)
            elif group:
                fields.note(at, "any_of within any_of is one any_of; write it so")
            else:
                seen += 1
                choices = list(_listed(fields, _choices(what, at), state, kind, f"any_of {seen}"))
                if len(choices) < 2:
                    fields.note(at, "any_of needs two or more to choose from")
                yield from choices


def _named_item(fields: Fields, item: Part) -> tuple[str, Part] | None:
    """The name and the rest of `{entity: reads, dates: all_week}`; None for another form."""
    said = item.value
    if not isinstance(said, dict) or "entity" not in said or not said.keys() <= {"entity", *_WORDS}:
        return None
    rest = {word: part for word, part in said.items() if word != "entity"}
    name = fields.text(said["entity"], "depends_on, entity")
    return name, Part(rest or None, item.place, {word: item.keys.get(word, item.place) for word in rest})


def _choices(part: Part, place: Place) -> Part:
    """Return the choices of an `any_of`: a mapping is a list of its entries."""
    if not isinstance(part.value, dict):
        return part
    return Part([Part({name: what}, place, part.keys) for name, what in part.value.items()], place)


def _read_need(
    fields: Fields, name: str, part: Part, place: Place, state: str, kind: Kind, group: str
) -> Iterator[Needed]:
    what = f"state {state!r}, {name!r}"
    if part.value is None or isinstance(part.value, str):
        dates = _dates(fields, {"dates": part} if part.value is not None else {}, part.place, what, kind)
        yield Needed(Dependency(name, dates, group=group), place)
        return
    said = fields.mapping(part, what, _WORDS)
    if "states" in said and said["states"].value == []:
        fields.note(
            said["states"].place, f"{what}: states is empty, but at least one is required; omit it for completed"
        )
    then = fields.text(said.get("then"), f"{what}, then")
    if then and "wait" not in said:
        fields.note(said["then"].place, f"{what}: then goes with wait: from when on does it hold?")
    yield Needed(
        Dependency(
            name,
            _dates(fields, {word: said[word] for word in _DATES if word in said}, part.place, what, kind),
            tuple(sorted(fields.texts(said.get("states"), f"{what}, states"))) or (COMPLETED,),
            fields.flag(said.get("accept_tainted"), f"{what}, accept_tainted"),
            fields.flag(said.get("optional"), f"{what}, optional"),
            _minimum(fields, said.get("min"), f"{what}, min"),
            fields.seconds(said.get("wait"), f"{what}, wait"),
            then or "fail",
            tuple(sorted(fields.texts(said.get("columns"), f"{what}, columns"))),
            group,
        ),
        place,
        _rows(said["custom"]) if "custom" in said else {},
    )


def _rows(part: Part) -> dict[tuple[str, ...], Place]:
    """Return the place of each table, and of each row by its table and the row's text."""
    found: dict[tuple[str, ...], Place] = {}
    for word, table in part.value.items() if isinstance(part.value, dict) else ():
        if word in part.keys:  # a part from JSON has no place
            found[word,] = part.keys[word]
        for key, place in table.keys.items():
            found.setdefault((word, spaced(key)), place)
    return found


def _dates(fields: Fields, said: dict[str, Part], place: Place, what: str, kind: Kind) -> Dates | None:
    """The `dates` of a need; None if it declares none. Equal meanings get one text: lower case, single spaces, `within` included."""
    if not said:
        return None
    words: dict[str, object] = {
        word: fields.text(part, f"{what}, {word}") for word, part in said.items() if word != "custom"
    }
    if not all(words.values()):
        return None
    words.setdefault("dates", kind.default_dates)
    try:
        if "custom" in said:
            words["custom"] = Custom.of(_plain(said["custom"]))
            return _parse_dates(words)  # too large to be remembered
        return _read(tuple(words.items()))
    except InvalidDates as wrong:
        field, row = str(wrong.detail.get("field", "dates")), wrong.detail.get("row")
        at = said[field].place if field in said else place
        if isinstance(row, list):
            rows = _rows(said["custom"])
            at = rows.get(tuple(row), rows.get(tuple(row[:1]), at))
        fields.note(at, f"{what}: {wrong.message}")
        return None


def _plain(part: Part) -> object:
    """Return the part as written, without its places."""
    if isinstance(part.value, dict):
        return {word: _plain(each) for word, each in part.value.items()}
    return [_plain(each) for each in part.value] if isinstance(part.value, list) else part.value


@functools.lru_cache(maxsize=4096)
def _read(words: tuple[tuple[str, object], ...]) -> Dates:
    """Parse dates once: large declarations repeat the same ones."""
    return _parse_dates(dict(words))


def _parse_dates(said: Mapping[str, object]) -> Dates:
    text = " ".join(str(said["dates"]).lower().split())
    if "within" in said:
        text += f" within {' '.join(str(said['within']).lower().split())}"
    return Dates.of(said)._replace(text=text)


def _minimum(fields: Fields, part: Part | None, what: str) -> Minimum | None:
    """Read `20`, `95%` or `-1`. `100%` is None: it is the default."""
    if part is None:
        return None
    text = part.value.strip() if isinstance(part.value, str) else ""
    if share := _SHARE.fullmatch(text):
        if 0 < float(share[1]) <= 100:
            return None if float(share[1]) == 100 else Minimum(share=round(float(share[1]) / 100, 8))
    elif re.fullmatch(r"-?[1-9]\d{0,6}", text):
        return Minimum(lacking=-int(text)) if text[0] == "-" else Minimum(number=int(text))
    fields.note(
        part.place, f"{what} is {describe_part(part)}; write how many (20), a share (95%), or all but so many (-1)"
    )
    return None
