"""The result of analysing a text: one `Statement` for each statement in it, plain frozen values that pickle and encode.

Names are tuples of parts, outermost first, folded as the dialect folds them: `("db", "schema", "table")`.
"""

import enum
from collections.abc import Sequence

import msgspec

from headwater.columns import kinds
from headwater.columns.shape.fingerprint import fingerprint, normalised
from headwater.model.lineage import Transformation

TableName = tuple[str, ...]


class Level(enum.StrEnum):
    """The degree to which a statement was understood."""

    FULL = "full"
    """Every relation and column was read by grammar and has one owner. Nothing was guessed."""
    PARTIAL = "partial"
    """A part was guessed, skipped, read off words or left open: a warning or an unresolved name says which."""
    TABLES = "tables"
    """The statement could not be parsed: tables were read off its tokens, without columns."""
    NOTHING = "nothing"
    """Nothing is known of the statement."""


def level_of(reading: str, warnings: Sequence[str], unresolved: Sequence[object]) -> Level:
    """The one rule of levels: how the text was read, lowered by anything a step warned of or left open."""
    if reading == Level.FULL and (warnings or unresolved):
        return Level.PARTIAL
    return Level(reading)


class Input(msgspec.Struct, frozen=True, order=True, gc=False):
    """A column of a table that feeds, or decides about, an output. `field` "*": every column of a table whose schema is unknown.

    `kinds` are the bits of `columns.kinds`. `path`: where inside the column (struct field, JSON path), dotted, when all of its uses agree.
    """

    table: TableName
    field: str
    kinds: int
    path: str = ""
    paths: tuple[tuple[str, int], ...] = ()
    """The paths of its uses with their kinds, where they disagree."""

    @property
    def transformations(self) -> tuple[Transformation, ...]:
        return kinds.transformations(self.kinds)


class Output(msgspec.Struct, frozen=True, gc=False):
    """An output column of a statement, in its position, and its dependencies. `name` "*": columns that only a schema determines.

    `fields`: those inside a struct, an array or a map that the statement makes, by path (`a`, `deep.b`), each with its own inputs.
    A path that ends in `*` means every other field there: the field of that name of each of its inputs.
    """

    name: str
    inputs: tuple[Input, ...]
    fields: tuple[tuple[str, tuple[Input, ...]], ...] = ()


class Flow(msgspec.Struct, frozen=True, gc=False):
    """A flow of columns and rows into one target. A query's own result has `target` None.

    `action`: SELECT, CREATE, OVERWRITE, APPEND, MERGE, UPDATE, DELETE, EXPORT. `rows`: inputs that decide about all of its rows and so about every
    column (JOIN, FILTER, GROUP_BY, SORT), listed once. `reads`: the tables this flow needs, also those of which it takes no column.
    """

    target: TableName | None
    action: str
    columns: tuple[Output, ...]
    rows: tuple[Input, ...]
    reads: tuple[TableName, ...]


class ColumnEdit(msgspec.Struct, frozen=True, gc=False):
    """A change of a column by ALTER: ADD, DROP, RENAME (`to`: the new name), RETYPE (`to`: the new type as written), REPLACE (one of the list of
    columns that replaces the old one), UNKNOWN (nothing is known of it, or a field of `column` goes or changes).
    """

    action: str
    column: str
    to: str = ""


class Change(msgspec.Struct, frozen=True, gc=False):
    """A change of a table itself: CREATE, ALTER, RENAME, SWAP, DROP, UNDROP, TRUNCATE, CLONE, LIKE; PART: a query of
    `other` reads it, too (a partition, a table that inherits).

    `other`: the second table of it. `temporary`: what is created ends with the session. `edits`: of its columns.
    """

    action: str
    table: TableName
    other: TableName | None = None
    temporary: bool = False
    edits: tuple[ColumnEdit, ...] = ()


class SchemaChange(msgspec.Struct, frozen=True, gc=False):
    """A change of a schema or a database, and so of the names of all tables in it: RENAME and SWAP (with `other`), DROP with what is in it, UNDROP.

    `schema`: the parts of names in it, without the table's.
    """

    action: str
    schema: TableName
    other: TableName | None = None


class Unresolved(msgspec.Struct, frozen=True, gc=False):
    """A name that could not be placed with what is known, and where it may belong.

    `outputs`: the columns it feeds with their kinds, as (flow index, output index or -1 for its rows, kinds).
    `confidence`: 0 to 1, of the first candidate.
    """

    name: str
    candidates: tuple[Input, ...]
    reason: str
    confidence: float
    outputs: tuple[tuple[int, int, int], ...]


class Statement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One statement. `start`, `end`: characters of the text; `line` counts from 1. `kind`: SELECT, INSERT, CREATE TABLE, MERGE, …

    `within`: the procedure or function the statement stands in, or empty. `name`: the routine it makes or calls, or empty.
    `text`: the statement as it was written, of `dialect`; of SQL held in a string, the string.
    `conditional`: it stands in a branch, a loop or a block that catches errors, so the text does not say whether it ran.
    `form`: the internal form, which `resolve` reads again when more schemas are known, without parsing; None when there is none.
    """

    index: int
    start: int
    end: int
    line: int
    kind: str
    level: Level
    reads: tuple[TableName, ...] = ()
    writes: tuple[TableName, ...] = ()
    flows: tuple[Flow, ...] = ()
    changes: tuple[Change, ...] = ()
    schema_changes: tuple[SchemaChange, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    warnings: tuple[str, ...] = ()
    within: str = ""
    name: str = ""
    text: str = ""
    dialect: str = ""
    conditional: bool = False
    form: object | None = None
    partitions: tuple[tuple[TableName, str], ...] = ()
    """Parts of tables that the text names: `t$20230101` is ("t", "20230101")."""

    @property
    def fingerprint(self) -> str:
        """16 hex digits that statements of one shape share, with any literals (`shape.fingerprint`). Computed when asked for."""
        return fingerprint(self.text, self.dialect)

    @property
    def normalised(self) -> str:
        """The text of that shape: literals as `?`, comments gone. Computed when asked for."""
        return normalised(self.text, self.dialect)
