"""The sources of FROM to relations: tables, derived tables, joins, PIVOT, UNPIVOT, functions that make rows. `resolver` does their queries."""

from abc import ABC, abstractmethod

from headwater.columns import form
from headwater.columns.catalog import Catalog, Schema
from headwater.columns.dialect import VIRTUAL, Rules, fold, pseudo
from headwater.columns.form import ELEMENT
from headwater.columns.kinds import FILTER, GROUP_BY, JOIN
from headwater.columns.resolving.dependencies import NOTHING, Dependencies, StructValue, add, passed_on, union, used
from headwater.columns.resolving.relation import Behind, Column, Leaves, Open, OpenValue, Relation, Rows, TableRelation
from headwater.columns.resolving.scope import AFTER, FIRST, NEVER, Scope
from headwater.columns.resolving.sharding import shard
from headwater.columns.resolving.surroundings import Surroundings
from headwater.columns.result import TableName
from headwater.columns.session import Session


class FromClause(ABC):
    """Resolves the queries of one statement. `reads`: the tables met so far, in order. `spellings`: how keys are displayed."""

    def __init__(
        self, rule: Rules, catalog: Catalog, session: Session, spellings: dict[str, str], variables: frozenset[str]
    ) -> None:
        self.rule = rule
        self.catalog = catalog
        self.session = session
        self.spellings = spellings
        self.variables = variables
        self.leaves = Leaves()
        self.reads: dict[TableName, None] = {}
        self.warnings: dict[str, None] = {}
        """Warnings of what was assumed without being certain."""
        self.spent = 0
        self.values: dict[str, dict[str, Dependencies]] = {}
        """The values of variables, by column; a plain variable's one column is called ""."""
        self.partitions: dict[tuple[TableName, str], None] = {}
        """Parts of tables that the statement names."""
        self._within: list[TableName] = []
        """The views that are being read, outermost first."""
        self._tables: dict[TableName, tuple[Relation, TableName]] = {}
        self.holes: dict[str, str] = {}
        self.stands: dict[str, str] = {}
        """Those of `form.Lowered`."""
        self.unknown = ""
        """The reason why a relation or a list of outputs is unknown: it stands behind a macro or a variable."""
        self._around: Surroundings | None = None
        self.scalars: dict[str, Dependencies] = {}
        """Values that WITH gave a name (ClickHouse)."""
        lateral = session.conventions.lateral_aliases
        self.pseudo = pseudo(rule.parser)
        self.arrays = rule.parser in _ARRAYS_IN_FROM
        self.shards = rule.parser == "bigquery" and session.conventions.shards
        self.virtual = VIRTUAL.get(rule.parser, _NO_NAMES)
        self.lateral = AFTER if (rule.lateral_aliases if lateral is None else lateral) else NEVER
        self.filtering = AFTER if rule.alias_in_where else NEVER
        no_alias_in_keys = rule.parser in {"postgres", "tsql", "oracle", "redshift"}
        self.rows_by_name = rule.parser in {"bigquery", "postgres", "duckdb", "materialize", "risingwave"}
        self.ordering = FIRST
        self.having = AFTER if no_alias_in_keys and rule.parser != "redshift" else FIRST
        self.grouping = FIRST if rule.alias_first else AFTER

    @abstractmethod
    def query(self, query: form.Query, ctes: dict[str, Relation], outer: Scope | None) -> Relation:
        """The relation a query makes."""

    @abstractmethod
    def value(self, expression: form.Expression, scope: Scope) -> Dependencies:
        """Return what an expression depends on."""

    @abstractmethod
    def into(self, result: Dependencies, expression: form.Expression, scope: Scope) -> None:
        """Adds what an expression depends on to `result`."""

    @abstractmethod
    def projections(self, projections: list[form.Projection], scope: Scope) -> list[Column]:
        """The outputs of a SELECT list."""

    @abstractmethod
    def star(self, star: form.Star, scope: Scope) -> list[Column]:
        """The columns that a star means, under their new names."""

    def scope(self, ctes: dict[str, Relation], outer: Scope | None) -> Scope:
        return Scope(self._around or self._surroundings(), outer, ctes)

    def _surroundings(self) -> Surroundings:
        found = self._around = Surroundings()
        found.leaves, found.variables, found.warnings = self.leaves, self.variables, self.warnings
        found.scalars, found.values, found.holes = self.scalars, self.values, self.holes
        found.rows_by_name, found.pseudo, found.virtual = self.rows_by_name, self.pseudo, self.virtual
        found.structs = self.rule.parser not in _WITHOUT_STRUCTS
        found.using_first = self.rule.parser in {"spark", "databricks"}
        return found

    def item(self, item: form.Item, scope: Scope, own: Dependencies, below: list[Rows]) -> None:
        """One source of FROM into `scope`; what joins it decides (`own`), as does what decides about its own rows (`below`)."""
        source = item.source
        if type(source) is form.TableSource:
            array = self._array(item, scope) if len(source.name) > 1 and self.arrays else None
            if array is not None:
                below.append(Rows(used(array.inside.value, JOIN), []) if array.inside is not None else Rows({}, []))
                scope.add(item.alias, (), array)
                return
            relation, name = self.table(source, scope.ctes)
        elif (
            isinstance(source, form.Nested)
            and not item.alias
            and not item.columns
            and item.join not in _HIDING
            and not item.using
        ):
            self._open_parentheses(item, scope, own, below)
            return
        else:
            relation, name = self.source(source, scope if item.lateral else scope.outer, scope, below)
        if item.columns:
            relation = self._renamed(relation, item.columns)
        if relation.rows is not None:
            below.append(relation.rows)
        names = item.using
        if item.natural:
            names = self._shared_names(scope, relation, own)
        if names:
            add(own, used(scope.join_columns(names, relation, item.join), JOIN))
        place = len(scope.relations)
        scope.add(item.alias, name, relation)
        if item.on is not None:
            scope.set_mode(NEVER)
            self.into(own, item.on, scope)
        if item.join in _HIDING:
            scope.hide(item.alias, place)

    def _array(self, item: form.Item, scope: Scope) -> Relation | None:
        """`FROM t, t.arr` (Impala, BigQuery): a column of a table before it in FROM, each of its elements a row."""
        assert isinstance(item.source, form.TableSource)
        first, *rest = item.source.name
        table = next((one for alias, _, one in scope.relations if alias.lower() == first.lower()), None)
        if table is None or not rest:
            return None
        found = table.any(rest[0].lower() if self.rule.insensitive else rest[0])
        if len(found) != 1:
            return None
        value = self.leaves.deeper(found[0], ".".join(rest[1:])) if rest[1:] else found[0]
        elements = passed_on(value, ELEMENT)
        named = [item.alias] if self.rule.parser == "bigquery" else ["item", "pos", "key", "value"]
        return _Row([(name, elements) for name in named], OpenValue(self.leaves, elements, within=True), None)

    def _open_parentheses(self, item: form.Item, scope: Scope, own: Dependencies, below: list[Rows]) -> None:
        """Joins in parentheses without an alias: the names inside are names outside."""
        assert isinstance(item.source, form.Nested)
        inner = self.scope(scope.ctes, scope.outer)
        for one in item.source.items:
            self.item(one, inner, own, below)
        for alias, name, relation in inner.relations:
            scope.add(alias, name, relation)
        scope.merged = {**inner.merged, **scope.merged}
        scope.merged_of = {**inner.merged_of, **scope.merged_of}
        if item.on is not None:
            scope.set_mode(NEVER)
            self.into(own, item.on, scope)

    def _shared_names(self, scope: Scope, relation: Relation, own: Dependencies) -> list[str]:
        theirs = {name for name, value in relation.columns() if not isinstance(value, Open)}
        shared = list(dict.fromkeys(name for name, _ in scope.star(()) if name in theirs))
        if relation.opens or any(isinstance(value, Open) for _, value in scope.star(())):
            add(own, used(self.leaves.guess("NATURAL JOIN", [], "the columns both sides share are unknown"), JOIN))
        return shared

    def source(
        self, source: form.Source, outer: Scope | None, scope: Scope, below: list[Rows]
    ) -> tuple[Relation, TableName]:
        """The relation of a source and the name of the table it is, if it is one."""
        if isinstance(source, form.TableSource):
            return self.table(source, scope.ctes)
        if isinstance(source, form.Derived):
            return self.query(source.query, scope.ctes, outer), ()
        if isinstance(source, form.Generated):
            return self._generated(source, scope), ()
        if isinstance(source, form.Nested):
            return self._nested(source, outer, scope), ()
        inner, name = self.source(source.source, outer, scope, below)
        within = self.scope(scope.ctes, outer)
        within.add("", name, inner)
        if isinstance(source, form.Pivoted):
            return self._pivoted(source, inner, within), ()
        if isinstance(source, form.Unpivoted):
            return self._unpivoted(source, inner, within), ()
        own = union(used(self.value(one, within), FILTER) for one in source.deciding)
        columns = self.projections(source.projections, within)
        if source.keeps:
            columns = [*inner.columns(), *columns]
        return Relation(columns, Rows(own, [inner.rows] if inner.rows else [])), ()

    def table(self, source: form.TableSource, ctes: dict[str, Relation]) -> tuple[Relation, TableName]:
        parts = source.name
        if parts and (self.stands or self.holes) and not source.is_path:
            reason = ""
            if len(parts) == 1 and parts[0].lower() in self.stands:
                table = self.stands[parts[0].lower()]
                parts = (fold(table, False, self.rule),)
                reason = "" if table else f"behind the macro {source.name[0].lower()}"
            elif parts[-1].lower() in self.holes and not (len(parts) == 1 and parts[0] in ctes):
                reason = self.holes[parts[-1].lower()]
            if reason:
                return Relation([("*", self.behind(reason))]), source.name
        if not source.is_path:
            found = ctes.get(parts[0].lower() if self.rule.insensitive else parts[0]) if len(parts) == 1 else None
            if found is not None:
                found.touched = True
                return found, parts
            parts = self.session.qualified(parts, self.catalog)
            if self.shards:
                parts = self.whole(parts)
            if self.session.views:
                view = self.session.views.get(self.session.own(parts))
                if view is not None and view[0].view in self.session.read_through:
                    self.warnings.update(dict.fromkeys(view[1]))
                    return self._view(view[0], parts)
        known = self._tables.get(parts)
        if known is None:
            known = self._tables[parts] = self._table(parts)
            self.reads[known[1]] = None
        elif known[1] not in self.reads:
            self.reads[known[1]] = None
        return known

    def whole(self, name: TableName) -> TableName:
        """The table of which `name` may be a part, which is remembered."""
        if not self.shards:
            return name
        table, part = shard(name)
        if part:
            self.partitions[self.display_name(table), part] = None
            schema = self.session.find(name, self.catalog)
            if schema is not None and self.session.find(table, self.catalog) is None:
                self.session.record_table(table, Schema(table, schema.columns, self.rule.parser, fields=schema.fields))
        return table

    def _view(self, view: form.WriteForm, parts: TableName) -> tuple[Relation, TableName]:
        """Return a view as its query. A view of the database is read too: dropping it breaks what reads it."""
        shown = self.display_name(parts)
        if view.view != "ephemeral":
            self.reads[shown] = None
        if parts in self._within:
            return Relation([("*", Open(self.leaves, shown))]), shown
        self._within.append(parts)
        relation = self._renamed(self.query(view.query, {}, None), view.target.columns)
        self._within.pop()
        return relation, shown

    def behind(self, reason: str) -> Behind:
        self.unknown = self.unknown or reason
        return Behind(self.leaves, reason)

    def _table(self, parts: TableName) -> tuple[Relation, TableName]:
        schema = self.session.find(parts, self.catalog)
        shown = self.display_name(parts)
        if schema is not None and (len(schema.name) >= len(parts) or parts in self.session.tables):
            shown = schema.name
        if schema is None:
            if self.rule.parser == "tsql" and len(parts) == 1 and parts[0] in {"inserted", "deleted"}:
                self.warnings[f"{parts[0]} are rows of the table whose trigger this is"] = None
            return Relation([("*", Open(self.leaves, shown))]), shown
        return TableRelation(schema, shown, self.leaves), shown

    def display_name(self, name: TableName) -> TableName:
        """A name as it is displayed: as the text spells it, where the dialect does not fold."""
        spellings = self.spellings
        return tuple(spellings.get(part, part) for part in name) if spellings else name

    def _generated(self, source: form.Generated, scope: Scope) -> Relation:
        value = self.value(source.value, scope)
        rows = Rows(used(value, JOIN), []) if value else None  # The value decides how many rows there are.
        columns: list[Column] = [(name, self._part(name, value)) for name in source.columns]
        if source.spread:
            fields = value.listed() if isinstance(value, StructValue) else None
            if fields and len(source.columns) <= len(fields) + 1:
                names = [*source.columns, *fields][: max(len(source.columns), len(fields))]
                made: list[Column] = list(zip(names, fields.values(), strict=False))
                made += [(name, NOTHING) for name in source.columns[len(fields) :]]  # WITH ORDINALITY
                return Relation(made, rows)
        for place, one in enumerate(source.each[: len(columns)]):
            columns[place] = (columns[place][0], self.value(one, scope))
        if not source.open_ended:
            return Relation(columns, rows)
        # A name that is no column is a field of what the function makes; but the star of it is its columns, if they are known.
        opened = OpenValue(self.leaves, value, within=True)
        return _Row(columns, opened, rows) if columns else Relation([("*", opened)], rows)

    def _part(self, name: str, value: Dependencies) -> Dependencies:
        """A column of what a function makes: in Snowflake FLATTEN has more than the element."""
        if self.rule.parser == "snowflake" and name != "VALUE" and isinstance(value, StructValue):
            return dict(value)
        return value

    def _nested(self, source: form.Nested, outer: Scope | None, scope: Scope) -> Relation:
        inner = self.scope(scope.ctes, outer)
        own: Dependencies = {}
        below: list[Rows] = []
        for item in source.items:
            self.item(item, inner, own, below)
        return Relation(inner.star(()), Rows(own, below))

    def _pivoted(self, source: form.Pivoted, inner: Relation, scope: Scope) -> Relation:
        chooser = self.value(source.chooser, scope)
        values = [self.value(one, scope) for one in source.aggregates]
        taken = {reference[0][-1] for one in [*source.aggregates, source.chooser] for reference in one.references}
        own: Dependencies = dict(used(chooser, GROUP_BY))  # Rows are grouped by it before they are spread.
        columns: list[Column] = []
        if source.group is not None:
            for name, expression in source.group:
                columns.append((name, self.value(expression, scope)))
        else:
            for name, value in inner.columns():
                if isinstance(value, Open):
                    columns.append((name, value.without(taken, {})))
                elif name not in taken:
                    columns.append((name, value))
        for _, value in columns:
            if not isinstance(value, Open):
                add(own, used(value, GROUP_BY))
        made = [union([value, chooser]) for value in values]
        if source.columns:
            columns += [(name, made[place]) for name, place in source.columns]
        elif chooser or values:
            columns.append(("*", OpenValue(self.leaves, union([chooser, *values]))))
        return Relation(columns, Rows(own, [inner.rows] if inner.rows else []))

    def _unpivoted(self, source: form.Unpivoted, inner: Relation, scope: Scope) -> Relation:
        taken: set[str] = set()
        everything = False
        values: list[Column] = []
        for name, feeding in source.values:
            fed: list[Dependencies] = []
            for one in feeding:
                if one.star is None:
                    taken.update(parts[-1] for parts, _, _ in one.value.references)
                    fed.append(self.value(one.value, scope))
                    continue
                for column, value in self.star(one.star, scope):
                    if not isinstance(value, Open):
                        taken.add(column)
                        fed.append(used(value, one.use))
                    elif one.star.like:
                        fed.append(
                            used(self.leaves.guess(name, [value.star()], "a table's columns are unknown"), one.use)
                        )
                    else:
                        everything = True
                        fed.append(used(value.star(), one.use))
            values.append((name, union(fed)))
        columns: list[Column] = []
        for name, value in inner.columns():
            if not isinstance(value, Open):
                if name not in taken:
                    columns.append((name, value))
            elif not everything:
                columns.append((name, value.without(taken, {})))
        if everything:  # What stays of a table whose columns are unknown is what the star leaves out.
            stars = [one.star for _, feeding in source.values for one in feeding if one.star is not None]
            left = dict.fromkeys(parts[-1] for star in stars for parts in star.excluded)
            columns += [(name, union(inner.any(name)[:1])) for name in left if name not in dict(columns)]
        named: list[Column] = [(name, NOTHING) for name in source.names]
        deciding = (
            {}
            if source.keeps_nulls
            else used(union(value for _, value in values if not isinstance(value, Open)), FILTER)
        )
        columns += [*values, *named] if source.values_first else [*named, *values]
        return Relation(columns, Rows(deciding, [inner.rows] if inner.rows else []))

    def _renamed(self, relation: Relation, names: list[str]) -> Relation:
        """The relation under the column names of an alias."""
        if not names:
            return relation
        columns: list[Column] = []
        listed = relation.columns()
        for place, name in enumerate(names):
            if place < len(listed) and not any(isinstance(value, Open) for _, value in listed[: place + 1]):
                columns.append((name, listed[place][1]))
            elif relation.opens:
                star = union(one.star() for one in relation.opens)
                columns.append(
                    (name, self.leaves.guess(name, [star], "renamed by place, and a table's columns are unknown"))
                )
        if len(names) < len(listed):
            columns += listed[len(names) :]
        return Relation(columns, relation.rows)


class _Row(Relation):
    """A relation that a function makes: known columns; any other name is a field of the one value."""

    def __init__(self, columns: list[Column], inside: OpenValue, rows: Rows | None) -> None:
        super().__init__(columns, rows)
        self.inside: OpenValue = inside

    def any(self, name: str) -> list[Dependencies]:
        known = self.get(name)
        found = known if known is not None else self.inside.field(name)
        return [found] if found is not None else []


_ARRAYS_IN_FROM = frozenset({"hive", "bigquery"})
_NO_NAMES: frozenset[str] = frozenset()
_WITHOUT_STRUCTS = frozenset({"oracle", "tsql", "mysql", "sqlite", "teradata"})
_HIDING = frozenset({"semi", "anti"})
