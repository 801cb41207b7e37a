"""A statement's form to what it does: flows into targets, changes of tables, names left open; and what it leaves in the session. No parser here."""

from typing import NamedTuple

import msgspec

from headwater.columns import form
from headwater.columns.catalog import Catalog, Schema
from headwater.columns.dialect import rules
from headwater.columns.kinds import DIRECT, MASKED
from headwater.columns.resolving.changes import Changes, change_schemas
from headwater.columns.resolving.dependencies import Dependencies, StructValue, add, union
from headwater.columns.resolving.folding import folded
from headwater.columns.resolving.relation import Column, Guess, Leaves, Open, Relation, Rows
from headwater.columns.resolving.resolver import Resolver, TooMuch
from headwater.columns.resolving.struct import names_in, paths, renamed, together
from headwater.columns.result import Change, Flow, Input, Level, Output, SchemaChange, TableName, Unresolved, level_of
from headwater.columns.session import Session

_FILLS_FROM_LEFT = frozenset({"postgres", "redshift", "materialize", "risingwave", "hive"})
"""Dialects in which a query may give fewer columns than the table has: the last ones get their defaults."""
_DIRECT = DIRECT | DIRECT << MASKED


class Outcome(msgspec.Struct, gc=False):
    """The outcome of resolving one statement (see `result.Statement`)."""

    flows: list[Flow] = []
    changes: list[Change] = []
    schema_changes: list[SchemaChange] = []
    reads: list[TableName] = []
    writes: list[TableName] = []
    unresolved: list[Unresolved] = []
    warnings: list[str] = []
    partitions: list[tuple[TableName, str]] = []
    level: Level = Level.FULL


def outcome(lowered: form.Lowered, catalog: Catalog, session: Session) -> Outcome:
    """Resolve a statement's form with what is known now. `session` moves on by it. Never raises on any form."""
    result = Outcome(warnings=list(lowered.warnings))
    rule = rules(lowered.dialect)
    variables = session.variables | frozenset(lowered.variables)
    resolver = Resolver(rule, catalog.of(lowered.dialect), session, lowered.spelling, variables)
    for name, told in lowered.values.items():
        held = {column: _held(resolver.leaves, name, inputs) for column, inputs in told}
        resolver.values[name] = {"": next(iter(held.values()), {}), **held}
    resolver.holes, resolver.stands = lowered.holes, lowered.stands
    if lowered.form is None:
        result.level = level_of(lowered.reading, result.warnings, ())
        return result
    teller = _Teller(resolver, result)
    try:
        teller.tell(lowered.form, {})
    except TooMuch:
        result.warnings.append("the statement has more column dependencies than are kept: some are left out")
    except RecursionError:
        result.warnings.append("the statement nests too deep: some of it is left out")
    teller.close()
    if resolver.unknown.startswith(
        ("behind the variable", "behind an expression")
    ):  # Of a macro the template itself warns.
        result.warnings.append(f"tables or outputs are {resolver.unknown}: they are known only when it runs")
    result.warnings = list(dict.fromkeys([*result.warnings, *resolver.warnings, *resolver.leaves.doubts]))
    result.level = level_of(lowered.reading, result.warnings, result.unresolved)
    return result


def _held(leaves: Leaves, name: str, inputs: list[tuple[TableName, str, int, str]]) -> Dependencies:
    found = {leaves.column(table, field, path): bits for table, field, bits, path in inputs if table}
    for reason in dict.fromkeys(field for table, field, _, _ in inputs if not table):
        found |= leaves.guess(name, [], f"what the variable {name} holds is not known: {reason}")
    return found


class _Changed(NamedTuple):
    """Rows that a statement changes where they are: their table, the columns assigned, what decides which rows, the tables read."""

    target: TableName
    columns: list[Column]
    rows: Rows
    reads: list[TableName]


