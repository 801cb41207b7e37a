"""Parts of the one list of incidents: the cause of each, who is hit, and whom to tell."""

import datetime as dt

import msgspec

from headwater.answer.status.incidents import OneIncident

_NAMED = 10
"""So many stretches of instances are named."""


class Cause(msgspec.Struct, frozen=True):
    """The first of it, furthest upstream. `kind`: run, version, dataset, content or instances; `id`: of it."""

    kind: str
    id: str
    label: str


class HitObject(msgspec.Struct, frozen=True):
    """A dataset, job or some instances of an entity that are wrong, late, doubted or fail because of an entry. `owners`: whom to tell."""

    kind: str
    id: str
    label: str
    since: dt.datetime | None
    owners: list[str]


def label_instances(entity: str, instances: list[str]) -> str:
    """Name some instances of an entity, the first ones by name."""
    more = f" and {len(instances) - _NAMED:,} more" if len(instances) > _NAMED else ""
    return f"{entity}@{','.join(instances[:_NAMED])}{more}"


def cause_of(one: OneIncident) -> Cause:
    """Return the first subject that the incident was opened about."""
    for origin in one.origins:
        if one.reads is not None and origin.kind == "RUN":
            job = next((run.label for run in one.reads.runs if run.run_id == origin.ref), origin.ref)
            return Cause("run", origin.ref, job)
        if one.reads is not None and origin.kind == "VERSION":
            dataset = next((each.label for each in one.reads.versions if each.version_id == origin.ref), origin.ref)
            return Cause("version", origin.ref, dataset)
        return Cause(origin.kind.lower(), origin.ref, origin.ref)
    entity, some = next(iter(one.roots.items()), ("", []))
    return Cause("instances", f"instances:{entity}", label_instances(entity, some))


def hit_by(one: OneIncident) -> list[HitObject]:
    """The datasets that hold a wrong version, and the wrong instances, but for what the incident is about itself."""
    opened, found = one.incident.opened_at, []
    for each in one.entities:
        if some := each.inherited:
            label = label_instances(each.entity, some)
            found.append(HitObject("wrong", f"instances:{each.entity}", label, opened, each.owners))
    if one.reads is not None:
        datasets = {each.dataset: each for each in reversed(one.reads.versions) if each.current and each.depth > 1}
        found += [
            HitObject("wrong", id_, each.label, opened, one.reads.owners.get(id_, [])) for id_, each in datasets.items()
        ]
    return sorted(found, key=lambda each: each.id)


def owners_of_cause(one: OneIncident) -> list[str]:
    """The owners of what the incident is about itself."""
    found = {owner for each in one.entities if each.tainted for owner in each.owners}
    if one.reads is not None:
        near = {each.dataset for each in one.reads.versions if each.depth <= 1}
        found |= {owner for dataset in near for owner in one.reads.owners.get(dataset, ())}
    return sorted(found)
