"""The changes from one declaration to another, entity by entity: what a person who reviews them must know, not which lines differ."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from headwater.entities.declaration.canonical import Json, document
from headwater.entities.declaration.entity import EntityDeclaration


class Change(NamedTuple):
    """`path` says which part was changed: `period.from`, `states.completed.reads.dates`. `old` and `new` are JSON, None if there is nothing."""

    what: Literal["added", "removed", "renamed", "changed"]
    entity: str
    path: str = ""
    old: object = None
    new: object = None


def difference(old: Iterable[EntityDeclaration], new: Iterable[EntityDeclaration]) -> list[Change]:
    """Return the changes, sorted by the present name of the entity; none if both mean the same: order, spelling and place are no change."""
    before = {each.name: document(each) for each in old}
    after = {each.name: document(each) for each in new}
    renamed = {
        str(said["renamed_from"]): name
        for name, said in after.items()
        if said.get("renamed_from") in before and name not in before and said["renamed_from"] not in after
    }
    was = {renamed.get(name, name): name for name in before}
    found: list[Change] = []
    for name in sorted({*was, *after}):
        if name not in after:
            found.append(Change("removed", name, old=before[name]))
        elif name not in was:
            found.append(Change("added", name, new=after[name]))
        else:
            if was[name] != name:
                found.append(Change("renamed", name, "entity", was[name], name))
            found += _changed(
                name, "", _with_named_lists(before[was[name]], renamed), _with_named_lists(after[name], {})
            )
    return found


_ORDER = "order of states"


def _changed(name: str, path: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Change]:
    for word in sorted({*old, *new}):
        was, now = old.get(word), new.get(word)
        if was == now:
            continue
        if word == _ORDER and isinstance(was, list) and isinstance(now, list) and set(was) != set(now):
            # Added and removed states are reported with their needs.
            continue
        here = f"{path}.{word}" if path else word
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from _changed(name, here, was, now)
        else:
            yield Change("changed", name, here, was, now)


def _with_named_lists(said: Json, renamed: Mapping[str, str]) -> Json:
    """The document with lists that have names made into mappings by them. `renamed` gives the former name."""
    found = {word: value for word, value in said.items() if word not in {"entity", "renamed_from", "states"}}
    states = said["states"]
    if not isinstance(states, list):
        return found
    found["states"] = {state["state"]: _by_upstream(state.get("depends_on", []), renamed) for state in states}
    found[_ORDER] = [state["state"] for state in states]
    return found


def _by_upstream(needs: list[Mapping[str, object]], renamed: Mapping[str, str]) -> Json:
    """Return the needs by upstream: `reads`, of the second one `reads (2)`; groups are `any_of 1`, `any_of 2`."""
    found: Json = {}
    groups = 0
    for need in needs:
        [(name, what)] = need.items()
        if name == "any_of" and isinstance(what, list):
            groups += 1
            found[f"any_of {groups}"] = _by_upstream(what, renamed)
            continue
        called = renamed.get(name, name)
        if isinstance(what, Mapping) and what.get("then") in renamed:
            what = {**what, "then": renamed[str(what["then"])]}
        times = sum(each == called or each.startswith(f"{called} (") for each in found)
        found[f"{called} ({times + 1})" if times else called] = what
    return found
