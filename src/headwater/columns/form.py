"""The internal form: the column semantics of a statement in any dialect, reduced from the tree of the parser.

Lowering (`expression`, `query`, `statement`) writes it once; resolving (`resolver`, `flows`) reads it as often as schemas change. It holds names as
keys (`dialect.fold`), never schemas, so it can be stored, sent and cached: plain structs that pickle and that msgspec encodes (`encode`, `decode`).
"""

from typing import Any, Literal

import msgspec

Parts = tuple[str, ...]
Reference = tuple[Parts, int, str]
"""A name as written, outermost part first (`("t", "*")`: the whole row), how it is used (`kinds.Use`), and the path into it."""

SCALAR, EXISTS, MEMBERS, WHOLE = 0, 1, 2, 3
"""The uses of a subquery in an expression: its first column's value, whether it has rows, IN its rows, all of its columns."""


class _Node(msgspec.Struct, array_like=True, tag=True, gc=False):
    pass


class Expression(msgspec.Struct, array_like=True, gc=False):
    """The inputs of an expression's value: references, and subqueries as (query, use, how it stands).

    `taken`: fields of values that are no column, as (value, path, use). `fields`: those of the value itself, where the text tells them.
    """

    references: list[Reference] = []
    subqueries: list[tuple["Query", int, int]] = []
    taken: tuple[tuple["Expression", str, int], ...] = ()
    fields: "Fields | None" = None


class Fields(msgspec.Struct, array_like=True, gc=False):
    """The fields of a value: those the text gives, in order, and those that other values have (`like`), each with the use made of them.

    `deciding`: what decides about each of them. `names`: the fields' new names by place: of a cast, or of a list of columns; `by_name`: a cast
    that goes by name; `type_name`: a type that the session knows. `without`: fields of `like` that it lacks. `keyed`: its fields are a map's
    entries. `by_place`: the fields of `like` meet by their places, under the names of the first.
    """

    given: list[tuple[str, Expression]] = []
    like: list[tuple[Expression, int]] = []
    deciding: Expression | None = None
    names: list[Any] = []
    without: list[str] = []
    keyed: bool = False
    by_name: bool = False
    by_place: bool = False
    type_name: str = ""


ELEMENT = -1
"""The use of a value in an array or map when one of its elements is meant: a column's is TRANSFORMED, one made in the query stays what it is."""
ANY = "[]"
"""The step of a path into an array or map at a place that is not known; `[0]` is the first, and `#0` a struct's first field."""
KEYS, VALUES = "{key}", "{value}"
"""The steps of a path to a map's keys and to its values."""


class Star(msgspec.Struct, array_like=True, gc=False):
    """`*` or `qualifier.*`, what it leaves out, puts in the place of and renames; `like`: a pattern for names (`resolving.name_filter`).

    A column left out or renamed may be named with its table: `("t", "c")`.
    """

    qualifier: Parts
    excluded: list[Parts]
    replaced: list[tuple[str, Expression]]
    renamed: list[tuple[Parts, str]]
    like: str


class Projection(msgspec.Struct, array_like=True, gc=False):
    """An output: its name, its value; or a star.
    `aggregates`: GROUP BY ALL leaves it out (set only where there is one). `named`: the text gives the name, not the product: others may use it."""

    name: str
    value: Expression
    star: Star | None = None
    aggregates: bool = False
    named: bool = True


class Cte(msgspec.Struct, array_like=True, gc=False):
    """`recursive`: the query may name itself. `scalar`: the name is its one value, not a table (ClickHouse)."""

    name: str
    columns: list[str]
    query: "Query"
    recursive: bool = False
    scalar: bool = False


class TableSource(_Node):
    """A table, view, CTE, path or stage by name."""

    name: Parts
    is_path: bool = False


class Derived(_Node):
    query: "Query"


class Nested(_Node):
    """Joins in parentheses."""

    items: list["Item"]


