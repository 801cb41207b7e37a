"""Foreign keys, as a catalog names them: which rows stand in the way of a deletion."""

import msgspec


class Reference(msgspec.Struct, frozen=True):
    """A foreign key of `table`, the name of a dataset in the namespace of the referenced one: `columns` hold the values of `keys`, in order."""

    table: str
    columns: list[str]
    keys: list[str]


class References(msgspec.Struct, frozen=True, rename="camel"):
    """The facet `headwater_references` of a table: the foreign keys of other tables, or of itself, that lead to it."""

    referenced_by: list[Reference]
