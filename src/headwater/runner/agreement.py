"""Compare what packages say that they make with what is declared on the server, before anything runs.

A dk.yaml is the truth about its program: which entities it makes (`entity`, `entities`) and how many periods in one run (`max_periods`). The
server's declarations of the package (`produced_by`) must fit. Changes neither.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from headwater.client.ask import ask
from headwater.errors import InvalidManifest, NotFound
from headwater.runner.document import Problem
from headwater.runner.entities import PackageEntities, package_entities

_MOST = 1000


class Difference(msgspec.Struct, frozen=True):
    """A statement of a dk.yaml, or its lack, that the declarations contradict. `blocking`: items of a plan would fail because of it."""

    file: str
    field: str
    text: str
    blocking: bool

    def __str__(self) -> str:
        return f"{self.file}: {self.field}: {self.text}"


class _Producer(msgspec.Struct):
    job: str
    max_periods: int | None = None


class _Entity(msgspec.Struct):
    entity: str
    produced_by: list[_Producer] = []


class _Entities(msgspec.Struct):
    entities: list[_Entity]


class _OneEntity(msgspec.Struct):
    entity: _Entity


def differences(files: Mapping[str, Path], url: str, api_key: str | None = None) -> list[Difference]:
    """Compare packages, by producer (`package:NAME`) and its dk.yaml, with the declarations of the server at `url`."""
    found: list[Difference] = []
    for producer, file in files.items():
        reply = ask(url, "/api/v2/entities", {"produced_by": producer, "limit": _MOST}, api_key)
        declared = msgspec.json.decode(reply, type=_Entities).entities
        try:
            made = package_entities(file)
        except InvalidManifest as error:
            if declared:
                problems = msgspec.convert(error.detail["problems"], list[Problem])
                found += [Difference(str(file), each.field, each.message, True) for each in problems]
            continue
        found += _of_declared(file, producer, made, declared)
        names = {each.entity for each in declared}
        found += _of_package(file, producer, (name for name in made.entities if name not in names), url, api_key)
    return found


def _of_declared(file: Path, producer: str, made: PackageEntities, declared: Iterable[_Entity]) -> Iterable[Difference]:
    for each in declared:
        if each.entity not in made.entities:
            makes = ", ".join(made.entities)
            text = f"the package makes {makes}, and {each.entity!r} is declared with `produced_by: {producer}`; add it here, or correct that"
            yield Difference(str(file), "entity", text, True)
        most = next((one.max_periods for one in each.produced_by if one.job == producer), None) or 1
        if most > made.max_periods:
            text = f"is {made.max_periods}, and {each.entity!r} is declared with {most} in one run; raise it here, or lower that"
            yield Difference(str(file), "max_periods", text, True)


def _of_package(file: Path, producer: str, names: Iterable[str], url: str, api_key: str | None) -> Iterable[Difference]:
    for name in names:
        try:
            one = msgspec.json.decode(
                ask(url, f"/api/v2/entities/{quote(name, safe='')}", None, api_key), type=_OneEntity
            ).entity
        except NotFound:
            text = f"{name!r} is not declared; declare it with `headwater entities apply`"
        else:
            jobs = ", ".join(each.job for each in one.produced_by)
            text = (
                f"{name!r} is declared with `produced_by: {jobs}`, so no plan runs this package for it; correct that, or leave it out"
                if jobs
                else f"{name!r} was declared without its packages, so no plan runs this one for it: `headwater entities apply` the folder with both"
            )
        yield Difference(str(file), "entity", text, False)
