"""The people to tell of what is wrong by recorded reads: the owners and teams of each dataset that holds a wrong version, and the way to it."""

import uuid
from collections.abc import Iterable, Mapping

import msgspec

from headwater.answer.lineage.catalog import Contacts
from headwater.answer.lineage.walk import Place
from headwater.answer.status.wrong_columns import Reason, Spread
from headwater.store.lineage.runs import RunKey


class HitDataset(msgspec.Struct, frozen=True):
    """A dataset that holds a wrong version. `path`: the jobs and datasets from what was condemned to it, the nearest version's."""

    dataset: str
    owners: list[str]
    teams: list[str]
    path: list[str]


def hit_datasets(
    found: Spread, held: Iterable[Place], contacts: Mapping[uuid.UUID, Contacts], names: Mapping[uuid.UUID, str]
) -> list[HitDataset]:
    """Return the datasets of these places of which an owner or a team is known, each once, the nearest first. `names`: the ids in answers."""
    nearest: dict[uuid.UUID, Place] = {}
    of_contacts = [place for place in held if place.dataset in contacts]
    for place in sorted(of_contacts, key=lambda each: (found.places[each].depth, names[each.dataset])):
        nearest.setdefault(place.dataset, place)
    return [
        HitDataset(
            names[id_],
            contacts[id_].owners,
            contacts[id_].teams,
            [names[each.dataset if isinstance(each, Place) else each.job] for each in _path(found, place)],
        )
        for id_, place in nearest.items()
    ]


def _path(found: Spread, place: Place) -> list[Place | RunKey]:
    """The steps that led to a place, from the origin on."""
    path: list[Place | RunKey] = [place]
    seen: set[Place | RunKey] = {place}
    while (because := _reason(found, path[-1]).because) is not None and because not in seen:
        path.append(because)
        seen.add(because)
    return path[::-1]


def _reason(found: Spread, at: Place | RunKey) -> Reason:
    none = Reason(None, 0, "exact")
    return found.places.get(at, none) if isinstance(at, Place) else found.runs.get(at, none)
