"""The facts that the scopes of a statement share, kept once: a statement has many scopes."""

from headwater.columns.resolving.dependencies import Dependencies
from headwater.columns.resolving.relation import Leaves


class Surroundings:
    """The facts that all scopes of a statement share: the product's rules, and the resolver's tables of names.

    `rows_by_name`: a relation's name alone is its row, where no column is known to have it. `structs`: columns have fields in this product, so
    that `x.y` may be one of the column x.
    """

    __slots__ = (
        "holes",
        "leaves",
        "pseudo",
        "rows_by_name",
        "scalars",
        "structs",
        "using_first",
        "values",
        "variables",
        "virtual",
        "warnings",
    )

    leaves: Leaves
    variables: frozenset[str]
    rows_by_name: bool
    using_first: bool
    structs: bool
    virtual: frozenset[str]
    pseudo: frozenset[str]
    warnings: dict[str, None]
    scalars: dict[str, Dependencies]
    values: dict[str, dict[str, Dependencies]]
    holes: dict[str, str]