class Generated(_Node):
    """Rows made of values: UNNEST, explode, FLATTEN, a table function. Every column is made of all of the arguments.

    `columns`: their names where known, each made of `each` at its place if that is given; `open_ended`: others may exist. `spread`: the fields of
    an element become the columns.
    """

    value: Expression
    columns: list[str]
    open_ended: bool
    each: list[Expression] = []
    spread: bool = False


class Pivoted(_Node):
    """PIVOT: `columns`: output names with the place of the aggregate each is made of (none when only the data tells the names);
    `chooser`: the columns after FOR. The source's other columns group the rows and stay, unless `group` names those that do."""

    source: "Source"
    aggregates: list[Expression]
    chooser: Expression
    columns: list[tuple[str, int]]
    group: list[tuple[str, Expression]] | None = None


class Feeding(msgspec.Struct, array_like=True, gc=False):
    """One value that UNPIVOT puts in a column: an expression, or each column of a star, with the use made of it (`kinds.Use`)."""

    value: Expression
    star: Star | None = None
    use: int = 0


class Unpivoted(_Node):
    """UNPIVOT: `values`: for each value column, what feeds it, stars among it; `names`: the columns that hold their names. Nulls are left
    out unless `keeps_nulls`: then the values decide which rows there are. What feeds a value is no column any more."""

    source: "Source"
    values: list[tuple[str, list[Feeding]]]
    names: list[str]
    values_first: bool = False
    keeps_nulls: bool = False


class Described(_Node):
    """MATCH_RECOGNIZE and its like: projections over a source whose rows are decided by `deciding`; `keeps`: the source's columns stay too."""

    source: "Source"
    projections: list[Projection]
    deciding: list[Expression]
    keeps: bool


Source = TableSource | Derived | Nested | Generated | Pivoted | Unpivoted | Described


class Item(msgspec.Struct, array_like=True, gc=False):
    """One source in FROM. `join`: "", "left", "right", "full", "semi", "anti". `lateral`: it sees the items before it.

    `natural`: joined on all names both sides share.
    """

    source: Source
    alias: str = ""
    columns: list[str] = []
    join: str = ""
    on: Expression | None = None
    using: list[str] = []
    natural: bool = False
    lateral: bool = False


class Select(_Node):
    """One SELECT. `group` and `order` hold an ordinal (from 1) where the text does. In `having` and `order` a reference keeps its own use,
    for a name inside an aggregate means another thing there than one outside."""

    projections: list[Projection]
    items: list[Item] = []
    ctes: list[Cte] = []
    where: list[Expression] = []
    group: list[int | Expression] = []
    group_all: bool = False
    having: Expression | None = None
    qualify: Expression | None = None
    order: list[int | Expression] = []
    order_all: bool = False
    distinct: bool = False
    distinct_on: list[int | Expression] = []


class SetOperation(_Node):
    """Branches in order; `operations[i]` joins branch i + 1 to what stands before it: (operator, distinct, by name)."""

    branches: list["Query"]
    operations: list[tuple[Literal["union", "except", "intersect"], bool, bool]]
    ctes: list[Cte] = []
    order: list[int | Expression] = []


class Values(_Node):
    rows: list[list[Expression]]
    ctes: list[Cte] = []


Query = Select | SetOperation | Values


class Target(msgspec.Struct, array_like=True, gc=False):
    """A table or a path that a statement writes. `partition`: columns with a constant value in PARTITION (…), which the query does not
    give. `evolves`: it gets the columns of the query that it has not (WITH SCHEMA EVOLUTION)."""

    name: Parts
    columns: list[str] = []
    partition: list[str] = []
    dynamic: list[str] = []
    is_path: bool = False
    evolves: bool = False


class QueryForm(_Node):
    query: Query


class WriteForm(_Node):
    """CREATE … AS, INSERT … query, COPY. `view`: the created object is read as its query. `refreshes`: its rows are recomputed by the query it was
    created with. `upserts`: what happens to rows that were there (ON CONFLICT, ON DUPLICATE KEY)."""

    target: Target
    action: str
    query: Query
    by_name: bool = False
    by_place: bool = False
    type_name: str = ""
    temporary: bool = False
    creates: bool = False
    view: Literal["", "view", "materialized", "ephemeral"] = ""
    refreshes: bool = False
    upserts: "UpdateForm | None" = None


