"""Make drafts fit together: leave out, and report, each dependency that would make an instance need itself. Pure.

The links of a cycle with the most evidence stay, then by name: the same drafts lose the same links in any order.
"""

from collections.abc import Iterable, Mapping

from headwater.entities.declaration.canonical import from_document
from headwater.entities.inference.draft import Draft, Need, document
from headwater.entities.needs import cycles
from headwater.entities.needs.graph import Graph
from headwater.errors import InvalidEntities


def fitted(drafts: Iterable[Draft]) -> list[Draft]:
    """The same drafts, by name, without dependencies that make an instance need itself. Declared entities have no draft here."""
    by_name = {draft.name: draft for draft in sorted(drafts, key=lambda each: each.name)}
    names = list(by_name)
    number = {name: place for place, name in enumerate(names)}
    out: list[list[int]] = [[] for _ in names]
    for name, draft in by_name.items():
        for upstream in sorted({need.upstream for need in draft.needs if not need.left_out} & number.keys()):
            out[number[upstream]].append(number[name])
    for component in cycles.components(out):
        if len(component) > 1 or component[0] in out[component[0]]:
            by_name |= _without_cycles({names[each]: by_name[names[each]] for each in component})
    return list(by_name.values())


def _without_cycles(drafts: Mapping[str, Draft]) -> dict[str, Draft]:
    """Fit one component: add its links one by one, skipping those that do not make sense."""
    links = [
        (name, place)
        for name, draft in drafts.items()
        for place, need in enumerate(draft.needs)
        if not need.left_out and need.upstream in drafts
    ]
    links.sort(key=lambda link: (drafts[link[0]].needs[link[1]].confidence is None, link))
    kept: set[tuple[str, int]] = set()
    why: dict[tuple[str, int], str] = {}
    for link in links:
        tried = kept | {link}
        some = [
            draft._replace(needs=tuple(need for place, need in enumerate(draft.needs) if (name, place) in tried))
            for name, draft in drafts.items()
        ]
        try:
            Graph(from_document(document(draft)).entity for draft in some)
        except InvalidEntities as wrong:
            problems = wrong.detail["problems"]
            why[link] = str(problems[0]) if isinstance(problems, list) else wrong.message
        else:
            kept = tried
    return {name: draft._replace(needs=tuple(_marked(name, draft.needs, why))) for name, draft in drafts.items()}


def _marked(name: str, needs: Iterable[Need], why: Mapping[tuple[str, int], str]) -> Iterable[Need]:
    for place, need in enumerate(needs):
        yield need._replace(left_out=why[name, place]) if (name, place) in why else need
