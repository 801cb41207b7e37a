"""Objects of a database that stop working without a table: views, policies, rules, defaults, functions, publications."""

from typing import Final

import msgspec

FACET: Final = "headwater_dependents"
"""The facet of a table that holds its Dependents."""


class Dependent(msgspec.Struct, frozen=True):
    """An object that needs a table. `kind`: as PostgreSQL calls it (`view`, `policy`, `publication`). `name`: as the database shows it. `dataset`:
    the name of the dataset, in the namespace of the table, with which the object goes; null if it goes with none. `parsed`: the need is not recorded
    by the database, but read in the text of a function."""

    kind: str
    name: str
    dataset: str | None = None
    parsed: bool = False


class Dependents(msgspec.Struct, frozen=True):
    """The body of FACET."""

    objects: list[Dependent]
