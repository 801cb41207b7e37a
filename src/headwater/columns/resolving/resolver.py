"""Queries of the internal form to relations: what each output depends on, given what schemas are known. No parser here.

A CTE is resolved once and shared. Recursion goes as deep as queries nest, and no deeper; chains are walked.
"""

from collections.abc import Mapping
from itertools import islice

from headwater.columns import form
from headwater.columns.dialect import HIVES
from headwater.columns.kinds import AGGREGATED, AS_IS, FILTER, GROUP_BY, MASKED, MASKING_USE, SORT, STEPS, step
from headwater.columns.resolving.common_tables import in_order
from headwater.columns.resolving.dependencies import (
    NOTHING,
    Dependencies,
    StructValue,
    add,
    add_used,
    alike,
    union,
    used,
)
from headwater.columns.resolving.from_clause import FromClause
from headwater.columns.resolving.grouping import columns_grouped_by
from headwater.columns.resolving.relation import Column, Open, OpenUnion, OpenValue, Relation, Rows
from headwater.columns.resolving.scope import AFTER, FIRST, Scope
from headwater.columns.resolving.stars import star_columns
from headwater.columns.resolving.struct import of_subquery, struct_value, together

_PLAIN = 1 << MASKED
_LOW = MASKING_USE - 1
_ROUNDS = 50
LIMIT = 4_000_000


class TooMuch(Exception):
    """The statement has more dependencies than are worth having."""


