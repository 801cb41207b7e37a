"""Selections of datasets and jobs.

`tag:pii`, `owner:ana`, `team:web`, `product:funnel`, `namespace:prod*`, `+orders` (upstream), `orders+` (downstream), a name.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from headwater.entities.declaration.document import Place
from headwater.entities.declaration.fields import Fields
from headwater.model.patterns import MOST_STARS, Pattern
from headwater.model.tags import PRODUCT

_KEYED: Final = ("tag", "owner", "team", "product", "namespace", "job", "dataset")


class Selector(msgspec.Struct, frozen=True):
    """`kind`: tag, owner, team, product, namespace, job, dataset, name, upstream or downstream
    (of the names in `pattern`, which are selected too)."""

    kind: str
    text: str
    pattern: Pattern

    def __str__(self) -> str:
        if self.kind in {"upstream", "downstream"}:
            return f"+{self.text}" if self.kind == "upstream" else f"{self.text}+"
        return self.text if self.kind == "name" else f"{self.kind}:{self.text}"


class Traits(msgspec.Struct, frozen=True):
    """The properties that selectors compare. `id`: a node id. `tags`: `key` or `key:value`. `around`: the selectors of a direction that reach it."""

    id: str
    namespace: str = ""
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    around: frozenset[str] = frozenset()


def read_selector(text: str, place: Place, what: str, fields: Fields) -> Selector | None:
    """Read one selector; a mistake is noted."""
    kind, colon, value = text.partition(":")
    if colon and kind in _KEYED and not value.strip():
        fields.note(place, f"{what} has {text!r} with nothing after the colon; write such as {kind}:NAME")
        return None
    if text.count("*") > MOST_STARS:
        fields.note(place, f"{what} has a pattern with more than {MOST_STARS} `*`; write it shorter")
        return None
    if colon and kind in _KEYED:
        return Selector(kind, value.strip(), Pattern(value.strip()))
    for direction, name in (("upstream", text.removeprefix("+")), ("downstream", text.removesuffix("+"))):
        if name != text:
            if not name or "+" in name:
                fields.note(place, f"{what} has {text!r}; write +NAME for what is upstream, or NAME+ for downstream")
                return None
            return Selector(direction, name, Pattern(name))
    return Selector("name", text, Pattern(text))


def selects(selectors: Iterable[Selector], one: Traits) -> bool:
    """Return whether any of the selectors selects it."""
    return any(_selects(each, one) for each in selectors)


def _selects(selector: Selector, one: Traits) -> bool:
    kind, _, name = one.id.partition(":")
    asked, pattern = selector.text.casefold(), selector.pattern
    found = {
        "tag": lambda: any(asked in {tag.casefold(), tag.casefold().partition(":")[0]} for tag in one.tags),
        "owner": lambda: any(pattern.matches(owner) for owner in one.owners),
        "team": lambda: any(team.casefold() == asked for team in one.teams),
        "product": lambda: f"{PRODUCT}:{asked}" in {tag.casefold() for tag in one.tags},
        "namespace": lambda: pattern.matches(one.namespace),
        "upstream": lambda: str(selector) in one.around,
        "downstream": lambda: str(selector) in one.around,
        "name": lambda: pattern.matches(name),
    }
    return found.get(selector.kind, lambda: kind == selector.kind and pattern.matches(name))()
