"""Selections of datasets and jobs.

`tag:pii`, `owner:ana`, `team:web`, `product:funnel`, `namespace:prod*`, `+orders` (upstream), `orders+` (downstream), a name.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from headwater.entities.declaration.document import Place
from headwater.entities.declaration.fields import Fields
from headwater.model.patterns import MOST_STARS, Pattern
from headwater.model.tags import PRODUCT

VIEW: Final = "view"
_KEYED: Final = ("tag", "owner", "team", "product", "namespace", "job", "dataset")


class Selector(msgspec.Struct, frozen=True):
    """`kind`: tag, owner, team, product, namespace, job, dataset, name, upstream or downstream
    (of the names in `pattern`, which are selected too); or view, of what the page at the view's address lists, as `scope` says."""

    kind: str
    text: str
    pattern: Pattern
    scope: "ViewScope | None" = None

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


class ViewScope(msgspec.Struct, frozen=True):
    """The datasets and jobs that a saved view lists: of each field that is not empty, one value must fit. A namespace, platform, tag or owner
    that ends with `*` is a beginning. `around`: of these directions, one must reach it.
    """

    kinds: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    around: tuple[Selector, ...] = ()
    namespaces: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    def has(self, one: Traits) -> bool:
        """Return whether the view lists it."""
        tags = (*one.tags, *(tag.partition(":")[0] for tag in one.tags))
        return (
            (not self.kinds or one.id.partition(":")[0] in self.kinds)
            and (not self.ids or one.id in self.ids)
            and (not self.around or any(str(each) in one.around for each in self.around))
            and _fits(self.namespaces, (one.namespace,))
            and _fits(self.platforms, (one.namespace.partition(":")[0],))
            and _fits(self.tags, tags)
            and _fits(self.owners, one.owners)
        )


def _fits(asked: tuple[str, ...], values: Iterable[str]) -> bool:
    texts = [value.casefold() for value in values]
    return not asked or any(
        text.startswith(each[:-1].casefold()) if each.endswith("*") else text == each.casefold()
        for each in asked
        for text in texts
    )


def directions(selectors: Iterable[Selector]) -> Iterator[Selector]:
    """Return the selectors of a direction, those inside of views too."""
    for one in selectors:
        if one.kind in {"upstream", "downstream"}:
            yield one
        elif one.scope is not None:
            yield from one.scope.around


def read_selector(text: str, place: Place, what: str, fields: Fields) -> Selector | None:
    """Read one selector; a mistake is noted."""
    kind, colon, value = text.partition(":")
    wrong = ""
    if colon and kind in _KEYED and not value.strip():
        wrong = f"{text!r} with nothing after the colon; write such as {kind}:NAME"
    elif colon and kind == VIEW:
        wrong = f"{text!r}, and views are of one person; write the selectors of the view, or `headwater subscribe`"
    elif text.count("*") > MOST_STARS:
        wrong = f"a pattern with more than {MOST_STARS} `*`; write it shorter"
    if wrong:
        fields.note(place, f"{what} has {wrong}")
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
        "view": lambda: selector.scope is not None and selector.scope.has(one),
        "upstream": lambda: str(selector) in one.around,
        "downstream": lambda: str(selector) in one.around,
        "name": lambda: pattern.matches(name),
    }
    return found.get(selector.kind, lambda: kind == selector.kind and pattern.matches(name))()
