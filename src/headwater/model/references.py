"""Foreign keys, as a catalog names them: which rows stand in the way of a deletion."""

from typing import Final

import msgspec

FACET: Final = "headwater_references"
"""The facet of a table that holds its References."""


class Reference(msgspec.Struct, frozen=True):
    """A foreign key of `table`, the name of a dataset in the namespace of the referenced one: `columns` hold the values of `keys`, in order."""

    table: str
    columns: list[str]
    keys: list[str]


class References(msgspec.Struct, frozen=True, rename="camel"):
    """The body of FACET: the foreign keys of other tables, or of itself, that lead to it."""

    referenced_by: list[Reference]
