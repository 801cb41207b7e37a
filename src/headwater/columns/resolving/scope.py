"""Names to columns: what a name means where it stands.

The innermost query that has the name wins; a name that tables of unknown schema could own too is a guess with its candidates, never a pick.
"""

from headwater.columns import form
from headwater.columns.resolving.dependencies import NOTHING, Dependencies, add, union
from headwater.columns.resolving.relation import OF_MAPS, Open, OpenValue, Relation
from headwater.columns.resolving.struct import fields_listed, row_of
from headwater.columns.resolving.surroundings import Surroundings
from headwater.columns.result import TableName

NEVER, AFTER, FIRST = 0, 1, 2
"""The reach of an output's alias as a name here: none, where no column has it, before any column."""


class Scope:
    """The relations a query's expressions see, and those of the queries around it.

    `merged`: the columns USING and NATURAL made one of. `aliases`: outputs by name, as far as they are known.
    """

    def __init__(self, around: Surroundings, outer: "Scope | None", ctes: dict[str, Relation]) -> None:
        self.around = around
        self.leaves, self.holes = around.leaves, around.holes
        self.own_first = False
        """True if a name that the one unknown table here may have counts as its column: in a subquery's outputs and keys, where a name
        of the query around it would make no sense."""
        self.outer = outer
        self.ctes = ctes
        self.relations: list[tuple[str, TableName, Relation]] = []
        self._tables: list[Relation] = []
        """The relations alone: what is looked through for each name."""
        self._by_alias: dict[str, Relation] = {}
        self.merged: dict[str, Dependencies] = {}
        self.merged_of: dict[str, list[Relation]] = {}
        """The relations whose column of the name went into the merged one: a third one's stays its own."""
        self.aliases: dict[str, Dependencies] = {}
        self.mode = NEVER
        self.known: dict[form.Parts, Dependencies] = {}
        """The names looked up so far, in the present mode."""
        self._caches: tuple[dict[form.Parts, Dependencies], ...] = (self.known, {}, {})

    def add(self, alias: str, name: TableName, relation: Relation) -> None:
        self.relations.append((alias, name, relation))
        self._tables.append(relation)
        self._by_alias.setdefault(alias, relation)
        self._forget()

    def hide(self, alias: str, place: int) -> None:
        """The relation at `place` was only there to decide (a semi join)."""
        _, _, relation = self.relations.pop(place)
        del self._tables[place]
        if self._by_alias.get(alias) is relation:
            del self._by_alias[alias]
        self._forget()

    def _forget(self) -> None:
        never, after, first = self._caches
        if never:
            never.clear()
        if after or first:
            after.clear()
            first.clear()

    def set_mode(self, mode: int) -> None:
        self.mode = mode
        self.known = self._caches[mode]

    def define(self, name: str, value: Dependencies) -> None:
        """An output got its value; in some dialects those after it may name it. The first of a name stays."""
        if name and name not in self.aliases:
            self.aliases[name] = value
            _, after, first = self._caches
            if after:
                after.pop((name,), None)
            if first:
                first.pop((name,), None)

    def column(self, parts: form.Parts, path: str) -> Dependencies:
        found = self.known.get(parts)
        if found is None:
            found = self.find(parts)
        return self.leaves.deeper(found, path) if path else found

    def find(self, parts: form.Parts) -> Dependencies:
        """Look a name up that is not among the `known` ones, and keep it there."""
        if len(parts) == 1 and self.mode != FIRST and not self.merged and not self.holes:
            # Nearly always: the name of a column of one relation here.
            name = parts[0]
            owner = None
            for relation in self._tables:
                if name in relation.names:
                    if owner is not None:
                        break
                    owner = relation
            else:
                if owner is not None and name not in owner.twice:
                    found = owner.get(name)
                    if found is not None:
                        self.known[parts] = found
                        return found
        known = self.known
        found = known[parts] = self._find(parts)
        return found

    def _find(self, parts: form.Parts) -> Dependencies:
        holes = self.holes
        if holes and parts[-1].lower() in holes:
            return NOTHING
        if len(parts) > 1:
            return self._qualified(parts)
        return self._plain(parts[0])

    # --- one name

    def _plain(self, name: str) -> Dependencies:
        if name == "*":
            return self._everything()
        if name.startswith("@"):
            return self._held(name.lower(), "")
        if name in self.around.scalars:
            return self.around.scalars[name]
        found, candidates = self._search(name)
        if found is not None:
            return found
        if name.lower() in self.around.variables:
            return self._held(name.lower(), "")
        if candidates and self.around.rows_by_name:
            row = self._row(name)
            if row is not None:
                self.around.warnings[
                    f"{name} is taken for the row of what is called so; a column of unknown columns may be, too"
                ] = None
                return row
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            return self.leaves.guess(name, candidates, "more than one table of unknown schema may have it")
        row = self._row(name)
        if row is not None:
            return row
        if name in self.around.virtual:
            owners = [own for _, _, one in self.relations if (own := one.virtual(name)) is not None]
            if owners:
                return owners[0] if len(owners) == 1 else self.leaves.guess(name, owners, "every table here has it")
        if name.lower() in self.around.pseudo:
            return NOTHING
        return self._missing(name)

    def _search(self, name: str) -> tuple[Dependencies | None, list[Dependencies]]:
        """The column that certainly has the name, or those that may."""
        candidates: list[Dependencies] = []
        level: Scope | None = self
        while level is not None:
            hit = level._hit(name, candidates)
            if hit is not None:
                if not candidates:
                    return hit, []
                candidates.append(hit)
                break
            if self.own_first and len(candidates) == 1 and not (self.around.rows_by_name and name in level._by_alias):
                if level.outer is not None and level.outer.may_have(name):
                    self.around.warnings[
                        f"{name} is taken to be of the subquery's own table; one around it may have it, too"
                    ] = None
                return candidates[0], []
            level = level.outer
        return None, candidates

    def _hit(self, name: str, candidates: list[Dependencies]) -> Dependencies | None:
        mode = self.mode
        if mode == FIRST and name in self.aliases:
            return self.aliases[name]
        if name in self.merged:
            return self.merged[name]
        is_open = False
        owners: list[Dependencies] = []
        for called, _, relation in self.relations:
            if name in relation.names and not (owners and called.lower() == "excluded"):
                owners += relation.any(name)
            if relation.opens:
                is_open = True
        if len(owners) == 1:
            return owners[0]
        if owners:
            alias_value = self.aliases.get(name) if mode == AFTER else None
            if alias_value is not None:
                return alias_value
            if all(one == owners[0] for one in owners):
                return owners[0]
            return self.leaves.guess(name, owners, "more than one table here has it")
        if not is_open:  # A field of what UNNEST gives needs no qualifier, if nothing else has the name.
            for _, _, relation in self.relations:
                if relation.inside is not None:
                    found = relation.inside.field(name)
                    if found is not None and name not in self.aliases:
                        return found
        alias = self.aliases.get(name) if mode == AFTER else None
        if alias is not None and not (is_open and self._depends_on_name(alias, name)):
            if is_open:
                self.around.warnings[
                    f"{name} is taken for the output of that name; a table of unknown columns may have it, too"
                ] = None
            return alias
        if is_open and name.lower() in self.around.variables:
            return self._held(name.lower(), "")
        if is_open and (name.lower() in self.around.pseudo and name.lower() not in _MAYBE_COLUMNS):
            return NOTHING
        if is_open:
            for _, _, relation in self.relations:
                if relation.inside is not None and not relation.opens and name in OF_MAPS:
                    field = relation.inside.field(name)
                    candidates += [field] if field is not None else []
                for one in relation.opens:
                    value = one.field(name)
                    if value is not None:
                        candidates.append(value)
        return None

    def may_have(self, name: str) -> bool:
        """Return whether a relation here or around could own the name."""
        level: Scope | None = self
        while level is not None:
            if any(relation.opens or name in relation.names for _, _, relation in level.relations):
                return True
            level = level.outer
        return False

    def _depends_on_name(self, value: Dependencies, name: str) -> bool:
        """Return whether `value` names a column called `name`: then that column exists, and an alias of its name does not hide it."""
        for leaf in value:
            entry = self.leaves.entries[leaf]
            if (entry[1] if isinstance(entry, tuple) else entry.name) == name:
                return True
        return False

    # --- names of several parts

    def _qualified(self, parts: form.Parts) -> Dependencies:
        level: Scope | None = self
        while level is not None:
            relation = level._by_alias.get(parts[0])
            if relation is not None:
                found = self._of(relation, parts[1:])
                if found is not None:
                    return (
                        self._or_column(parts, relation, found)
                        if len(parts) > 2 and self._by_own_name(parts[0])
                        else found
                    )
            if len(parts) > 2:
                for _, name, relation in level.relations:
                    for length in range(2, len(parts)):
                        if is_suffix(parts[:length], name):
                            found = self._of(relation, parts[length:])
                            if found is not None:
                                return found
            level = level.outer
        if parts[0].lower() in self.around.values or parts[0].startswith("@:"):
            return self._held(parts[0].lower(), parts[1])
        if parts[0].lower() in {"session", "system"} and parts[-1].lower() in self.around.variables:
            return self._held(parts[-1].lower(), "")
        if parts[-1].lower() in {"nextval", "currval"}:
            return NOTHING
        # No relation is called that: the first part may be a struct.
        found, candidates = self._search(parts[0])
        if found is None and len(candidates) == 1 and self.around.structs:
            found = candidates[0]
        elif (
            found is not None
            and not self.around.structs
            and not any(parts[0] in one.names for _, _, one in self.relations)
        ):
            candidates, found = [found], None
        if found is not None:
            return self.leaves.deeper(found, ".".join(part for part in parts[1:] if part != "*"))
        if (
            parts[0].lower() in self.around.variables
            or parts[0] in _CONTEXT_ROWS
            or parts[-1].lower() in {"nextval", "currval"}
        ):
            return NOTHING
        written = ".".join(parts)
        if candidates:
            path = ".".join(parts[1:])
            deeper = [self.leaves.deeper(one, path) for one in candidates]
            return self.leaves.guess(
                written, deeper, f"no table here is called {parts[0]}; it may be a column with fields"
            )
        return self.leaves.guess(written, [], f"nothing here is called {parts[0]}")

    def _by_own_name(self, alias: str) -> bool:
        """Return whether a relation of unknown columns is called by its own name, and by no alias that the query chose."""
        return any(
            one.opens and name and name[-1].lower() == alias.lower() == called.lower()
            for called, name, one in self.relations
        )

    def _or_column(self, parts: form.Parts, relation: Relation, found: Dependencies) -> Dependencies:
        """`m.q.n` of an unknown table m: its column q, or its column m with a field q."""
        if parts[1] in relation.names or parts[1] == "*":
            return found
        path = ".".join(part for part in parts[1:] if part != "*")
        others = [self.leaves.deeper(one, path) for one in relation.any(parts[0])]
        return self.leaves.guess(
            ".".join(parts), [found, *others], f"{parts[0]} is a table here, and may be a column of it"
        )

    def _of(self, relation: Relation, rest: form.Parts) -> Dependencies | None:
        name = rest[0]
        if name == "*":
            return row_of(relation)
        found = relation.any(name)
        if not found and name in self.around.virtual and (own := relation.virtual(name)) is not None:
            found = [own]
        if not found:
            return None
        value = (
            found[0]
            if len(found) == 1
            else self.leaves.guess(name, found, "more than one table of unknown schema may have it")
        )
        return self.leaves.deeper(value, ".".join(rest[1:])) if len(rest) > 1 else value

    # --- names that are no columns

    def _held(self, variable: str, column: str) -> Dependencies:
        """Return what a column of a variable depends on."""
        held = self.around.values.get(variable.removeprefix("@:"), {})
        if column not in held and "*" in held:
            return self.leaves.deeper(held["*"], column)
        return held.get(column, NOTHING)

    def _row(self, name: str) -> Dependencies | None:
        """A relation's own name: its whole row."""
        level: Scope | None = self
        while level is not None:
            relation = level._by_alias.get(name)
            if relation is not None:
                return row_of(relation)
            level = level.outer
        return None

    def _everything(self) -> Dependencies:
        if len(self.relations) == 1:
            return row_of(self.relations[0][2])
        return union(value for _, _, relation in self.relations for value in relation.first_values())

    def _missing(self, name: str) -> Dependencies:
        tables = [relation for _, _, relation in self.relations]
        if not tables:
            return self.leaves.guess(name, [], "there is no table here to have it")
        return self.leaves.guess(name, [], "no table here has it")

    # --- stars

    def relation_named(self, qualifier: form.Parts) -> Relation | None:
        level: Scope | None = self
        while level is not None:
            if len(qualifier) == 1:
                if qualifier[0] in level._by_alias:
                    return level._by_alias[qualifier[0]]
            else:
                for _, name, relation in level.relations:
                    if is_suffix(qualifier, name):
                        return relation
            level = level.outer
        return None

    def star(self, qualifier: form.Parts) -> list[tuple[str, Dependencies | Open]]:
        """The columns of `*` or `qualifier.*`."""
        if qualifier:
            relation = self.relation_named(qualifier)
            if relation is not None:
                listed = relation.columns()
                if relation.inside is not None and len(listed) == 1 and listed[0][0] == qualifier[-1]:
                    return fields_listed(relation.inside.value) or [("*", relation.inside)]
                if self.around.using_first and self.merged:  # Spark lists what USING joined on before the rest.
                    places = {name: place for place, name in enumerate(self.merged_in(relation))}
                    return sorted(listed, key=lambda one: places.get(one[0], len(places)))
                return list(listed)
            struct = self.column(qualifier, "")
            return fields_listed(struct) or [("*", OpenValue(self.leaves, struct, within=True))]
        if not self.merged:
            return [column for _, _, relation in self.relations for column in relation.columns()]
        result: list[tuple[str, Dependencies | Open]] = list(self.merged.items())
        for _, _, relation in self.relations:
            shown = self.merged_in(relation)
            for name, value in relation.columns():
                if isinstance(value, Open):
                    result.append((name, value.without(shown, {})))
                elif name not in shown:
                    result.append((name, value))
        return result

    def merged_in(self, relation: Relation) -> list[str]:
        """The merged columns `relation` has a part in, in the order they are shown."""
        return [name for name in self.merged if any(one is relation for one in self.merged_of[name])]

    def join_columns(self, names: list[str], relation: Relation, join: str) -> Dependencies:
        """USING: each name is one column from here on. Returns what decides: both sides of each."""
        deciding: Dependencies = {}
        merged: dict[str, Dependencies] = {}
        for name in names:
            found, candidates = self._search_here(name)
            left = found if found is not None else self._choose_candidate(name, candidates)
            right = self._choose_candidate(name, relation.any(name))
            add(deciding, left)
            add(deciding, right)
            if join == "right":
                merged[name] = right
            elif join == "full":
                merged[name] = {leaf: bits | 2 if bits & 1 else bits for leaf, bits in union([left, right]).items()}
            else:
                merged[name] = left
        if join not in {"semi", "anti"}:
            for name in merged:
                before = self.merged_of.get(name) or [
                    one for _, _, one in self.relations if name in one.names or one.opens
                ]
                self.merged_of[name] = [*before, relation]
            self.merged = {**merged, **{name: value for name, value in self.merged.items() if name not in merged}}
            self._forget()
        return deciding

    def _search_here(self, name: str) -> tuple[Dependencies | None, list[Dependencies]]:
        candidates: list[Dependencies] = []
        return self._hit(name, candidates), candidates

    def _choose_candidate(self, name: str, candidates: list[Dependencies]) -> Dependencies:
        if len(candidates) == 1:
            return candidates[0]
        return self.leaves.guess(name, candidates, "a name in USING that more or fewer than one table may have")


def is_suffix(qualifier: form.Parts, name: TableName) -> bool:
    return len(qualifier) <= len(name) and _folded(name[-len(qualifier) :]) == _folded(qualifier)


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


# Rows that a trigger or an upsert gives names to.
_CONTEXT_ROWS = frozenset({"new", "old", "NEW", "OLD", "inserted", "deleted", "INSERTED", "DELETED"})
# Words of PSEUDO that are column names at least as often.
_MAYBE_COLUMNS = frozenset({"level", "user", "today", "now", "uid", "default", "current_role"})
