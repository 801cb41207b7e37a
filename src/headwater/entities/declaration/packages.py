"""Declarations completed by what packages say that they make: `produced_by` is derived, and a statement that
contradicts is a warning.

A declaration needs `produced_by` only if something other than the package runs it, such as a DAG.
"""

from collections.abc import Iterable, Sequence

import msgspec

from headwater.entities.declaration.document import Problem
from headwater.entities.declaration.entity import EntityDeclaration, Producer

SCHEME = "package:"


class PackageStatement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`producer`: `package:NAME`, the name of its folder. `file`: its dk.yaml, as warnings quote it."""

    producer: str
    file: str
    entities: list[str]
    max_periods: int = 1


def with_packages(
    declared: Sequence[EntityDeclaration], packages: Iterable[PackageStatement]
) -> tuple[list[EntityDeclaration], list[Problem]]:
    """The declarations, each without a producer with the packages that make it; and what contradicts a package."""
    makers: dict[str, list[PackageStatement]] = {}
    for package in packages:
        for entity in package.entities:
            makers.setdefault(entity, []).append(package)
    found: list[EntityDeclaration] = []
    problems: list[Problem] = []
    for one in declared:
        mine = makers.get(one.name, [])
        if one.produced_by:
            problems += _contradicted(one, mine)
        found.append(one if one.produced_by else one._replace(produced_by=tuple(map(_producer, mine))))
    return found, problems


def _producer(package: PackageStatement) -> Producer:
    """Return the producer as a declaration would name it: one period in a run is the default, and is left out."""
    return Producer(package.producer, max_periods=package.max_periods if package.max_periods > 1 else None)


def _contradicted(one: EntityDeclaration, makers: Sequence[PackageStatement]) -> Iterable[Problem]:
    named = [each.job for each in one.produced_by if each.job.startswith(SCHEME)]
    if not named or {each.producer for each in makers} & set(named):
        return
    for each in makers:
        told = f"produced_by is {', '.join(named)}, and {each.file} makes it as {each.producer}"
        yield Problem(
            *one.place("produced_by"), f"entity {one.name!r}: {told}; correct one of them, or leave produced_by out"
        )