class SetClause(msgspec.Struct, array_like=True, gc=False):
    """One branch of MERGE, UPDATE or ON CONFLICT: assignments, or all columns by name (`star`); `deciding`: its own condition;
    `sees`: "source" where no row of the target matched, "target" where none of the source did, else both."""

    assignments: list[tuple[str, Expression]]
    star: bool
    deciding: list[Expression]
    by_position: list[Expression] = []
    sees: Literal["", "source", "target"] = ""


class UpdateForm(_Node):
    """UPDATE, MERGE and DELETE: rows of the target meet those of `items`. `target_item`: the target as a readable relation, first in scope."""

    target: Target
    action: str
    target_item: Item
    items: list[Item]
    clauses: list[SetClause]
    where: list[Expression]
    on: Expression | None = None
    ctes: list[Cte] = []


class SeveralForm(_Node):
    """Several forms in one statement: multi-insert. `shared`: the source they read, by name."""

    forms: list["Form"]
    ctes: list[Cte] = []


Edit = tuple[Literal["add", "drop", "rename", "move", "replace", "retype", "reshape", "unknown"], list[str], str | None]
"""A change of columns by ALTER: names (rename: the old, the new; retype: the column, its type; reshape: the column, a field of which
the verb changes), and the new place of one: at the end (None), first (""), or after another."""


class ChangeForm(_Node):
    """A change of tables themselves: (action, table, other or ()). `columns`: those a CREATE TABLE declares.
    `own`: those of `columns` whose values the table makes itself. `edits`: what happens to columns of the first table. `types`: the fields of
    columns that have some, as in `Fields.names`."""

    changes: list[tuple[str, Parts, Parts]]
    columns: list[str] | None = None
    temporary: bool = False
    reads: list[Query] = []
    own: list[str] = []
    edits: list[Edit] = []
    types: list[tuple[str, Any]] = []


class SchemaForm(_Node):
    """A change of schemas with all that is in them: (action, schema, other or ()); see `result.SchemaChange`. `outer`: they are databases above
    schemas."""

    changes: list[tuple[str, Parts, Parts]]
    outer: bool = False


class SessionForm(_Node):
    """USE, SET search_path, SET variable, CREATE TYPE (its name, its fields), and "begin", "commit", "rollback" and
    "rollback partly" of a transaction."""

    what: str
    values: Parts


Form = QueryForm | WriteForm | UpdateForm | SeveralForm | ChangeForm | SchemaForm | SessionForm


VariableColumns = list[tuple[str, list[tuple[Parts, str, int, str]]]]
"""A variable's columns (one, or those of a record), each with its inputs: (table, field, kinds, path). No table: an input that is not known,
and why in place of its field."""


class Lowered(msgspec.Struct, array_like=True, gc=False):
    """A whole statement: its form, the display spelling of keys that differ from it, warnings, and names that are variables.

    `values`: the contents of those that queries before it gave a value.
    `holes`: names (in lower case) a template's macros and variables stand behind, and the words that say so. `stands`: CTEs that a macro
    makes of a table, and that table; empty if it is unknown.
    `warnings`: all that was guessed, skipped or not understood on the way to the form. `reading`: how far the way it was read goes at
    best (`result.Level`): the parser's grammar to "full", words to "partial", names of tables to "tables".
    """

    kind: str
    form: Form | None
    dialect: str
    spelling: dict[str, str] = {}
    warnings: list[str] = []
    variables: list[str] = []
    values: dict[str, VariableColumns] = {}
    holes: dict[str, str] = {}
    stands: dict[str, str] = {}
    reading: str = "full"


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Lowered)


def encode(lowered: Lowered) -> bytes:
    return _ENCODER.encode(lowered)


def decode(data: bytes) -> Lowered:
    """Raises msgspec.ValidationError when `data` is no form."""
    return _DECODER.decode(data)