class Resolver(FromClause):
    """Resolves the queries of one statement."""

    # --- queries

    def query(self, query: form.Query, ctes: dict[str, Relation], outer: Scope | None) -> Relation:
        if isinstance(query, form.Select):
            return self._select(query, ctes, outer)
        if isinstance(query, form.SetOperation):
            return self._set_operation(query, ctes, outer)
        return self._values(query, ctes, outer)

    def with_ctes(
        self, definitions: list[form.Cte], ctes: dict[str, Relation], outer: Scope | None
    ) -> dict[str, Relation]:
        if not definitions:
            return ctes
        known = dict(ctes)
        if self.rule.parser == "hive" and len(definitions) > 1:
            definitions = in_order(definitions)
        for one in definitions:
            if one.scalar and isinstance(one.query, form.Select) and not one.query.items:
                continue  # An expression: it means what it means where it is used.
            if one.scalar:
                self.scalars[one.name] = union(self.query(one.query, known, outer).first_values())
            elif one.recursive and isinstance(one.query, form.SetOperation):
                known[one.name] = self._recursive(one, one.query, known, outer)
            else:
                known[one.name] = self._renamed(self.query(one.query, known, outer), one.columns)
        return known

    def _recursive(
        self, definition: form.Cte, query: form.SetOperation, ctes: dict[str, Relation], outer: Scope | None
    ) -> Relation:
        """The anchor first; then the whole with the name bound to what is known so far, until nothing new comes."""
        anchor = query.branches[0]
        known = self._renamed(self.query(anchor, self.with_ctes(query.ctes, ctes, outer), outer), definition.columns)
        for _ in range(_ROUNDS):
            bound = Relation(known.columns(), known.rows)
            result = self._renamed(self.query(query, {**ctes, definition.name: bound}, outer), definition.columns)
            if not bound.touched or _same(result.columns(), known.columns()):
                # The rows were resolved with the name bound to the last round: nothing is missing, and no graph may bite its tail.
                return Relation(result.columns(), Rows(result.rows.flat(), []) if result.rows else None)
            known = Relation(result.columns(), Rows(result.rows.flat(), []) if result.rows else None)
        return known

    def _set_operation(self, query: form.SetOperation, ctes: dict[str, Relation], outer: Scope | None) -> Relation:
        ctes = self.with_ctes(query.ctes, ctes, outer)
        result = self.query(query.branches[0], ctes, outer)
        below = [result.rows] if result.rows else []
        own: Dependencies = {}
        position, operations = 0, query.operations
        while position < len(operations):
            operator, _, by_name = operations[position]
            run = position
            while run < len(operations) and operations[run][0] == operator and operations[run][2] == by_name:
                run += 1
            rights = [self.query(branch, ctes, outer) for branch in query.branches[position + 1 : run + 1]]
            below += [right.rows for right in rights if right.rows]
            if operator == "union":
                distinct = [place for place in range(position, run) if operations[place][1]]
                until = distinct[-1] - position + 1 if distinct else 0
                if until:
                    result = self._united(result, rights[:until], by_name)
                    for value in result.first_values():
                        add(own, used(value, GROUP_BY))
                result = self._united(result, rights[until:], by_name)
            else:  # Rows of one side stay by what the other side holds: the columns of both decide.
                for side in [result, *(rights if self.session.conventions.except_right else ())]:
                    for value in side.first_values():
                        add(own, used(value, FILTER))
            position = run
        if query.order:
            scope = self.scope(ctes, outer)
            scope.add("", (), result)
            self._keys(query.order, scope, result.columns(), FIRST, SORT, own)
        return Relation(result.columns(), Rows(own, below))

    def _united(self, first: Relation, others: list[Relation], by_name: bool) -> Relation:
        if not others:
            return first
        if first.opens or any(other.opens for other in others):
            return self._united_open(first, others, by_name)
        names = [name for name, _ in first.columns()]
        values: list[Dependencies] = list(first.first_values())
        if by_name:
            places = {name: place for place, name in reversed(list(enumerate(names)))}
            for other in others:
                for name, value in other.columns():
                    if not name or name not in places:  # Outputs whose names are not known are not taken for one.
                        places[name] = len(names)
                        names.append(name)
                        values.append({})
                    found = value.star() if isinstance(value, Open) else value
                    values[places[name]] = _both(values[places[name]], found)
        else:
            values = [dict(value) if type(value) is dict else value for value in values]
            for other in others:
                for place, theirs in enumerate(islice(other.first_values(), len(values))):
                    mine = values[place]
                    if type(mine) is dict and type(theirs) is dict:
                        add(mine, theirs)
                    else:
                        values[place] = together([mine, theirs])
        self._spend(sum(map(len, values)))
        return Relation(list(zip(names, values, strict=True)))

    def _united_open(self, first: Relation, others: list[Relation], by_name: bool) -> Relation:
        """Return the union's relation: by place as far as both sides are known from the left, then by name, as a guess."""
        columns: list[Column] = []
        sure = True
        for place, (name, value) in enumerate(first.columns()):
            if isinstance(value, Open):
                sure = False
                columns.append((name, OpenUnion(self.leaves, value, others)))
                continue
            merged = dict(value)
            for other in others:
                listed = other.columns()
                in_place = sure and not any(isinstance(one, Open) for _, one in listed[: place + 1])
                if in_place and place < len(listed) and not by_name:
                    add(merged, listed[place][1])  # type: ignore[arg-type]
                elif found := other.any(name):
                    if by_name and len(found) == 1:
                        add(merged, found[0])
                    else:
                        add(
                            merged,
                            self.leaves.guess(
                                name, found, "set operations go by place, and a table's columns are unknown", 0.9
                            ),
                        )
            columns.append((name, merged))
        if by_name and not first.opens:
            columns += _further_names([name for name, _ in columns], others)
        return Relation(columns)

    def _values(self, query: form.Values, ctes: dict[str, Relation], outer: Scope | None) -> Relation:
        scope = self.scope(self.with_ctes(query.ctes, ctes, outer), outer)
        width = max((len(row) for row in query.rows), default=0)
        columns: list[Dependencies] = [{} for _ in range(width)]
        for row in query.rows:
            for place, one in enumerate(row):
                if one.references or one.subqueries or one.taken or one.fields:
                    found = self.value(one, scope)
                    columns[place] = alike([columns[place], found]) if columns[place] else found
        return Relation([(self._values_name(place), value) for place, value in enumerate(columns)])

    def _values_name(self, place: int) -> str:
        parser = self.rule.parser
        if parser == "duckdb":
            return f"col{place}"
        if parser in HIVES:
            return f"col{place + 1}"
        return ("COLUMN%d" if self.rule.fold == "upper" else "column%d") % (place + 1)

    # --- SELECT

    def _select(self, query: form.Select, ctes: dict[str, Relation], outer: Scope | None) -> Relation:
        ctes = self.with_ctes(query.ctes, ctes, outer)
        scope = self.scope(ctes, outer)
        own: Dependencies = {}
        below: list[Rows] = []
        for item in query.items:
            self.item(item, scope, own, below)
        for one in query.ctes:
            if one.scalar and isinstance(one.query, form.Select) and not one.query.items:
                self.scalars[one.name] = self.value(one.query.projections[0].value, scope)
        scope.own_first = True
        columns = self.projections(query.projections, scope)
        scope.own_first = False
        scope.set_mode(self.filtering)
        for condition in query.where:
            self.into(own, condition, scope)
        if query.group:
            self._keys(query.group, scope, columns, self.grouping, GROUP_BY, own)
        if query.group_all:
            self._all_keys(query.projections, columns, scope, own)
        if query.having is not None:
            self._deciding(query.having, scope, self.having, FILTER, own, columns_grouped_by(query))
        if query.qualify is not None:
            scope.set_mode(AFTER)
            self.into(own, query.qualify, scope)
        if query.distinct:
            for _, value in columns:
                add_used(own, value.star() if isinstance(value, Open) else value, GROUP_BY)
        if query.distinct_on:
            self._keys(query.distinct_on, scope, columns, FIRST, GROUP_BY, own)
        if query.order:
            self._keys(query.order, scope, columns, self.ordering, SORT, own)
        if query.order_all:
            for _, value in columns:
                add_used(own, value.star() if isinstance(value, Open) else value, SORT)
        self._spend(len(own))
        return Relation(columns, Rows(own, below) if own or below else None)

    def _all_keys(
        self, projections: list[form.Projection], columns: list[Column], scope: Scope, own: Dependencies
    ) -> None:
        """GROUP BY ALL: every output that is no aggregate."""
        place = 0
        for one in projections:
            width = 1 if one.star is None else len(self.star(one.star, scope))
            if not one.aggregates:
                for _, value in columns[place : place + width]:
                    add(own, used(value.star() if isinstance(value, Open) else value, GROUP_BY))
            place += width

    def projections(self, projections: list[form.Projection], scope: Scope) -> list[Column]:
        scope.set_mode(self.lateral)
        columns: list[Column] = []
        for place, one in enumerate(projections):
            if one.star is None:
                if self.holes and (hole := self._hole(one)):  # Any number of outputs.
                    columns.append(("*", self.behind(hole)))
                    continue
                value = self.value(one.value, scope)
                name = one.name
                if not name:
                    name = f"_c{place}" if self.rule.parser == "hive" else ""
                elif name == "*":  # The fields of a value: only its type determines them.
                    listed = value.listed() if isinstance(value, StructValue) else None
                    columns += list(listed.items()) if listed else [("*", OpenValue(self.leaves, value, True))]
                    continue
                columns.append((name, value))
                if one.named:
                    scope.define(name, value)
            else:
                found = self.star(one.star, scope)
                columns += found
                for name, output in found:  # ORDER BY means them before the columns they come from
                    if not isinstance(output, Open):
                        scope.define(name, output)
        return columns

    def _hole(self, one: form.Projection) -> str:
        """Return why the outputs that stand in the place of `one` are not known; "" if they are."""
        found = one.value.references
        if len(found) != 1 or one.value.subqueries or found[0][0] != (one.name,) or found[0][1]:
            return ""
        return self.holes.get(one.name.lower(), "")

    def star(self, star: form.Star, scope: Scope) -> list[Column]:
        replaced = {name: self.value(value, scope) for name, value in star.replaced}
        return star_columns(star, scope, replaced, once=self.rule.parser == "duckdb")

    def _keys(
        self,
        keys: list[int | form.Expression],
        scope: Scope,
        columns: list[Column],
        mode: int,
        use: int,
        own: Dependencies,
    ) -> None:
        """Keys of GROUP BY, ORDER BY, DISTINCT ON: ordinals, names of outputs, expressions."""
        for key in keys:
            if isinstance(key, int):
                if 0 < key <= len(columns) and not any(isinstance(value, Open) for _, value in columns[:key]):
                    add_used(own, columns[key - 1][1], use)  # type: ignore[arg-type]
                elif any(isinstance(value, Open) for _, value in columns):
                    opened = union(value.star() for _, value in columns if isinstance(value, Open))
                    add(
                        own,
                        used(
                            self.leaves.guess(
                                str(key), [opened], "the place of a column behind a star of unknown columns"
                            ),
                            use,
                        ),
                    )
                continue
            bare = len(key.references) == 1 and not key.subqueries and len(key.references[0][0]) == 1
            allowed = mode if bare or mode == AFTER or self.rule.parser not in _INPUT_IN_KEYS else AFTER
            self._deciding(key, scope, allowed, use, own)

    # --- expressions

    def _deciding(
        self,
        expression: form.Expression,
        scope: Scope,
        mode: int,
        use: int,
        own: Dependencies,
        grouped: Mapping[str, form.Parts] | None = None,
    ) -> None:
        """HAVING and ORDER BY: outside aggregates a name may be an output's alias (`mode`), unless rows are `grouped` by a column of it; inside
        it is the input's."""
        for parts, inner, path in expression.references:
            is_aggregated = inner & _LOW == AGGREGATED
            key = grouped.get(parts[-1]) if grouped and mode and not is_aggregated else None
            scope.set_mode(self.filtering if is_aggregated else mode if key is None else AFTER)
            meant = key if key is not None and len(parts) == 1 else parts
            add_used(own, scope.column(meant, path), use | inner & MASKING_USE)
        scope.set_mode(mode)
        for query, _, standing in expression.subqueries:
            add_used(own, self._subquery(query, scope, standing), use)
        for value, path, _ in expression.taken:
            add_used(own, self._taken(value, path, AS_IS, scope), use)

    def value(self, expression: form.Expression, scope: Scope) -> Dependencies:
        """Return what an expression depends on."""
        references = expression.references
        if len(references) == 1 and not (expression.subqueries or expression.taken):
            parts, use, path = references[0]
            known = scope.known.get(parts)
            result = scope.find(parts) if known is None else known
            if path:
                result = self.leaves.deeper(result, path)
            if use:
                result = used(result, use)
        elif references:
            result = {}
            self.into(result, expression, scope)
        elif len(expression.taken) == 1 and not expression.subqueries:
            result = self._taken(*expression.taken[0], scope)
        elif len(expression.subqueries) == 1 and not expression.taken:
            query, use, standing = expression.subqueries[0]
            result = self._subquery(query, scope, standing)
            if use:
                result = used(result, use)
        else:
            result = {}
            self.into(result, expression, scope)
        if expression.fields is not None:
            return struct_value(result, expression.fields, lambda one: self.value(one, scope), self.session.types)
        return result

    def _taken(self, value: form.Expression, path: str, use: int, scope: Scope) -> Dependencies:
        """A field of a value that is no column."""
        found = self.value(value, scope)
        if path:
            found = self.leaves.deeper(found, path)
        return used(found, use) if use else found

    def into(self, result: Dependencies, expression: form.Expression, scope: Scope) -> None:
        """Adds what an expression depends on to `result`."""
        get, known = result.get, scope.known
        for parts, use, path in expression.references:
            found = known.get(parts)
            if found is None:
                found = scope.find(parts)
            if path:
                found = self.leaves.deeper(found, path)
            if use < MASKING_USE:
                steps = STEPS[use]
                for leaf, bits in found.items():
                    result[leaf] = get(leaf, 0) | (steps[bits] if bits < _PLAIN else step(bits, use))
            else:
                add(result, used(found, use))
        for query, use, standing in expression.subqueries:
            add_used(result, self._subquery(query, scope, standing), use)
        for value, path, use in expression.taken:
            add(result, self._taken(value, path, use, scope))

    def _subquery(self, query: form.Query, scope: Scope, standing: int) -> Dependencies:
        relation = self.query(query, scope.ctes, scope)
        rows = relation.rows.flat() if relation.rows else NOTHING
        if standing == form.EXISTS:
            return rows
        result = dict(rows)
        for place, value in enumerate(relation.first_values()):
            if place and standing == form.SCALAR:
                break
            add(result, value)
        return of_subquery(relation, standing, rows, result)

    def _spend(self, amount: int) -> None:
        self.spent += amount
        if self.spent > LIMIT:
            raise TooMuch


def _further_names(names: list[str], others: list[Relation]) -> list[Column]:
    """The columns that UNION BY NAME adds to `names`, those of the first branch."""
    further: dict[str, Dependencies] = {}
    more: list[Column] = []
    for other in others:
        for name, value in other.columns():
            if isinstance(value, Open):
                more.append((name, value.without(names, {})))
            elif not name:
                more.append((name, value))
            elif name not in names:
                further[name] = _both(further[name], value) if name in further else value
    return [*further.items(), *more]


def _both(some: Dependencies, others: Dependencies) -> Dependencies:
    return alike([some, others]) if some else others


def _same(some: list[Column], others: list[Column]) -> bool:
    return [one[1] for one in some if not isinstance(one[1], Open)] == [
        one[1] for one in others if not isinstance(one[1], Open)
    ]


_INPUT_IN_KEYS = frozenset({"postgres", "tsql", "oracle", "redshift"})
