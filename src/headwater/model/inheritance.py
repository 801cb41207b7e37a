"""Tables whose rows are rows of another table too: its partitions, and tables that inherit from it."""

from typing import Final

import msgspec

FACET: Final = "headwater_inheritance"
"""The facet of a table that holds its Inheritance."""


class Inheritance(msgspec.Struct, frozen=True):
    """The body of FACET. `children`: partitions and heirs at any depth, each the name of a dataset in the namespace of their table."""

    children: list[str]
