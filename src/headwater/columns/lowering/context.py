"""The state carried through the lowering of one statement: how names become keys, the windows in scope, warnings."""

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from headwater.columns import form
from headwater.columns.dialect import EXTERNAL, Rules, fold, rules
from headwater.columns.lowering.grammar import UNREAD, unread_arguments

_LONGEST = 60


class Context:
    """The state of lowering one statement. `lower_query` lowers a nested query and
    `lower_changing` a statement that stands as one."""

    def __init__(
        self,
        rule: Rules,
        lower_query: Callable[["Context", Any], form.Query],
        lower_changing: Callable[["Context", Any], tuple[form.Query, form.Form]],
        lower_value: Callable[["Context", Any], form.Expression],
    ) -> None:
        self.rule = rule
        self._insensitive = rule.insensitive
        self.spelling: dict[str, str] = {}
        self.warnings: list[str] = []
        self.windows: dict[str, Any] = {}
        self.timed: list[form.Expression] = []
        """Conditions on the rows of a SELECT whose expressions make windows of time (Spark)."""
        self.system = ""
        """The first part of the name of every table, when the statement runs in another system."""
        self.common: frozenset[str] = frozenset()
        """Names of common table expressions there."""
        self.effects: list[form.Form] = []
        """The changes that statements inside the query make to tables (a CTE that inserts)."""
        self._lower_query = lower_query
        self._lower_changing = lower_changing
        self._lower_value = lower_value
        self._keys: dict[str, str] = {}

    def query(self, node: Any) -> form.Query:
        return self._lower_query(self, node)

    def value(self, node: Any) -> form.Expression:
        """An expression with the fields of its value."""
        return self._lower_value(self, node)

    def changing(self, node: Any, before: list[form.Cte]) -> form.Query:
        """A CTE that changes a table: its effect is kept, its value is what it returns. `before`: the CTEs that it may read."""
        found, effect = self._lower_changing(self, node)
        self.effects.append(form.SeveralForm([effect], list(before)) if before else effect)
        return found

    def inside(self, system: str, text: str, dialect: str | None) -> form.Query | None:
        """The query that another system is sent; None when it is not read."""
        rule = rules(dialect or "")
        try:
            (tree,) = Dialect.get_or_raise(rule.parser or None).parse(text)
        except (SqlglotError, RecursionError, ValueError):
            return None
        if not isinstance(tree, exp.Query):
            return None
        other = Context(rule, self._lower_query, self._lower_changing, self._lower_value)
        other.system = EXTERNAL + system
        other.common = frozenset(one.alias.lower() for one in tree.find_all(exp.CTE))
        query = other.query(tree)
        self.warnings += [one for one in other.warnings if one not in self.warnings]
        return query

    def output_name(self, node: Any) -> str:
        """The name of an output that has no alias: the column's or field's own; empty where `naming` gives it one."""
        kind = type(node)
        if kind is exp.Column:
            return self.column(node)[-1]
        if kind is exp.Identifier:
            return self.key(node)
        if kind is exp.Alias or kind is exp.PivotAlias:
            alias = node.args["alias"]
            return self.key(alias) if isinstance(alias, exp.Identifier) else self.fold(alias.name, True)
        if kind is exp.Dot and isinstance(node.args.get("expression"), exp.Identifier):
            return self.key(node.args["expression"])
        if kind is exp.Paren:
            return self.output_name(node.this)
        if kind is exp.Literal:
            return "" if self.rule.parser == "hive" else str(node.name)
        return ""

    def warn(self, words: str) -> None:
        """Warn of a part that was guessed, skipped or not understood. It lowers the level of the statement."""
        if words not in self.warnings:
            self.warnings.append(words)

    def unread(self, node: Any) -> None:
        """`node` is of a class that is not understood."""
        self.warn(f"not understood: {self.written(node)}")

    def check(self, node: Any) -> None:
        """Warn of arguments of `node` that nothing reads (grammar.txt)."""
        names = UNREAD.get(type(node))
        if names is not None and (not names or names.isdisjoint(node.args)):
            return
        for name in unread_arguments(node):
            self.warn(f"not understood: {name.rstrip('_').upper()} in {self.written(node)}")

    def written(self, node: Any) -> str:
        """The beginning of a node's text."""
        try:
            text = " ".join(node.sql(dialect=self.rule.parser or None).split())
        except Exception:  # noqa: BLE001 - the parser does not write all that it reads; its class is a name, too
            text = type(node).__name__
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"

    def key(self, name: Any) -> str:
        """The key of an identifier, or of an expression in its place."""
        if type(name) is str:
            return self.fold(name, False)
        args = name.args
        text = args.get("this")
        if args.get("quoted") or type(text) is not str:
            mark = "$" if isinstance(name, exp.Parameter) else ""
            return self.fold(text if type(text) is str else mark + name.name, True)
        return self._keys.get(text) or self._new_key(text)

    def _new_key(self, text: str) -> str:
        """The key of an identifier without quotes that the statement has not named before."""
        key = text.lower() if self._insensitive else fold(text, False, self.rule)
        if key != text and self.rule.fold == "same":
            self.spelling.setdefault(key, text)
        self._keys[text] = key
        return key

    def fold(self, text: str, quoted: bool) -> str:
        key = text.lower() if self._insensitive else fold(text, quoted, self.rule)
        if key != text and self.rule.fold == "same":
            self.spelling.setdefault(key, text)
        return key

    def column(self, node: Any) -> form.Parts:
        """The parts of a column as written: `("t", "c")`; `("t", "*")` for the whole row."""
        args = node.args
        name = args["this"]
        if type(name) is exp.Star:
            last = "*"
        else:
            inner = name.args
            text = inner["this"]
            last = (
                self.key(name)
                if inner.get("quoted") or type(text) is not str
                else self._keys.get(text) or self._new_key(text)
            )
        count = len(args)
        table = args.get("table") if count > 1 else None
        if table is None:
            return (last,)
        database = args.get("db") if count > 2 else None
        if database is None:
            inner = table.args
            known = None if inner.get("quoted") else self._keys.get(inner["this"])
            return (known if known is not None else self.key(table), last)
        catalog = args.get("catalog")
        if catalog is None:
            return (self.key(database), self.key(table), last)
        return (self.key(catalog), self.key(database), self.key(table), last)

    def key_path(self, node: Any) -> form.Parts:
        """The parts of a dotted name; empty when it is none."""
        if isinstance(node, exp.Column):
            return self.column(node)
        listed = list(node.flatten()) if isinstance(node, exp.Dot) else [node]
        return tuple(self.key(one) for one in listed) if all(isinstance(one, exp.Identifier) for one in listed) else ()

    def table_key(self, name: Any) -> str:
        """The key of one part of a table's name."""
        if self.rule.tables_sensitive and type(name) is not str and isinstance(name.args.get("this"), str):
            return str(name.args["this"])
        return self.key(name)

    def window_parts(self, node: Any) -> list[Any]:
        """Return the expressions that decide in a window, and in its named base: PARTITION BY, ORDER BY, frame bounds."""
        found: list[Any] = []
        seen: set[str] = set()
        while node is not None:
            args = node.args
            found += args.get("partition_by") or ()
            order = args.get("order")
            if order is not None:
                found += order.args.get("expressions") or ()
            base = args.get("alias")
            if base is None and not found and isinstance(args.get("this"), exp.Identifier):
                break
            name = self.key(base) if base is not None else ""
            if not name or name in seen:
                break
            seen.add(name)
            node = self.windows.get(name)
        return found
