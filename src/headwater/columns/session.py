"""State set by earlier statements: defaults for names, variables, the tables a script has made, renamed and dropped."""

from typing import NamedTuple

import msgspec

from headwater.columns import form
from headwater.columns.catalog import Catalog, Schema
from headwater.columns.dialect import EXTERNAL, TEMPORARY_SCHEMAS
from headwater.columns.result import TableName


class Conventions(msgspec.Struct, frozen=True):
    """Choices on which tools, and people, differ in what they call lineage.

    `except_right`: the right side of EXCEPT, MINUS and INTERSECT decides about rows. `ddl_writes`: ALTER and DROP write their table.
    `lateral_aliases`: an output may name one before it, whatever the dialect says (None: as it says). `struct_leaves`: fields of one column are
    inputs of their own. `shards`: BigQuery's dated tables and partitions are one table.
    """

    except_right: bool = True
    ddl_writes: bool = False
    lateral_aliases: bool | None = None
    struct_leaves: bool = False
    shards: bool = True


class _Tables(NamedTuple):
    """The tables of a session at one moment, in the parts of `Session`."""

    views: dict[TableName, tuple[form.WriteForm, tuple[str, ...]]]
    tables: dict[TableName, Schema]
    temporary: set[TableName]
    dropped: set[TableName]
    types: dict[str, tuple[str, ...]]
    forgotten: set[TableName]


class Session:
    """The state in which a text is analysed; the analysis updates it.

    `database`, `schema`: put before names that lack them. `search_path`: schemas tried in order if the catalog has them (the first otherwise).
    `variables`: names that are no columns.
    `through_views`: a view is read as its query, so that its columns are those of the tables below it; `views`: those met so far, with
    what was guessed in reading them. What is no relation of the database but a name for a query ("ephemeral") is always read as its query.
    `tables`: the schemas of tables that statements made. `temporary`: those of them that end with the session.
    """

    def __init__(
        self,
        database: str = "",
        schema: str = "",
        search_path: tuple[str, ...] = (),
        variables: frozenset[str] = frozenset(),
        through_views: bool = False,
        conventions: Conventions = Conventions(),  # noqa: B008 - it is frozen
    ) -> None:
        self.database = database
        self.schema = schema
        self.search_path = search_path
        self.variables = variables
        self.through_views = through_views
        self.read_through = frozenset({"view", "ephemeral"} if through_views else {"ephemeral"})
        self.conventions = conventions
        self.views: dict[TableName, tuple[form.WriteForm, tuple[str, ...]]] = {}
        self.tables: dict[TableName, Schema] = {}
        self.temporary: set[TableName] = set()
        self.dropped: set[TableName] = set()
        self.types: dict[str, tuple[str, ...]] = {}
        """The fields of composite types that statements made."""
        self.values: dict[str, form.VariableColumns] = {}
        """The contents of the session's own variables (Snowflake's `$x`, MySQL's `@x`) that queries gave a value."""
        self.forgotten: set[TableName] = set()
        """Tables whose columns a statement changed in a way that is not known: what the catalog has of them is old."""
        self._before: _Tables | None = None
        """The tables as they were when the open transaction began."""

    def begin(self, *, nested: bool = False) -> None:
        """A transaction begins: `rollback` brings the tables back to their present columns.

        One that is open has ended (the END of a transaction is not told from that of a block), unless the product has `nested` ones.
        """
        if self._before is None or not nested:
            self._before = _Tables(
                dict(self.views),
                dict(self.tables),
                set(self.temporary),
                set(self.dropped),
                dict(self.types),
                set(self.forgotten),
            )

    def commit(self) -> None:
        """The open transaction ends, and what it did stays."""
        self._before = None

    def rollback(self, *, partly: bool = False) -> None:
        """The open transaction ends, and its tables are as they were; without one nothing happens.

        `partly`: it goes back to a savepoint, and goes on: what is known of the tables that it changed is forgotten.
        """
        before = self._before
        if before is None:
            return
        if partly:
            changed = {
                name for name in {*self.tables, *before.tables} if self.tables.get(name) is not before.tables.get(name)
            }
            for name in changed:
                self.record_table(name, None)
            self.dropped = set(before.dropped)
            return
        self.views, self.tables, self.temporary, self.dropped, self.types, self.forgotten = before
        self._before = None

    def qualified(self, name: TableName, catalog: Catalog) -> TableName:
        """The full name of a table as far as the defaults go."""
        if len(name) == 1 and not (self.search_path or self.schema):
            return name
        if name[0].startswith(EXTERNAL) or (
            len(name) == 1 and (name in self.temporary or name[0].startswith(("#", "@")))
        ):
            return name
        if len(name) == 1 and self.search_path:
            for schema in self.search_path:
                tried = self._with_database((schema, *name))
                if tried in self.tables or catalog.find(tried) is not None:
                    return tried
            return self._with_database((self.search_path[0], *name))
        if len(name) == 1 and self.schema:
            return self._with_database((self.schema, *name))
        if len(name) == 2 and name[0].lower() in TEMPORARY_SCHEMAS:
            self.temporary.add(name[1:])
            return name[1:]
        return self._with_database(name) if len(name) == 2 else name

    def _with_database(self, name: TableName) -> TableName:
        return (self.database, *name) if self.database else name

    def find(self, name: TableName, catalog: Catalog) -> Schema | None:
        """The columns a table has by now: as statements of the session left them, else as the catalog has them."""
        if not (self.tables or self.forgotten or self.dropped):
            return catalog.find(name)
        name = self.own(name)
        found = self.tables.get(name)
        if found is None and not (name in self.forgotten or name in self.dropped):
            found = catalog.find(name)
        return found

    def own(self, name: TableName) -> TableName:
        """The name under which the session has a table: an ending of it, or a longer one, if only one such table is there."""
        if name in self.tables or not self.tables:
            return name
        fitting = [
            one
            for one in self.tables
            if one[-1] == name[-1]
            and len(one) != len(name)
            and one not in self.temporary
            and one[-min(len(one), len(name)) :] == name[-min(len(one), len(name)) :]
        ]
        return fitting[0] if len(fitting) == 1 else name

    def record_table(self, name: TableName, schema: Schema | None, *, temporary: bool = False) -> None:
        """Record that a statement created `name`; without a schema, forget its former one."""
        self.dropped.discard(name)
        self.views.pop(name, None)
        if schema is None:
            self.tables.pop(name, None)
            self.forgotten.add(name)
        else:
            self.tables[name] = schema
            self.forgotten.discard(name)
        if temporary:
            self.temporary.add(name)

    def gone(self, name: TableName) -> None:
        name = self.own(name)
        self.tables.pop(name, None)
        self.views.pop(name, None)
        self.temporary.discard(name)
        self.dropped.add(name)

    def renamed(self, name: TableName, other: TableName, schema: Schema | None) -> None:
        """`name` is called `other` now. `schema`: its columns under the new name, if they are known."""
        name = self.own(name)
        view = self.views.get(name)
        self.record_table(other, schema, temporary=name in self.temporary)
        self.gone(name)
        if view is not None:
            self.views[other] = view

    def edited(self, name: TableName, schema: Schema | None) -> None:
        """The columns of `name` are those of `schema` from now on; None: not known any more."""
        self.record_table(self.own(name), schema)
