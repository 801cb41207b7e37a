"""Random statements over a small schema, the same ones for the same seed: what no list of cases thinks of.

Names overlap between tables, so that qualification matters, and an alias may be called as a column is. A name always has the same type
(`id` is a number wherever it stands), so that what is written is mostly what Spark accepts; the few statements it refuses are left out by the caller.
`dialect` "duckdb" leaves out what DuckDB has not, and what would not answer the same twice (ties, LIMIT, any_value).
"""

import random
from collections.abc import Callable

NUMBER, TEXT, TRUTH = "bigint", "string", "boolean"
STRUCT, LIST, PAIRS = "struct<a: bigint, b: string>", "array<bigint>", "array<struct<p: bigint, q: string>>"
SCHEMAS: dict[str, dict[str, str]] = {
    "people": {"id": NUMBER, "age": NUMBER, "team": NUMBER, "name": TEXT, "city": TEXT},
    "orders": {"id": NUMBER, "person": NUMBER, "amount": NUMBER, "name": TEXT, "kind": TEXT, "info": STRUCT},
    "teams": {"team": NUMBER, "boss": NUMBER, "budget": NUMBER, "city": TEXT, "tags": LIST},
    "visits": {"id": NUMBER, "person": NUMBER, "team": NUMBER, "kind": TEXT, "pairs": PAIRS},
    "target": {"id": NUMBER, "team": NUMBER, "amount": NUMBER, "name": TEXT, "kind": TEXT},
}
NUMBERS = ("id", "age", "team", "person", "amount", "boss", "budget", "n1", "n2", "n3")
TEXTS = ("name", "city", "kind", "s1", "s2")
TYPES = {
    **dict.fromkeys(NUMBERS, NUMBER), **dict.fromkeys(TEXTS, TEXT), "info": STRUCT, "tags": LIST, "pairs": PAIRS,
    "p": NUMBER, "q": TEXT, "el": NUMBER, "pos": NUMBER, "x1": NUMBER, "x2": NUMBER, "t": TEXT,
}  # fmt: skip
Columns = list[str]


class Relation:
    """Something in FROM: its alias and the columns it shows by name (those shown twice left out)."""

    def __init__(self, alias: str, columns: Columns) -> None:
        self.alias = alias
        self.columns = [name for name in columns if columns.count(name) == 1]
        self.doubled = set(columns) - set(self.columns)


class Scope:
    """The names in a query's scope: its relations, the columns USING made one, the query around it, and the aliases before an item."""

    def __init__(self, relations: list[Relation], outer: "Scope | None" = None) -> None:
        self.relations = relations
        self.merged: set[str] = set()
        self.outer = outer
        self.aliases: dict[str, str] = {}
        self.always_qualified = False

    def bare(self, name: str) -> bool:
        """Return whether the name alone means one column."""
        if self.always_qualified:
            return False
        count = sum(name in relation.columns for relation in self.relations)
        return count == 1 or (count > 1 and name in self.merged)

    def known(self, name: str) -> bool:
        return any(name in relation.columns for relation in self.relations)

    def written(self, kind: str, dice: random.Random) -> list[str]:
        """Every way to write a column of this type."""
        found = []
        for relation in self.relations:
            for name in relation.columns:
                if TYPES[name] == kind:
                    found.append(name if self.bare(name) and dice.random() < 0.5 else f"{relation.alias}.{name}")
        return found

    def outer_written(self, kind: str, dice: random.Random) -> list[str]:
        """Columns of the query around that cannot be taken for ours."""
        if self.outer is None:
            return []
        own = {relation.alias for relation in self.relations}
        found = []
        for relation in self.outer.relations:
            for name in relation.columns:
                if TYPES[name] == kind and relation.alias not in own:
                    short = self.outer.bare(name) and not self.known(name) and dice.random() < 0.5
                    found.append(name if short else f"{relation.alias}.{name}")
        return found


