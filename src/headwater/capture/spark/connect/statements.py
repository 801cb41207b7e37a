"""Texts of SQL in a client's plan, read by the column engine: statements, and expressions that are texts.

The engine comes with `headwater`, and with `headwater-capture[connect]`. Without it a text is not read, which the run says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.scope import Attribute, Bound, attribute
from headwater.capture.spark.dependencies import How
from headwater.capture.spark.expressions import COMPOSED
from headwater.capture.spark.plan import Node
from headwater.model.lineage import UNSEEN_INSIDE

Tables = Mapping[tuple[str, ...], Bound]
Named = tuple[Attribute, Node]
_SCOPE = "headwater_scope"
_SELECT = "SELECT"  # for the engine: nothing here is run
_IDENTIFIER = re.compile(r"(?:`(?:[^`]|``)*`|[A-Za-z_]\w*)(?:\.(?:`(?:[^`]|``)*`|\w+))*")
_SHORT = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
NO_ENGINE = "SQL texts were not read: install sqlglot beside headwater-capture (the extra connect)"


# Actions that change some rows of their target.
REPLACING = frozenset({"MERGE", "UPDATE", "DELETE"})


class NoEngine(Exception):
    """The column engine is not installed."""


def parse(text: str) -> Any:
    """Return the statement of a text (`headwater.columns.Statement`), without schemas. Raises NoEngine."""
    found = parse_all(text)
    return found[0] if found else None


def parse_all(text: str) -> list[Any]:
    """Return the statements of a text, without schemas. Raises NoEngine."""
    return list(_engine().analyse(text, "spark"))


def resolve(statement: Any, tables: Tables) -> Any:
    """Return the statement with the columns of the tables that it reads."""
    columns = _engine()
    known = {
        name: {one.name: ddl(one.kind) for one in bound.attributes}
        for name, bound in tables.items()
        if bound.attributes
    }
    return columns.resolve(statement, columns.Catalog(known, "spark"))


def quoted(parts: Sequence[str]) -> str:
    """Return a name as SQL writes it."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _engine() -> Any:
    try:
        from headwater import columns
    except ImportError as error:
        raise NoEngine(NO_ENGINE) from error
    return columns


def select(flow: Any, tables: Tables, warn: Callable[[str], None]) -> Bound:
    """Return the relation that a flow of a statement makes out of `tables`."""
    names = dict.fromkeys([*flow.reads, *([flow.target] if flow.action in REPLACING else [])])
    below = [bound.node for name in names if (bound := tables.get(name)) is not None]
    columns, rows = _columns(flow, tables, warn)
    node = Node(COMPOSED, {"rows": [rows]}, below)
    return scopes.project(Bound(node, []), columns)


def expression(
    text: str, attributes: Sequence[Attribute], warn: Callable[[str], None]
) -> tuple[list[Named], list[Node]]:
    """Return the values of a text such as `a + 1 as b, c`, and what in it decides about rows."""
    if text.strip() == "*":
        return [(one, one.node) for one in attributes], []
    if (
        _IDENTIFIER.fullmatch(text.strip())
        and (tree := scopes.find(scopes.split(text.strip()), attributes)) is not None
    ):
        same = next((one for one in attributes if one.id == tree.expression_id), None)
        return [(same or attribute(tree.name, scopes.type_of(tree)), tree)], []
    tables: dict[tuple[str, ...], Bound] = {}
    for one in attributes:
        name = one.qualifier or (_SCOPE,)
        tables.setdefault(name, Bound(Node("", {}, []), [])).attributes.append(one)
    listed = ", ".join(quoted(name) for name in tables)
    try:
        statement = parse(f"{_SELECT} {text}" + (f" FROM {listed}" if listed else ""))
    except NoEngine as problem:
        warn(str(problem))
        return [_by_words(text, attributes)], []
    statement = resolve(statement, tables)
    if not statement.flows:
        warn(f"the expression was not understood: {text[:200]}")
        return [_by_words(text, attributes)], []
    complain(statement, warn)
    found, rows = _columns(statement.flows[-1], tables, warn)
    return found, [rows] if rows.children else []


def complain(statement: Any, warn: Callable[[str], None]) -> None:
    """Warn of what the engine could not read in a statement."""
    for text in statement.warnings:
        warn(f"SQL: {text}")
    for one in statement.unresolved:
        warn(f"SQL: {one.name}: {one.reason}")


def _columns(flow: Any, tables: Tables, warn: Callable[[str], None]) -> tuple[list[Named], Node]:
    found: list[Named] = []
    for output in flow.columns:
        if output.name == "*":
            warn("SQL: the columns of * are not known")
            continue
        tree = _composed(output.inputs, tables)
        parts = {path: _composed(inputs, tables) for path, inputs in output.fields if not path.endswith("*")}
        if parts:
            tree.fields["parts"] = parts
        found.append((attribute(output.name, _type(tree)), tree))
    return found, _composed(flow.rows, tables)


def _composed(inputs: Sequence[Any], tables: Tables) -> Node:
    children: list[Node] = []
    hows: list[frozenset[How]] = []
    for one in inputs:
        bound = tables.get(one.table)
        for path, kinds in one.paths or ((one.path, one.kinds),):
            for column in bound.attributes if bound is not None else ():
                if one.field in {"*", column.name} or one.field.lower() == column.name.lower():
                    children.append(_within(column.node, path))
                    hows.append(_hows(kinds))
    return Node(COMPOSED, {"hows": hows}, children)


def _within(tree: Node, path: str) -> Node:
    """Return a field within a column; the engine has said what becomes of an array's."""
    kind = scopes.type_of(scopes.fields_of(tree, path.split("."))) if path else None
    for name in path.split(".") if path else ():
        tree = Node("GetStructField", {"name": name}, [tree])
    if path:
        tree.fields["dataType"] = kind
    return tree


def _hows(kinds: int) -> frozenset[How]:
    columns = _engine()
    return frozenset(
        How(one.type == "DIRECT", one.subtype, one.masking, one.description == UNSEEN_INSIDE)
        for one in columns.kinds.transformations(kinds)
    )


def _type(tree: Node) -> Any:
    return (
        scopes.type_of(tree.children[0]) if len(tree.children) == 1 and tree.fields["hows"][0] == {deps.SAME} else None
    )


def _by_words(text: str, attributes: Sequence[Attribute]) -> Named:
    """Return a value of every column whose name is in the text."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    named = [one.node for one in attributes if one.name.lower() in words]
    how = frozenset((How(True, deps.TRANSFORMATION, unseen=True),))
    return attribute(text), Node(COMPOSED, {"hows": [how] * len(named)}, named)


def ddl(kind: Any) -> str:
    """Return a type as SQL writes it, from Spark's JSON; empty if it is not known."""
    if isinstance(kind, str):
        return _SHORT.get(kind, kind)
    if not isinstance(kind, dict):
        return ""
    outer = kind.get("type")
    if outer == "array":
        return f"array<{ddl(kind.get('elementType'))}>"
    if outer == "map":
        return f"map<{ddl(kind.get('keyType'))},{ddl(kind.get('valueType'))}>"
    if outer == "struct":
        return "struct<" + ",".join(f"`{one['name']}`:{ddl(one['type'])}" for one in kind.get("fields") or []) + ">"
    return ""
