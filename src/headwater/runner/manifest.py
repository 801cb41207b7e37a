"""A package as its dk.yaml describes it: plain frozen values, with every `${…}` resolved and every location absolute.

`headwater.runner.load` is the only way to get one. Runs nothing and does not touch the data. The format: docs/reference/dk-yaml.md.
"""

import msgspec

from headwater.model.names import DatasetName
from headwater.runner.document import Problem
from headwater.runner.entities import PackageEntities


class Owner(msgspec.Struct, frozen=True):
    name: str
    type: str | None = None


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """An input or output. `place`: the value of `${inputs.name}`: an absolute path or URI, a table, a topic.

    For an output, `entity`: the one that it holds; `instance`: the folder of one instance, with `{instance}` for its key.
    `located`: False where neither the file nor a binding says where it is; then it has the package's namespace.
    """

    name: str
    type: str
    place: str
    dataset: DatasetName
    description: str | None = None
    classification: dict[str, str] = {}
    entity: str | None = None
    instance: str | None = None
    located: bool = True


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The program. `target`: the path of a script, file or jar, the folder of a dbt project, a dotted name for a module, the first word of a command.

    `class_name`: the main class in a jar. `namespace`: of dbt's tables.
    """

    kind: str
    target: str
    is_module: bool = False
    class_name: str | None = None
    namespace: str | None = None
    args: tuple[str, ...] = ()
    conf: dict[str, str] = {}


class Period(msgspec.Struct, frozen=True):
    """The time that a run is about; bounds in ISO-8601 UTC, the end exclusive."""

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
    environment: str | None = None
    inputs: tuple[Declared, ...] = ()
    outputs: tuple[Declared, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def job(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def names(self) -> dict[str, str]:
        """Return the names for `${…}` in the package's SQL: parameters, inputs.x, outputs.x."""
        places = {f"inputs.{each.name}": each.place for each in self.inputs}
        places |= {f"outputs.{each.name}": each.place for each in self.outputs}
        return self.parameters | places