class Generator:
    """Statements from a seed."""

    def __init__(self, seed: int, dialect: str = "spark") -> None:
        self.dice = random.Random(seed)
        self.spark = dialect == "spark"
        self.count = 0
        self.ctes: list[dict[str, Columns]] = [{}]
        self.windows: list[str] = []

    # --- dice

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def one(self, *choices: Callable[[], str]) -> str:
        return self.dice.choice(choices)()

    def alias(self, letter: str = "r") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # --- statements

    def statement(self) -> str:
        """A query, mostly; in Spark also what writes."""
        if not self.spark or self.chance(0.8):
            return self.query(3, None)[0]
        return self.one(self._insert, self._insert, self._create, self._merge, self._merge, self._update, self._delete)

    def _insert(self) -> str:
        names = list(SCHEMAS["target"])
        how = self.dice.choice(["insert into", "insert into", "insert overwrite"])
        table = "table " if how.endswith("overwrite") and self.chance(0.5) else ""
        form = self.dice.randrange(3)
        if form == 0:
            return f"{how} {table}target {self._shaped(names)}"
        chosen = self.dice.sample(names, self.dice.randint(2, len(names)))
        if form == 1:
            return f"{how} {table}target ({', '.join(chosen)}) {self._shaped(chosen)}"
        return f"{how} {table}target by name {self._shaped(chosen)}"

    def _create(self) -> str:
        return f"create table {self.alias('made')} using parquet as {self.query(3, None, distinct_names=True)[0]}"

    def _shaped(self, names: Columns) -> str:
        """A query whose columns have these names' types, in order."""
        scope, source = self._from(2, None)
        scope_where = self._where(scope, 2)
        items = ", ".join(f"{self.value(TYPES[name], scope, 2)} as {name}" for name in names)
        return f"select {items} from {source}{scope_where}"

    def _merge(self) -> str:
        target = Relation("tg", list(SCHEMAS["target"]))
        source, columns = self._source(1, None, [])
        made = Relation(self.alias("src"), columns)
        both, theirs = Scope([target, made]), Scope([made])
        numbers = theirs.written(NUMBER, self.dice) or ["1"]
        text = f"merge into target tg using {source} {made.alias} on tg.id = {self.dice.choice(numbers)}"
        if self.chance(0.4):
            text += f" and {self.truth(both, 1, subqueries=False)}"
        if self.chance(0.3):
            text += f" when matched and {self.truth(both, 1, subqueries=False)} then delete"
        if self.chance(0.8):
            names = self.dice.sample(list(SCHEMAS["target"]), self.dice.randint(1, 3))
            condition = f" and {self.truth(both, 1, subqueries=False)}" if self.chance(0.4) else ""
            sets = ", ".join(f"{name} = {self.value(TYPES[name], both, 1, subqueries=False)}" for name in names)
            text += f" when matched{condition} then update set {sets}"
        names = self.dice.sample(list(SCHEMAS["target"]), self.dice.randint(1, 4))
        condition = f" and {self.truth(theirs, 1, subqueries=False)}" if self.chance(0.3) else ""
        values = ", ".join(self.value(TYPES[name], theirs, 1, subqueries=False) for name in names)
        text += f" when not matched{condition} then insert ({', '.join(names)}) values ({values})"
        if self.chance(0.2):
            only = Scope([target])
            text += (
                f" when not matched by source then update set amount = {self.value(NUMBER, only, 1, subqueries=False)}"
            )
        return text

    def _update(self) -> str:
        scope = Scope([Relation("target", list(SCHEMAS["target"]))])
        names = self.dice.sample(list(SCHEMAS["target"]), self.dice.randint(1, 3))
        sets = ", ".join(f"{name} = {self.value(TYPES[name], scope, 2, subqueries=False)}" for name in names)
        return f"update target set {sets}{self._where(scope, 2)}"

    def _delete(self) -> str:
        scope = Scope([Relation("target", list(SCHEMAS["target"]))])
        return f"delete from target where {self.truth(scope, 2)}"

    # --- queries

    def query(self, depth: int, outer: Scope | None, *, distinct_names: bool = False) -> tuple[str, Columns]:
        """A query and the names of its columns."""
        self.ctes.append(dict(self.ctes[-1]))
        text = ""
        if depth > 1 and self.chance(0.3):
            parts: list[str] = []
            recursive = ""
            for _ in range(self.dice.randint(1, 2)):
                # A CTE may hide a table or a CTE of the query around, and may list its columns.
                taken = {part.split(" ", 1)[0] for part in parts}
                name = self.dice.choice(["people", "teams", "c1", "c2", "c3"])
                if name in taken:
                    continue
                if self.spark and self.chance(0.15):
                    parts.append(self._recursive(name, depth - 1))
                    self.ctes[-1][name] = ["n1", "s1"]
                    recursive = "recursive "
                    continue
                inner, columns = self.query(depth - 1, None, distinct_names=True)
                listed = ""
                if self.chance(0.2) and len(set(columns)) == len(columns):
                    columns = self._renamed(columns)
                    listed = f" ({', '.join(columns)})"
                self.ctes[-1][name] = columns
                parts.append(f"{name}{listed} as ({inner})")
            text = f"with {recursive}{', '.join(parts)} "
        if depth > 1 and self.chance(0.28):
            body, columns = self._set_operation(depth, outer)
        else:
            body, columns = self._select(depth, outer, distinct_names=distinct_names)
        self.ctes.pop()
        return text + body, columns

    def _recursive(self, name: str, depth: int) -> str:
        scope, source = self._from(depth - 1, None)
        first = f"select cast({self.value(NUMBER, scope, 1)} as bigint) as n2, {self.value(TEXT, scope, 1)} as s2 from {source}{self._where(scope, 1)}"
        loop = Relation(name, ["n1", "s1"])
        table, alias = self.dice.choice(["people", "orders", "visits"]), self.alias()
        other = Relation(alias, list(SCHEMAS[table]))
        both = Scope([loop, other])
        step = (
            f"select cast({self.value(NUMBER, both, 1, subqueries=False)} as bigint), {self.value(TEXT, both, 1, subqueries=False)} "
            f"from {name} join {table} {alias} on {alias}.id = n1 where {self.truth(both, 1, subqueries=False)}"
        )
        return f"{name} (n1, s1) as ({first} union all {step})"

    def _renamed(self, columns: Columns) -> Columns:
        used: set[str] = set()
        result = []
        for name in columns:
            pool = [other for other, kind in TYPES.items() if kind == TYPES[name] and other not in used]
            result.append(self.dice.choice(pool) if pool else name)
            used.add(result[-1])
        return result

    def _set_operation(self, depth: int, outer: Scope | None) -> tuple[str, Columns]:
        kinds = [self.dice.choice([NUMBER, TEXT]) for _ in range(self.dice.randint(1, 3))]
        words = ["union all", "union", "except", "intersect"] + (
            ["except all", "intersect all", "minus"] if self.spark else []
        )
        parts: list[str] = []
        columns: Columns = []
        for position in range(self.dice.randint(2, 3)):
            scope, source = self._from(depth - 1, outer)
            names = self._names(kinds)
            items = ", ".join(
                f"{self.value(kind, scope, 1)} as {name}" for kind, name in zip(kinds, names, strict=True)
            )
            part = f"select {items} from {source}{self._where(scope, depth - 1)}"
            if position:
                word = self.dice.choice(words)
                parts.append(f"{word} ({part})" if self.chance(0.3) else f"{word} {part}")
            else:
                parts.append(part)
                columns = names
        text = " ".join(parts)
        if self.chance(0.3):
            text += f" order by {self.dice.choice([*columns, '1'])}"
        return text, columns

    def _names(self, kinds: list[str]) -> Columns:
        used: set[str] = set()
        names = []
        for kind in kinds:
            name = self.dice.choice([name for name in (NUMBERS if kind == NUMBER else TEXTS) if name not in used])
            used.add(name)
            names.append(name)
        return names

    # --- FROM

    def _source(self, depth: int, outer: Scope | None, _left: list[Relation]) -> tuple[str, Columns]:
        """A table, a CTE or a subquery, without an alias."""
        ctes = self.ctes[-1]
        if depth > 0 and self.chance(0.35):
            text, columns = self.query(depth - 1, None)
            return f"({text})", columns
        if self.chance(0.06):
            return "(select * from (values (1, 'a'), (2, 'b')) as fixed(n1, s1))", ["n1", "s1"]
        if self.spark and depth > 0 and self.chance(0.08):
            return self._pivot(depth)
        name = self.dice.choice([*(table for table in SCHEMAS if table != "target"), *ctes])
        return name, ctes[name] if name in ctes else list(SCHEMAS[name])

    def _pivot(self, depth: int) -> tuple[str, Columns]:
        scope, source = self._from(depth - 1, None)
        if self.chance(0.5):
            number, other, text = (self.value(kind, scope, 1) for kind in (NUMBER, NUMBER, TEXT))
            inner = f"select {number} as n1, {other} as n2, {text} as s1 from {source}"
            aggregate = self.dice.choice(["sum(n1)", "max(n1 + 1)", "count(n1)", "sum(coalesce(n1, 0))"])
            return f"(select * from ({inner}) pivot ({aggregate} for s1 in ('a' as x1, 'b' as x2)))", ["n2", "x1", "x2"]
        number, other, text = (self.value(kind, scope, 1) for kind in (NUMBER, NUMBER, TEXT))
        inner = f"select {number} as n1, {other} as n2, {text} as s1 from {source}"
        return f"(select * from ({inner}) unpivot (n3 for t in (n1, n2)))", ["s1", "t", "n3"]

    def _from(self, depth: int, outer: Scope | None) -> tuple[Scope, str]:
        text, columns = self._source(depth, outer, [])
        name = text if text.isidentifier() and self.chance(0.4) else self.alias()
        relations = [Relation(name, columns)]
        scope = Scope(relations, outer)
        text, relations[0] = self._with_alias(text, name, columns)
        for _ in range(self.dice.choice([0, 0, 1, 1, 2])):
            text += self._joined(scope, depth)
            if self.chance(0.1) and text.count("(") == text.count(")"):
                text = f"({text})"
        if self.spark:
            text += self._lateral_view(scope)
        elif self.chance(0.1) and (lists := scope.written(LIST, self.dice)):
            made = self.alias("u")
            text += f", unnest({self.dice.choice(lists)}) as {made}(el)"
            relations.append(Relation(made, ["el"]))
        return scope, text

    def _with_alias(self, source: str, name: str, columns: Columns) -> tuple[str, Relation]:
        """A source under its alias, which may list other names for its columns."""
        if source == name:
            return source, Relation(name, columns)
        if self.chance(0.08) and len(set(columns)) == len(columns):
            columns = self._renamed(columns)
            return f"{source} {self._as()}{name} ({', '.join(columns)})", Relation(name, columns)
        return f"{source} {self._as()}{name}", Relation(name, columns)

    def _as(self) -> str:
        return "as " if self.chance(0.5) else ""

    def _joined(self, scope: Scope, depth: int) -> str:
        relations = scope.relations
        if depth > 1 and self.chance(0.12):
            inner, columns = self._lateral(depth - 1, scope)
            made = Relation(self.alias("l"), columns)
            word = self.dice.choice([", lateral", "cross join lateral", "left join lateral", "join lateral"])
            condition = "" if "," in word or "cross" in word else " on true"
            if word == "join lateral" and self.spark:
                condition = ""
            relations.append(made)
            return f"{'' if word[0] == ',' else ' '}{word} ({inner}) {made.alias}{condition}"
        source, columns = self._source(depth - 1, None, relations)
        made = Relation(self.alias(), columns)
        shown, made = self._with_alias(source, made.alias, columns)
        common = [
            name
            for name in made.columns
            if name in scope.merged or sum(name in other.columns for other in relations) == 1
        ]
        doubled = {name for other in relations for name in other.doubled}
        common = [name for name in common if name not in doubled]
        ambiguous = [
            name for name in made.columns if name not in common and any(name in other.columns for other in relations)
        ]
        word = self.dice.choice(["join", "inner join", "left join", "left outer join", "right join", "full join"])
        dice = self.dice.random()
        if dice < 0.15:
            relations.append(made)
            return f", {shown}" if self.chance(0.6) else f" cross join {shown}"
        if dice < 0.3:
            kept = ("left semi join", "left anti join") if self.spark else ("semi join", "anti join")
            both = Scope([*relations, made], scope.outer)
            both.merged = scope.merged
            return f" {self.dice.choice(kept)} {shown} on {self.truth(both, 1, subqueries=False)}"
        if dice < 0.45 and common:
            names = self.dice.sample(common, 1 if self.chance(0.6) else min(2, len(common)))
            relations.append(made)
            scope.merged |= set(names)
            return f" {word} {shown} using ({', '.join(names)})"
        if dice < 0.52 and common and not ambiguous and not doubled and len(columns) == len(made.columns):
            relations.append(made)
            scope.merged |= set(common)
            return f" natural {word} {shown}"
        both = Scope([*relations, made], scope.outer)
        both.merged = scope.merged
        condition = self.truth(both, 1, subqueries=False)
        left, right = Scope(relations).written(NUMBER, self.dice), [n for n in made.columns if TYPES[n] == NUMBER]
        if left and right and self.chance(0.7):
            left = [f"{other.alias}.{name}" for other in relations for name in other.columns if TYPES[name] == NUMBER]
            condition = f"{self.dice.choice(left)} = {made.alias}.{self.dice.choice(right)}" + (
                f" and {condition}" if self.chance(0.3) else ""
            )
        relations.append(made)
        return f" {word} {shown} on {condition}"

    def _lateral(self, depth: int, scope: Scope) -> tuple[str, Columns]:
        """A subquery that may use what stands left of it."""
        inner, source = self._from(depth - 1, scope)
        condition = self._correlation(inner) or self.truth(inner, 1)
        names = self._names([NUMBER, TEXT])
        if self.chance(0.4):
            items = f"{self.aggregate(NUMBER, inner)} as {names[0]}, {self.aggregate(TEXT, inner)} as {names[1]}"
        else:
            items = f"{self.value(NUMBER, inner, 1)} as {names[0]}, {self.value(TEXT, inner, 1)} as {names[1]}"
            if theirs := inner.outer_written(NUMBER, self.dice):
                names.append(next(name for name in NUMBERS if name not in names))
                items += f", {self.dice.choice(theirs)} + 1 as {names[2]}"
        return f"select {items} from {source} where {condition}", names

    def _lateral_view(self, scope: Scope) -> str:
        lists, pairs = scope.written(LIST, self.dice), scope.written(PAIRS, self.dice)
        if lists and self.chance(0.5):
            made, outer = self.alias("v"), "outer " if self.chance(0.3) else ""
            source = self.dice.choice(lists)
            if self.chance(0.3):
                scope.relations.append(Relation(made, ["pos", "el"]))
                return f" lateral view {outer}posexplode({source}) {made} as pos, el"
            scope.relations.append(Relation(made, ["el"]))
            return f" lateral view {outer}explode({source}) {made} as el"
        if pairs and self.chance(0.5):
            made = self.alias("v")
            scope.relations.append(Relation(made, ["p", "q"]))
            return f" lateral view inline({self.dice.choice(pairs)}) {made} as p, q"
        return ""

    # --- SELECT

    def _where(self, scope: Scope, depth: int) -> str:
        return f" where {self.truth(scope, depth)}" if self.chance(0.5) else ""

    def _select(self, depth: int, outer: Scope | None, *, distinct_names: bool = False) -> tuple[str, Columns]:
        scope, source = self._from(depth - 1, outer)
        where = self._where(scope, depth - 1)
        before, self.windows = self.windows, []
        if self.chance(0.35):
            text, columns = self._grouped(scope, source, where, depth)
        else:
            text, columns = self._plain(scope, source, where, depth, distinct_names=distinct_names)
        self.windows = before
        return text, columns

    def _plain(self, scope: Scope, source: str, where: str, depth: int, *, distinct_names: bool) -> tuple[str, Columns]:
        named = self.alias("w") if self.chance(0.2) else ""
        clause = ""
        if named:
            clause = f" window {named} as ({self._specification(scope)})"
            self.windows.append(named)
        items, columns = [], list[str]()
        for _ in range(self.dice.randint(1, 4)):
            if self.chance(0.12) and not (distinct_names and columns):
                item, made = self._star(scope)
                if made and not (distinct_names and len(set(made)) < len(made)):
                    items.append(item)
                    columns += made
                    if distinct_names:
                        break
                    continue
            kind = self.dice.choice([NUMBER, NUMBER, TEXT])
            pool = [n for n in (NUMBERS if kind == NUMBER else TEXTS) if not distinct_names or n not in columns]
            written = [
                w for w in scope.written(kind, self.dice) if not distinct_names or w.split(".")[-1] not in columns
            ]
            if written and self.chance(0.35):
                items.append(self.dice.choice(written))
                columns.append(items[-1].split(".")[-1])
                continue
            earlier = [name for name in scope.aliases if not scope.known(name) and scope.aliases[name] == kind]
            if earlier and self.chance(0.3):
                value = f"{self.dice.choice(earlier)} + 1" if kind == NUMBER else f"upper({self.dice.choice(earlier)})"
            elif self.chance(0.25):
                value = self.windowed(kind, scope)
            else:
                value = self.value(kind, scope, 2)
            name = self.dice.choice(pool)
            items.append(f"{value} {self._as()}{name}")
            columns.append(name)
            if scope.aliases.get(name) is None and " over " not in value:
                scope.aliases[name] = kind
            else:
                scope.aliases[name] = "twice"
        distinct = "distinct " if self.chance(0.12) else ""
        text = f"select {distinct}{', '.join(items)} from {source}{where}{clause if self.spark else ''}"
        scope.aliases = {}
        if self.chance(0.1) and not distinct:
            # The meaning of a bare name in QUALIFY depends, in Spark, on whether the SELECT list has a window too.
            scope.always_qualified = True
            condition = f"{self.dice.choice(['rank', 'dense_rank'])}() over ({self._specification(scope)}) < 3"
            scope.always_qualified = False
            text = f"select {', '.join(items)} from {source}{where}" + (
                f"{clause} qualify {condition}" if not self.spark else f" qualify {condition}{clause}"
            )
        elif not self.spark:
            text += clause
        return text + self._order(scope, columns, free=not distinct), columns

    def _star(self, scope: Scope) -> tuple[str, Columns]:
        relation = self.dice.choice(scope.relations)
        word = "except" if self.spark else "exclude"
        if self.chance(0.5):
            if len(relation.columns) > 1 and self.chance(0.3) and self.spark:
                out = self.dice.choice(relation.columns)
                return f"{relation.alias}.* {word} ({out})", [name for name in relation.columns if name != out]
            return f"{relation.alias}.*", list(relation.columns)
        columns = [name for other in scope.relations for name in other.columns]
        shown: Columns = []
        for name in columns:
            if name not in scope.merged or name not in shown:
                shown.append(name)
        single = [name for name in shown if scope.bare(name)]
        if single and len(shown) > 1 and self.chance(0.3):
            out = self.dice.choice(single)
            return f"* {word} ({out})", [name for name in shown if name != out]
        return "*", shown

    def _order(self, scope: Scope, columns: Columns, *, free: bool) -> str:
        if not self.chance(0.3):
            return ""
        keys = []
        for _ in range(self.dice.randint(1, 2)):
            choice = self.dice.random()
            singles = [name for name in columns if columns.count(name) == 1]
            if choice < 0.35 and singles:
                keys.append(self.dice.choice(singles))
            elif choice < 0.55:
                keys.append(str(self.dice.randint(1, len(columns))))
            elif choice < 0.7 and singles:
                name = self.dice.choice(singles)
                keys.append(
                    f"{name} + 1" if TYPES[name] == NUMBER else f"upper({name})" if TYPES[name] == TEXT else name
                )
            elif free:
                keys.append(self.value(NUMBER, scope, 1, subqueries=False))
        keys = [key + self.dice.choice(["", "", " desc", " nulls last"]) for key in keys]
        if not keys:
            return ""
        return f" order by {', '.join(keys)}" + (" limit 10" if self.spark and self.chance(0.3) else "")

    def _grouped(self, scope: Scope, source: str, where: str, depth: int) -> tuple[str, Columns]:
        keys: list[tuple[str, str]] = []
        for _ in range(self.dice.choice([0, 1, 1, 2])):
            kind = self.dice.choice([NUMBER, TEXT])
            written = scope.written(kind, self.dice)
            if written and self.chance(0.6):
                keys.append((self.dice.choice(written), kind))
            else:
                keys.append((self.value(kind, scope, 1, subqueries=False, constants=False), kind))
        keys = [pair for position, pair in enumerate(keys) if pair[0] not in {key for key, _ in keys[:position]}]
        items: list[str] = []
        columns: Columns = []
        by: list[str] = []
        for key, kind in keys:
            bare = key.split(".")[-1]
            shown = self.chance(0.8)
            if (
                shown
                and bare.isidentifier()
                and key.count(".") < 2
                and bare in TYPES
                and self.chance(0.4)
                and bare not in columns
            ):
                items.append(key)
                columns.append(bare)
            elif shown:
                pool = [n for n in (NUMBERS if kind == NUMBER else TEXTS) if n not in columns]
                items.append(f"{key} as {self.dice.choice(pool)}")
                columns.append(items[-1].rsplit(" ", 1)[-1])
            how = self.dice.random()
            if shown and how < 0.15:
                by.append(str(len(items)))
            elif shown and how < 0.3 and not scope.known(columns[-1]):
                by.append(columns[-1])
            else:
                by.append(key)
        scope_keys = [key for key, _ in keys]
        for _ in range(self.dice.randint(0 if items else 1, 2)):
            kind = self.dice.choice([NUMBER, NUMBER, TEXT])
            pool = [n for n in (NUMBERS if kind == NUMBER else TEXTS) if n not in columns]
            value = self.aggregate(kind, scope)
            numbers = [key for key, other in keys if other == kind]
            if numbers and self.chance(0.12):
                call = "abs" if kind == NUMBER else "upper"
                columns.append(self.dice.choice(pool))
                items.append(f"{call}({self.dice.choice(numbers)}) as {columns[-1]}")
                continue
            if numbers and self.chance(0.2):
                value = f"coalesce({self.dice.choice(numbers)}, {value})"
            elif kind == NUMBER and self.chance(0.15):
                value = f"sum({value}) over (partition by {self.dice.choice(scope_keys)})" if scope_keys else value
            elif kind == NUMBER and self.chance(0.1):
                value = f"rank() over (order by {value} desc)"
            elif kind == NUMBER and self.chance(0.2):
                value = f"case when {self.aggregate(NUMBER, scope)} > 3 then {value} else 0 end"
            columns.append(self.dice.choice(pool))
            items.append(f"{value} as {columns[-1]}")
        form = self.dice.random()
        if self.spark and by and form < 0.18 and self.chance(0.4):
            items.append(f"grouping({self.dice.choice(scope_keys)}) as x1")
            columns.append("x1")
        text = f"select {', '.join(items)} from {source}{where}"
        if by and form < 0.18:
            text += f" group by {self.dice.choice(['rollup', 'cube'])} ({', '.join(scope_keys)})"
        elif len(by) > 1 and form < 0.32:
            text += f" group by grouping sets (({', '.join(scope_keys)}), ({scope_keys[0]}), ())"
        elif by and form < 0.4 and len(items) >= len(by):
            text += " group by all"
        elif by:
            text += f" group by {', '.join(by)}"
        if self.chance(0.3):
            text += f" having {self._having(scope, scope_keys, columns)}"
        return text + self._order(scope, columns, free=False), columns

    def _having(self, scope: Scope, keys: list[str], columns: Columns) -> str:
        value = self.aggregate(NUMBER, scope)
        if self.chance(0.25):
            return f"{self.dice.choice(columns)} is not null"
        if keys and self.chance(0.2):
            return f"{self.dice.choice(keys)} is not null"
        if self.chance(0.2):
            return f"{value} > {self.scalar(NUMBER, Scope([]), 1)}"
        return f"{value} > {self.dice.randint(0, 3)}"

    # --- values

    def value(self, kind: str, scope: Scope, depth: int, *, subqueries: bool = True, constants: bool = True) -> str:
        """An expression of this type."""
        written = scope.written(kind, self.dice)
        if written and (depth <= 0 or self.chance(0.4)):
            return self.dice.choice(written)
        if depth <= 0 or (constants and self.chance(0.06)):
            if written:
                return self.dice.choice(written)
            if theirs := scope.written(TEXT if kind == NUMBER else NUMBER, self.dice):
                return f"length({theirs[0]})" if kind == NUMBER else f"cast({theirs[0]} as {self._text})"
            return str(self.dice.randint(0, 9)) if kind == NUMBER else self.dice.choice(["'a'", "'b'"])
        if kind == NUMBER:
            return self._number(scope, depth, subqueries=subqueries)
        return self._string(scope, depth, subqueries=subqueries)

    @property
    def _text(self) -> str:
        return "string" if self.spark else "varchar"

    def _number(self, scope: Scope, depth: int, *, subqueries: bool) -> str:
        def n() -> str:
            return self.value(NUMBER, scope, depth - 1, subqueries=subqueries)

        def s() -> str:
            return self.value(TEXT, scope, depth - 1, subqueries=subqueries)

        def b() -> str:
            return self.truth(scope, depth - 1, subqueries=subqueries)

        choices: list[Callable[[], str]] = [
            lambda: f"{n()} + {n()}",
            lambda: f"({n()} - {n()}) * 2",
            lambda: f"coalesce({n()}, {n()})",
            lambda: f"case when {b()} then {n()} else {n()} end",
            lambda: f"case {n()} when 1 then {n()} when 2 then {n()} end",
            lambda: f"nullif({n()}, {n()})",
            lambda: f"length({s()})",
            lambda: f"abs({n()})",
            lambda: f"greatest({n()}, {n()})",
            lambda: f"cast({n()} as bigint)" if not self.spark else f"cast({s()} as bigint)",
        ]
        if subqueries:
            choices.append(lambda: self.scalar(NUMBER, scope, depth - 1))
        structs, lists = scope.written(STRUCT, self.dice), scope.written(LIST, self.dice)
        if structs:
            choices += [lambda: f"{self.dice.choice(structs)}.a"] * 2
        if lists:
            first = "[0]" if self.spark else "[1]"
            choices += [lambda: f"{self.dice.choice(lists)}{first}"] * 2
            if self.spark:
                choices += [
                    lambda: f"size({self.dice.choice(lists)})",
                    lambda: f"transform({self.dice.choice(lists)}, id -> id + {n()})[0]",
                    lambda: f"aggregate({self.dice.choice(lists)}, cast({n()} as bigint), (acc, x) -> acc + x)",
                ]
        if self.spark:
            choices += [
                lambda: f"if({b()}, {n()}, {n()})",
                lambda: f"nvl({n()}, {n()})",
                lambda: f"nvl2({n()}, {n()}, {n()})",
                lambda: f"crc32({s()})",
                lambda: f"{n()}::int",
            ]
        return self.one(*choices)

    def _string(self, scope: Scope, depth: int, *, subqueries: bool) -> str:
        def n() -> str:
            return self.value(NUMBER, scope, depth - 1, subqueries=subqueries)

        def s() -> str:
            return self.value(TEXT, scope, depth - 1, subqueries=subqueries)

        def b() -> str:
            return self.truth(scope, depth - 1, subqueries=subqueries)

        choices: list[Callable[[], str]] = [
            lambda: f"upper({s()})",
            lambda: f"concat({s()}, {s()})",
            lambda: f"{s()} || '-' || {s()}",
            lambda: f"coalesce({s()}, {s()})",
            lambda: f"case when {b()} then {s()} else {s()} end",
            lambda: f"substring({s()}, 1, 2)",
            lambda: f"cast({n()} as {self._text})",
            lambda: f"nullif({s()}, {s()})",
            lambda: f"md5({s()})",
        ]
        if subqueries:
            choices.append(lambda: self.scalar(TEXT, scope, depth - 1))
        if structs := scope.written(STRUCT, self.dice):
            choices += [lambda: f"{self.dice.choice(structs)}.b"] * 2
        if self.spark:
            choices += [lambda: f"sha2({s()}, 256)", lambda: f"if({b()}, {s()}, {s()})"]
        return self.one(*choices)

    def truth(self, scope: Scope, depth: int, *, subqueries: bool = True) -> str:
        """A condition."""

        def n() -> str:
            return self.value(NUMBER, scope, depth - 1, subqueries=subqueries)

        def s() -> str:
            return self.value(TEXT, scope, depth - 1, subqueries=subqueries)

        choices: list[Callable[[], str]] = [
            lambda: f"{n()} {self.dice.choice(['=', '<', '>=', '<>'])} {n()}",
            lambda: f"{n()} > {self.dice.randint(0, 5)}",
            lambda: f"{s()} = {s()}",
            lambda: f"{s()} like 'a%'",
            lambda: f"{n()} between {n()} and 5",
            lambda: f"{n()} in (1, 2, 3)",
            lambda: f"{s()} is not null",
        ]
        if depth > 0:
            choices += [
                lambda: (
                    f"({self.truth(scope, depth - 1, subqueries=subqueries)} or "
                    f"{self.truth(scope, depth - 1, subqueries=subqueries)})"
                ),
                lambda: f"not ({self.truth(scope, depth - 1, subqueries=subqueries)})",
                lambda: (
                    f"{self.truth(scope, depth - 1, subqueries=subqueries)} and "
                    f"{self.truth(scope, depth - 1, subqueries=subqueries)}"
                ),
            ]
            if subqueries:
                choices += [
                    lambda: self._exists(scope, depth - 1),
                    lambda: self._in(scope, depth - 1),
                    lambda: f"{n()} > {self.scalar(NUMBER, scope, depth - 1)}",
                ]
        return self.one(*choices)

    def _correlation(self, inner: Scope) -> str:
        """A condition between a subquery's column and one of the query around; empty when there is none."""
        kind = NUMBER if self.chance(0.7) else TEXT
        ours, theirs = inner.written(kind, self.dice), inner.outer_written(kind, self.dice)
        return f"{self.dice.choice(ours)} = {self.dice.choice(theirs)}" if ours and theirs else ""

    def _subquery_where(self, inner: Scope, depth: int) -> str:
        parts = [self._correlation(inner)] if self.chance(0.6) else []
        if self.chance(0.4):
            parts.append(self.truth(inner, depth - 1, subqueries=False))
        parts = [part for part in parts if part]
        return f" where {' and '.join(parts)}" if parts else ""

    def _exists(self, scope: Scope, depth: int) -> str:
        inner, source = self._from(depth - 1, scope)
        what = self.dice.choice(["1", "*"])
        return f"{'not ' if self.chance(0.3) else ''}exists (select {what} from {source}{self._subquery_where(inner, depth)})"

    def _in(self, scope: Scope, depth: int) -> str:
        kind = self.dice.choice([NUMBER, TEXT])
        inner, source = self._from(depth - 1, scope)
        value = self.value(kind, scope, 0, subqueries=False)
        if self.chance(0.25):
            other = self.value(NUMBER, scope, 0, subqueries=False)
            pair = f"{self.value(kind, inner, 1, subqueries=False)}, {self.value(NUMBER, inner, 1, subqueries=False)}"
            return f"({value}, {other}) in (select {pair} from {source}{self._subquery_where(inner, depth)})"
        word = "not in" if self.chance(0.2) else "in"
        return f"{value} {word} (select {self.value(kind, inner, 1, subqueries=False)} from {source}{self._subquery_where(inner, depth)})"

    def scalar(self, kind: str, scope: Scope, depth: int) -> str:
        """A subquery of one value."""
        inner, source = self._from(min(depth, 1) - 1, scope)
        return f"(select {self.aggregate(kind, inner)} from {source}{self._subquery_where(inner, depth)})"

    def aggregate(self, kind: str, scope: Scope) -> str:
        """An aggregate of this type."""

        def n() -> str:
            return self.value(NUMBER, scope, 1, subqueries=False)

        def s() -> str:
            return self.value(TEXT, scope, 1, subqueries=False)

        def b() -> str:
            return self.truth(scope, 0, subqueries=False)

        if kind == TEXT:
            choices: list[Callable[[], str]] = [
                lambda: f"max({s()})",
                lambda: f"min({s()})",
                lambda: f"max({s()}) filter (where {b()})",
                lambda: f"concat(min({s()}), max({s()}))",
            ]
            if self.spark:
                choices += [lambda: f"any_value({s()})", lambda: f"max_by({s()}, {n()})"]
                choices.append(lambda: f"listagg({s()}, ',') within group (order by {n()})")
            return self.one(*choices)
        choices = [
            lambda: f"sum({n()})",
            lambda: "count(*)",
            lambda: f"count({s()})",
            lambda: f"count(distinct {n()})",
            lambda: f"max({n()})",
            lambda: f"sum({n()}) filter (where {b()})",
            lambda: f"count(*) filter (where {b()})",
            lambda: f"sum(case when {b()} then {n()} else 0 end)",
            lambda: f"max({n()}) - min({n()})",
        ]
        if self.spark:
            choices += [lambda: f"cast(avg({n()}) as bigint)", lambda: f"first({n()})", lambda: f"count_if({b()})"]
        return self.one(*choices)

    def _specification(self, scope: Scope, *, frame: bool = False) -> str:
        key = self.value(self.dice.choice([NUMBER, TEXT]), scope, 1, subqueries=False, constants=False)
        order = f"order by {self.value(NUMBER, scope, 1, subqueries=False, constants=False)}"
        text = f"partition by {key} {order}" if self.chance(0.7) else order
        if self.spark and frame and self.chance(0.15):
            text += " rows between 1 preceding and current row"
        return text

    def windowed(self, kind: str, scope: Scope) -> str:
        """A window function of this type."""
        over = f"({self._specification(scope)})"
        if self.windows and self.chance(0.6):
            over = self.dice.choice(self.windows)
        number = self.value(NUMBER, scope, 1, subqueries=False)
        text = self.value(TEXT, scope, 1, subqueries=False)
        if kind == TEXT:
            calls = [f"max({text})", f"min({text})"] + (
                [f"first_value({text})", f"lag({text}, 1, 'a')"] if self.spark else []
            )
        else:
            calls = [f"sum({number})", f"max({number})", "rank()", "dense_rank()", f"count({text})"]
            if self.spark:
                calls += ["row_number()", f"lag({number})", f"first_value({number})", "ntile(2)"]
        return f"{self.dice.choice(calls)} over {over}"
