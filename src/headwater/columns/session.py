"""State set by earlier statements: defaults for names, variables, the tables a script has made, renamed and dropped."""

from headwater.columns.catalog import Catalog, Schema
from headwater.columns.result import TableName


class Session:
    """The state in which a text is analysed; the analysis updates it.

    `database`, `schema`: put before names that lack them. `search_path`: schemas tried in order if the catalog has them (the first otherwise).
    `variables`: names that are no columns.
    `tables`: the schemas of tables that statements made. `temporary`: those of them that end with the session.
    """

    def __init__(
        self,
        database: str = "",
        schema: str = "",
        search_path: tuple[str, ...] = (),
        variables: frozenset[str] = frozenset(),
    ) -> None:
        self.database = database
        self.schema = schema
        self.search_path = search_path
        self.variables = variables
        self.tables: dict[TableName, Schema] = {}
        self.temporary: set[TableName] = set()
        self.dropped: set[TableName] = set()

    def qualified(self, name: TableName, catalog: Catalog) -> TableName:
        """The full name of a table as far as the defaults go."""
        if len(name) == 1 and (name in self.temporary or name[0].startswith(("#", "@"))):
            return name
        if len(name) == 1 and self.search_path:
            for schema in self.search_path:
                tried = self._with_database((schema, *name))
                if tried in self.tables or catalog.find(tried) is not None:
                    return tried
            return self._with_database((self.search_path[0], *name))
        if len(name) == 1 and self.schema:
            return self._with_database((self.schema, *name))
        return self._with_database(name) if len(name) == 2 else name

    def _with_database(self, name: TableName) -> TableName:
        return (self.database, *name) if self.database else name

    def find(self, name: TableName) -> Schema | None:
        return self.tables.get(name)

    def record_table(self, name: TableName, schema: Schema | None, *, temporary: bool = False) -> None:
        """Record that a statement created `name`; without a schema, forget its former one."""
        self.dropped.discard(name)
        if schema is None:
            self.tables.pop(name, None)
        else:
            self.tables[name] = schema
        if temporary:
            self.temporary.add(name)

    def gone(self, name: TableName) -> None:
        self.tables.pop(name, None)
        self.temporary.discard(name)
        self.dropped.add(name)

    def renamed(self, name: TableName, other: TableName) -> None:
        found = self.tables.pop(name, None)
        if found is not None:
            self.tables[other] = found
        if name in self.temporary:
            self.temporary.discard(name)
            self.temporary.add(other)
