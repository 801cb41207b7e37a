"""A package as its dk.yaml describes it: plain frozen values, every `${…}` resolved, every location absolute.

`headwater.runner.load` is the one way to get one. Refuses to run anything and to touch the data it names. The format: docs/reference/dk-yaml.md.
"""

import msgspec

from headwater.model.names import DatasetName
from headwater.runner.document import Problem
from headwater.runner.entities import PackageEntities


class Owner(msgspec.Struct, frozen=True):
    name: str
    type: str | None = None


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """An input or output. `place` is what `${inputs.name}` stands for: an absolute path or URI, a table, a topic.

    Of an output `entity`: which one it holds; `instance`: in which folder of it one instance lies, with `{instance}` for its key.
    """

    name: str
    type: str
    place: str
    dataset: DatasetName
    description: str | None = None
    classification: dict[str, str] = {}
    entity: str | None = None
    instance: str | None = None


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `target` is a path for a script or a file, a dotted name for a module."""

    kind: str
    target: str
    is_module: bool = False
    args: tuple[str, ...] = ()
    conf: dict[str, str] = {}


class Period(msgspec.Struct, frozen=True):
    """The stretch of time a run is about; bounds in ISO-8601 UTC, the end exclusive."""

    every: str
    start: str | None = None
    end: str | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    namespace: str
    name: str
    version: str | None = None
    description: str | None = None
    owners: tuple[Owner, ...] = ()
    tags: dict[str, str] = {}
    program: Program
    parameters: dict[str, str] = {}
    period: Period | None = None
    heartbeat: float | None = None
    made: PackageEntities = PackageEntities()
    inputs: tuple[Declared, ...] = ()
    outputs: tuple[Declared, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def job(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def names(self) -> dict[str, str]:
        """Everything `${…}` may name in the package's own SQL: parameters, inputs.x, outputs.x."""
        places = {f"inputs.{each.name}": each.place for each in self.inputs}
        places |= {f"outputs.{each.name}": each.place for each in self.outputs}
        return self.parameters | places