def _upserted(columns: list[Column], changed: list[Column]) -> list[Column]:
    """The columns of an INSERT, with what those of rows that were there are changed to."""
    places = {name: place for place, (name, _) in enumerate(columns)}
    result = list(columns)
    for name, value in changed:
        before = result[places[name]][1] if name in places else None
        if before is None:
            result.append((name, value))
        elif not isinstance(before, Open) and not isinstance(value, Open):
            result[places[name]] = (name, together([before, value]))
    return result


class _Teller:
    """Resolves forms and says what they do."""

    def __init__(self, resolver: Resolver, result: Outcome) -> None:
        self.resolver = resolver
        self.session = resolver.session
        self.result = result
        self.inputs: dict[tuple[int, int], Input] = {}
        self.guesses: dict[int, list[tuple[int, int, int]]] = {}

    def tell(self, what: form.Form, ctes: dict[str, Relation]) -> None:
        if isinstance(what, form.QueryForm):
            relation = self.resolver.query(what.query, ctes, None)
            self.flow(None, "SELECT", relation.columns(), relation.rows, list(self.resolver.reads))
        elif isinstance(what, form.WriteForm):
            self._write(what, ctes)
        elif isinstance(what, form.UpdateForm):
            changed = self._changed(what, ctes)
            self.flow(changed.target, what.action, changed.columns, changed.rows, changed.reads)
            Changes(self).evolve(what.target, [column for column, _ in changed.columns])
        elif isinstance(what, form.SeveralForm):
            known = self.resolver.with_ctes(what.ctes, ctes, None)
            for one in what.forms:
                self.tell(one, known)
        elif isinstance(what, form.ChangeForm):
            Changes(self).tell(what)
        elif isinstance(what, form.SchemaForm):
            change_schemas(self, what)
        else:
            self._session(what)

    # --- kinds of statements

    def _write(self, what: form.WriteForm, ctes: dict[str, Relation]) -> None:
        before = len(self.resolver.reads)
        if what.refreshes:
            made = self.session.views.get(self.session.own(self.key(what.target.name)))
            if made is None:
                self.result.warnings.append(f"what refreshes {'.'.join(what.target.name)} stands where it was made")
            else:
                view, doubts = made
                self.result.warnings += doubts
                target = form.Target(view.target.name, view.target.columns)
                what = form.WriteForm(target, what.action, view.query, by_name=True)
        relation = self.resolver.query(what.query, ctes, None)
        reads = list(self.resolver.reads) if what.query.ctes or not before else self._reads_of(relation, before)
        name = self.target(what.target, temporary=what.temporary and what.creates)
        columns = self._placed(what, name, relation.columns())
        rows = relation.rows
        if what.upserts is not None:
            changed = self._changed(what.upserts, ctes)
            columns = _upserted(columns, changed.columns)
            rows = Rows(changed.rows.own, [*changed.rows.below, *([rows] if rows else [])])
            reads = list(dict.fromkeys([*reads, *changed.reads]))
        self.flow(name, what.action, columns, rows, reads)
        Changes(self).evolve(what.target, [column for column, _ in columns])
        if what.creates:
            self.result.changes.append(Change("CREATE", name, None, what.temporary))
            known = not any(isinstance(value, Open) for _, value in columns)
            inner = {
                column: found
                for column, value in columns
                if isinstance(value, StructValue) and (found := names_in(value))
            }
            listed = [self.display_name(column) for column, _ in columns]
            schema = Schema(name, listed, self.resolver.rule.parser, fields=inner) if known else None
            key = self.key(what.target.name, what.temporary)
            self.session.record_table(key, schema, temporary=what.temporary)
            if what.view:
                self.session.views[key] = (what, tuple(self.result.warnings))

    def _reads_of(self, relation: Relation, before: int) -> list[TableName]:
        """The tables of one of several flows: those met since, and those its columns and rows name."""
        found = dict.fromkeys(list(self.resolver.reads)[before:])
        everything = union([*relation.first_values(), relation.rows.flat() if relation.rows else {}])
        for leaf in everything:
            entry = self.resolver.leaves.entries[leaf]
            if isinstance(entry, tuple) and entry[0]:
                found[entry[0]] = None
        return list(found)

    def _placed(self, what: form.WriteForm, name: TableName, columns: list[Column]) -> list[Column]:
        """The query's columns under the names they get in the target."""
        target = what.target
        if what.by_name:
            return [*zip(what.target.columns, (value for _, value in columns), strict=False)] or columns
        names = target.columns
        schema = self.find_schema(target) if not what.creates else None
        if not names and not what.creates:
            if schema is not None:
                names = self._filled([key for key in schema.keys if key not in target.partition], schema, columns)
            elif not target.is_path and any(_says(value) for _, value in columns):
                self.result.warnings.append(
                    f"the columns of {'.'.join(name)} are unknown: they are called as the query calls them"
                )
        if not names:
            tail = target.dynamic if len(target.dynamic) <= len(columns) else []
            kept = len(columns) - len(tail)
            return columns[:kept] + [(new, value) for new, (_, value) in zip(tail, columns[kept:], strict=True)]
        opened = next((place for place, (_, value) in enumerate(columns) if isinstance(value, Open)), None)
        if opened is not None:
            return self._placed_open(names, columns, opened)
        if len(names) != len(columns) and columns:
            fewer = len(columns) < len(names) and self.resolver.rule.parser in _FILLS_FROM_LEFT and not target.columns
            if not fewer and not (target.evolves and len(columns) > len(names)):
                self.result.warnings.append(f"{len(columns)} columns go into {len(names)} of {'.'.join(name)}")
                if not what.creates:
                    return columns
        placed: list[Column] = [
            (new, self._fitted(new, value, schema)) for new, (_, value) in zip(names, columns, strict=False)
        ]
        return placed + columns[len(names) :]

    def _fitted(self, name: str, value: Dependencies | Open, schema: Schema | None) -> Dependencies | Open:
        """A struct under the names of the column it goes into, where their fields differ: they meet by place."""
        names = schema.fields.get(name) if schema is not None else None
        if not names or not isinstance(value, StructValue):
            return value
        own = value.listed()
        if own is None or {one.lower() for one in own} == {one.lower() for one, _ in names}:
            return value
        return renamed(value, list(names), value)

    def _filled(self, names: list[str], schema: Schema, columns: list[Column]) -> list[str]:
        """Those of a table's columns that an INSERT by place fills: all, or all but those the table makes itself, as the query has them."""
        if not schema.own or len(columns) == len(names):
            return names
        without = [key for key in names if key not in schema.own]
        starred = any(isinstance(value, Open) for _, value in columns)
        return without if starred or len(without) == len(columns) else names

    def _placed_open(self, names: list[str], columns: list[Column], opened: int) -> list[Column]:
        """Up to the star by place; after it a name of the target is a guess: the column of that name behind the star."""
        placed: list[Column] = [(new, value) for new, (_, value) in zip(names, columns[:opened], strict=False)]
        after = columns[opened + 1 :]
        if any(isinstance(value, Open) for _, value in after):
            after = []
        last = (
            [(new, value) for new, (_, value) in zip(names[len(names) - len(after) :], after, strict=False)]
            if after
            else []
        )
        behind = names[opened : len(names) - len(after)]
        stars = [value for _, value in columns[opened:] if isinstance(value, Open)]
        for new in behind:
            found = [value for star in stars if (value := star.field(new)) is not None]
            placed.append(
                (
                    new,
                    self.resolver.leaves.guess(
                        new, found, "columns behind a star go in by place, and their table is unknown", 0.9
                    ),
                )
            )
        return placed + last

    def _changed(self, what: form.UpdateForm, ctes: dict[str, Relation]) -> "_Changed":
        resolver = self.resolver
        ctes = resolver.with_ctes(what.ctes, ctes, None)
        scope = resolver.scope(ctes, None)
        own: Dependencies = {}
        below: list[Rows] = []
        known_reads = dict(resolver.reads)
        resolver.item(what.target_item, scope, own, below)
        target_reads = [name for name in resolver.reads if name not in known_reads]
        for name in target_reads:
            del resolver.reads[name]
        for item in what.items:
            resolver.item(item, scope, own, below)
        name = target_reads[0] if target_reads else self.target(what.target)
        for condition in [*([what.on] if what.on is not None else []), *what.where]:
            add(own, resolver.value(condition, scope))
        columns: dict[str, Dependencies] = {}
        both = scope
        for clause in what.clauses:
            scope = both
            if clause.sees:
                scope = resolver.scope(ctes, None)
                for one in both.relations[:1] if clause.sees == "target" else both.relations[1:]:
                    scope.add(*one)
            for condition in clause.deciding:
                add(own, resolver.value(condition, scope))
            for column, value in self._assigned(
                clause, what, both.relations[1][2] if len(both.relations) > 1 else None
            ):
                found = resolver.value(value, scope) if isinstance(value, form.Expression) else value
                columns[column] = union([columns[column], found]) if column in columns else found
        used_itself = any(
            bits & _DIRECT and isinstance(entry, tuple) and entry[0] == name
            for value in columns.values()
            for leaf, bits in value.items()
            for entry in (resolver.leaves.entries[leaf],)
        )
        reads = list(resolver.reads)
        if not target_reads and not used_itself and name in reads:  # A CTE over the target stood for it.
            reads.remove(name)
            del resolver.reads[name]
        if used_itself and name not in reads:
            reads.append(name)
            resolver.reads[name] = None
        return _Changed(name, list(columns.items()), Rows(own, below), reads)

    def _assigned(
        self, clause: form.SetClause, what: form.UpdateForm, source: Relation | None
    ) -> list[tuple[str, form.Expression | Dependencies]]:
        found: list[tuple[str, form.Expression | Dependencies]] = list(clause.assignments)
        schema = self.find_schema(what.target)
        if clause.by_position:
            names = list(schema.keys) if schema is not None else []
            for place, value in enumerate(clause.by_position):
                own = value.references[0][0][-1] if value.references else f"_{place + 1}"
                found.append((names[place] if place < len(names) else own, value))
        if clause.star and source is not None:
            if schema is not None:
                for name in schema.keys:
                    fitting = source.any(name)
                    if len(fitting) == 1:
                        found.append((name, fitting[0]))
                    elif fitting:
                        reason = "more than one table of unknown schema may have it"
                        found.append((name, self.resolver.leaves.guess(name, fitting, reason)))
            if schema is None or what.target.evolves:
                found += [
                    (name, value.star() if isinstance(value, Open) else value)
                    for name, value in source.columns()
                    if schema is None or name not in schema.positions
                ]
        return found

    def _session(self, what: form.SessionForm) -> None:
        session, values = self.session, what.values
        if what.what == "database" and values:
            session.database, session.schema = values[0], values[1] if len(values) > 1 else ""
            session.search_path = ()
        elif what.what == "schema" and values:
            session.schema = values[-1]
            if len(values) > 1:
                session.database = values[0]
            session.search_path = ()
        elif what.what == "search_path":
            session.search_path = values
        elif what.what == "type":
            session.types[values[0]] = values[1:]
        elif what.what == "variables":
            session.variables |= frozenset(values)
        elif what.what == "begin":
            session.begin(nested=self.resolver.rule.parser in {"tsql", "fabric"})
        elif what.what == "commit":
            session.commit()
        elif what.what in {"rollback", "rollback partly"}:
            session.rollback(partly=what.what == "rollback partly")

    # --- names

    def key(self, parts: form.Parts, temporary: bool = False) -> TableName:
        if temporary and len(parts) == 1:
            return parts
        return self.resolver.whole(self.session.qualified(parts, self.resolver.catalog)) if parts else ()

    def target(self, target: form.Target, temporary: bool = False) -> TableName:
        """The name of what is written, as it is shown."""
        if target.is_path:
            return target.name
        key = self.key(target.name, temporary)
        schema = self.session.find(key, self.resolver.catalog)
        return schema.name if schema is not None and len(schema.name) >= len(key) else self.resolver.display_name(key)

    def find_schema(self, target: form.Target) -> Schema | None:
        if target.is_path:
            return None
        key = self.key(target.name)
        return self.session.find(key, self.resolver.catalog)

    def display_name(self, name: str) -> str:
        return self.resolver.spellings.get(name, name)

    # --- recording flows

    def flow(
        self, target: TableName | None, action: str, columns: list[Column], rows: Rows | None, reads: list[TableName]
    ) -> None:
        index = len(self.result.flows)
        outputs = []
        for place, (name, value) in enumerate(columns):
            depends = value.star() if isinstance(value, Open) else value
            fields = self._fields(depends, index, place) if type(depends) is StructValue else ()
            outputs.append(Output(self.display_name(name), self._inputs(depends, index, place), fields))
        deciding = self._inputs(rows.flat(), index, -1) if rows is not None else ()
        if self.resolver.values:  # Tables behind a variable were read where it got its value.
            met = dict.fromkeys(one.table for output in outputs for one in output.inputs)
            reads = [*reads, *(table for table in met if table not in reads and table != target)]
        self.result.flows.append(Flow(target, action, tuple(outputs), deciding, tuple(reads)))
        if target is not None and target not in self.result.writes:
            self.result.writes.append(target)

    def _inputs(self, depends: Dependencies, flow: int, output: int) -> tuple[Input, ...]:
        """Leaves to inputs: one for each column, its paths folded; guesses are set aside."""
        if not depends:
            return ()
        found: list[Input] = []
        paths = False
        entries, inputs, spellings = self.resolver.leaves.entries, self.inputs, self.resolver.spellings
        for leaf, bits in depends.items():
            one = inputs.get((leaf, bits))
            if one is None:
                entry = entries[leaf]
                if type(entry) is Guess:
                    self.guesses.setdefault(leaf, []).append((flow, output, bits))
                    continue
                table, field, path = entry  # type: ignore[misc]
                one = inputs[leaf, bits] = Input(table, spellings.get(field, field), bits, path)
            paths = paths or bool(one.path)
            found.append(one)
        if paths and not self.session.conventions.struct_leaves:
            found = folded(found)
        if len(found) > 1:
            found.sort()
        return tuple(found)

    def _fields(self, value: StructValue, flow: int, output: int) -> tuple[tuple[str, tuple[Input, ...]], ...]:
        """The fields of an output that the statement makes: those of a column that passes as it is are the column's."""
        found: dict[str, Dependencies] = {}
        for path, depends in paths(value, self.resolver.leaves.deeper):
            name = ".".join(self.display_name(step) for step in path)
            found[name] = union([found[name], depends]) if name in found else depends
        return tuple((name, self._inputs(depends, flow, output)) for name, depends in found.items())

    def close(self) -> None:
        result = self.result
        result.reads = list(self.resolver.reads)
        result.partitions = list(self.resolver.partitions)
        entries = self.resolver.leaves.entries
        for leaf, outputs in self.guesses.items():
            guess = entries[leaf]
            assert isinstance(guess, Guess)
            bits = 0
            for _, _, kinds in outputs:
                bits |= kinds
            candidates = tuple(self._candidate(one, bits) for one in guess.candidates)
            result.unresolved.append(Unresolved(guess.name, candidates, guess.reason, guess.confidence, tuple(outputs)))

    def _candidate(self, leaf: int, bits: int) -> Input:
        entry = self.resolver.leaves.entries[leaf]
        assert isinstance(entry, tuple)
        return Input(entry[0], self.display_name(entry[1]), bits, entry[2])


def _says(value: "Dependencies | Open") -> bool:
    """Return whether a column of a query has a name and an input."""
    return not isinstance(value, Open) and bool(value)
