"""The result of a query in one writing: two queries of the same writing return the same rows and columns, whatever the tables hold.

Common tables and the models that one side alone has are put in where they are read, a query that only picks columns of one table becomes that table,
and what has no order (conditions, GROUP BY, both sides of `=`) gets one. Doubt is another writing, or none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.columns.dialect import rules
from headwater.columns.script.engine import engine
from headwater.columns.shape.proofs import ProvenQuery
from headwater.columns.shape.writing import Doubtful, Writing, WrittenArm, WrittenColumn, WrittenQuery, arms_of

TableName = tuple[str, ...]
_STRICT = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Cast, exp.DataType, exp.DataTypeParam,
    exp.Round, exp.Lower, exp.Upper, exp.Abs, exp.Trim,
)  # fmt: skip
"""Parts of expressions that are NULL where one of their columns is, and always the same for the same columns."""
_SIMPLE = frozenset({"expressions", "from_", "where"})
_CHANGING = (exp.Anonymous, exp.Rand, exp.Randn, exp.Uuid)
"""Functions that may return another value at each call; those that are not known may."""


def written_result(
    text: str, dialect: str, models: Mapping[TableName, str] = {}, proven: ProvenQuery | None = None
) -> WrittenQuery | None:
    """Return the writing of a query's result, to be compared with another one; None for what is no single query, and in doubt.

    `models`: by table in lower case, the queries of what is read as if it stood in this text. `proven`: takes out what facts of tables make needless.
    """
    try:
        queries = {key: found for key, one in models.items() if (found := _parse(one, dialect)) is not None}
        made, tree = _split_create(_parsed(text, dialect), dialect)
        if tree is None:
            return None
        query = _written(tree, dialect, queries, proven)
        if made is None:
            return query
        arms = (msgspec.structs.replace(arm, rest=(made, arm.rest)) for arm in query.arms)
        return msgspec.structs.replace(query, arms=tuple(arms))
    except (SqlglotError, RecursionError, Doubtful):
        return None


def is_reordered(old: WrittenQuery, new: WrittenQuery) -> bool:
    """Return whether both have the same rows, perhaps in another order."""
    return _rows(old) == _rows(new)


def changed_columns(old: WrittenQuery, new: WrittenQuery) -> frozenset[str] | None:
    """Return the columns that may differ while all else of the rows is the same; None if the rows may be other ones.

    A column that one query alone has counts as changed. The two may have their rows in another order.
    """
    names = [[one.name for one in query.arms[0].columns] for query in (old, new)]
    if any(len({*some}) != len(some) or "*" in some for some in names) or len(old.arms) != len(new.arms):
        return None
    found = {*names[0]} ^ {*names[1]}
    pairs = [
        (before.rest, now.rest, _by_name(names[0], before), _by_name(names[1], now), now.is_distinct)
        for before, now in zip(old.arms, new.arms, strict=True)
    ]
    for rest, other, was, becomes, _ in pairs:
        if rest != other or was is None or becomes is None:
            return None
        found |= {one for one in was.keys() & becomes.keys() if was[one].value != becomes[one].value}
    for rest, _, was, becomes, is_distinct in pairs:
        for side in (was or {}, becomes or {}):
            changed = [one for name, one in side.items() if name in found]
            if any(one.decides for one in changed) or (changed and is_distinct):
                return None
            # An alias may be named in another item, or in what decides about rows.
            others = [one.value for name, one in side.items() if name not in found]
            if found & _alone((rest, others)):
                return None
        both = (was or {}).keys() & (becomes or {}).keys() & found
        if any((was or {})[one].types != (becomes or {})[one].types for one in both):
            return None
    return frozenset(found)


def _by_name(names: list[str], arm: WrittenArm) -> dict[str, WrittenColumn] | None:
    return dict(zip(names, arm.columns, strict=True)) if len(names) == len(arm.columns) else None


def _alone(written: Any) -> set[str]:
    """Return the columns in a writing that are named without a table."""
    if not isinstance(written, tuple | list):
        return set()
    if len(written) == 2 and written[0] == "Column" and all(key != "table" for key, _ in written[1]):
        return {value for key, value in written[1] if key == "this" and isinstance(value, str)}
    return set().union(*map(_alone, written))


def _rows(query: WrittenQuery) -> tuple[list[str], list[str]]:
    return [one.name for one in query.arms[0].columns], sorted(
        repr(([one.value for one in arm.columns], arm.rest)) for arm in query.arms
    )


def _written(
    tree: exp.Query, dialect: str, models: Mapping[TableName, exp.Query], proven: ProvenQuery | None
) -> WrittenQuery:
    _put_in(tree, models)
    for select in reversed(list(tree.find_all(exp.Select))):
        _write_using(select)
        _turn_join(select)
        _merge_sources(select)
        _merge_joins(select)
    if proven is not None:
        proven.simplify(tree, list(arms_of(tree)))
    for arm in arms_of(tree):
        _name_sources(arm)
    query = Writing(dialect).query(tree)
    if proven is not None and proven.is_unsorted:
        return msgspec.structs.replace(query, order=("DISTINCT", query.order))
    return query


def _parsed(text: str, dialect: str) -> Any:
    if "{%" in text or "{{" in text or "{#" in text:
        return None
    trees = [one for one in engine(rules(dialect).parser).parse(text) if one is not None]
    return trees[0] if len(trees) == 1 else None


def _split_create(tree: Any, dialect: str) -> tuple[Any, exp.Query | None]:
    """Return what a CREATE … AS says beside its query, written, and its query; None and the tree where it is a query alone."""
    if not isinstance(tree, exp.Create):
        return None, _query(tree)
    query = tree.args.get("expression")
    if isinstance(tree.this, exp.Schema) or tree.args.get("with_") or not isinstance(query, exp.Query):
        return None, None
    return Writing(dialect).plain(tree, ("expression",)), _query(query.unnest())


def _parse(text: str, dialect: str) -> exp.Query | None:
    return _query(_parsed(text, dialect))


def _query(tree: Any) -> exp.Query | None:
    if not isinstance(tree, exp.Query) or tree.find(exp.DML, exp.Into, exp.Lock):
        return None
    if any(one.args.get("recursive") for one in tree.find_all(exp.With)):
        return None
    return tree


def _put_in(tree: exp.Query, models: Mapping[TableName, exp.Query]) -> None:
    """Replace each name of a common table or of a model by its query."""
    for _ in range(len(models) + 1):  # One may read another.
        for table in list(tree.find_all(exp.Table)):
            name = tuple(part.name.lower() for part in table.parts)
            fitting = [one for one in models if one[-len(name) :] == name or name[-len(one) :] == one]
            if len(fitting) == 1 and not _is_common(table, name):
                _put_query(table, models[fitting[0]])
    for with_ in list(tree.find_all(exp.With)):
        query = with_.parent
        if not isinstance(query, exp.Query):
            raise Doubtful
        for place, common in reversed(list(enumerate(with_.expressions))):
            if common.args["alias"].columns or not isinstance(common.this, exp.Query):
                raise Doubtful
            name = common.alias.lower()
            later = [one for other in with_.expressions[place + 1 :] for one in other.find_all(exp.Table)]
            own = [one for one in query.find_all(exp.Table) if one.find_ancestor(exp.With) is not with_]
            uses = [one for one in [*own, *later] if len(one.parts) == 1 and one.name.lower() == name]
            if len(uses) > 1 and common.this.find(*_CHANGING):
                raise Doubtful
            for use in uses:
                _put_query(use, common.this)
            common.pop()
        query.set("with_", None)


def _is_common(table: exp.Table, name: TableName) -> bool:
    """Return whether a name may be that of a common table around it."""
    at: Any = table
    while len(name) == 1 and (at := at.parent if at is not None else None) is not None:
        with_ = at.args.get("with_")
        if with_ is not None and any(one.alias.lower() == name[0] for one in with_.expressions):
            return True
    return False


def _put_query(table: exp.Table, query: exp.Query) -> None:
    if {key for key, value in table.args.items() if value} - {"this", "db", "catalog", "alias"}:
        raise Doubtful
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    table.replace(exp.Subquery(this=query.copy(), alias=alias.copy()))


def _sources(select: exp.Select) -> Iterator[tuple[exp.Expression, bool]]:
    """Yield what a SELECT reads, each with whether its columns may be NULL for want of a row."""
    first, joins = select.args.get("from_"), select.args.get("joins") or []
    sides = [one.side for one in joins]
    if first is not None:
        yield first.this, any(side in {"RIGHT", "FULL"} for side in sides)
    for place, one in enumerate(joins):
        yield one.this, one.side in {"LEFT", "FULL"} or any(side in {"RIGHT", "FULL"} for side in sides[place + 1 :])


def _merge_sources(select: exp.Select) -> None:
    """Read a table itself where a subquery of FROM only picks rows or columns of it."""
    for source, may_lack in list(_sources(select)):
        while isinstance(source, exp.Subquery) and (whole := _whole_subquery(source.this)) is not None:
            source.set("this", whole)
        inner = source.this if isinstance(source, exp.Subquery) else None
        alias = source.args.get("alias")
        if not isinstance(inner, exp.Select) or alias is None or alias.columns or source.args.get("pivots"):
            continue
        if {key for key, value in inner.args.items() if value} - _SIMPLE or not inner.args.get("from_"):
            continue
        table = inner.args["from_"].this
        if not isinstance(table, exp.Table) or (table.args.get("alias") and table.args["alias"].columns):
            continue
        where = inner.args.get("where")
        if [*inner.find_all(exp.Subquery, exp.AggFunc, exp.Window, exp.Exists)] or inner.find(*_CHANGING, exp.UDTF):
            continue
        if where is not None and (may_lack or source.parent is not select.args.get("from_") or not _is_plain(select)):
            continue
        columns = _picked_columns(inner)
        if columns is None and inner.expressions != [exp.Star()]:
            continue
        if columns is not None and not all(_is_strict(one) or not may_lack for one in columns.values()):
            continue
        old = table.alias_or_name
        for column in inner.find_all(exp.Column):
            if column.table not in {"", old}:
                break
        else:
            _merge_source(select, source, table, alias, columns, where)


def _write_using(select: exp.Select) -> None:
    """Write USING of the first join as ON, where each column has a table and no `*` takes them all."""
    first, joins = select.args.get("from_"), select.args.get("joins") or []
    if first is None or not joins or any(one.is_star for one in select.expressions):
        return
    join = joins[0]
    names = {one.name for one in join.args.get("using") or ()}
    sides = first.this.alias_or_name, join.this.alias_or_name
    own = [one for one in select.find_all(exp.Column) if one.parent_select is select]
    if names and join.side in {"", "LEFT"} and all(sides) and all(one.table for one in own):
        pairs = [
            exp.EQ(this=exp.column(name, sides[0]), expression=exp.column(name, sides[1])) for name in sorted(names)
        ]
        join.set("using", None)
        join.set("on", exp.and_(*pairs, copy=False))


def _turn_join(select: exp.Select) -> None:
    """Write `a RIGHT JOIN b` as `b LEFT JOIN a`, where no `*` takes the columns of both in their order."""
    first, joins = select.args.get("from_"), select.args.get("joins") or []
    if first is None or len(joins) != 1 or any(one.is_star for one in select.expressions) or select.find(exp.Lateral):
        return
    join = joins[0]
    if join.side == "RIGHT" and not join.args.get("using") and not join.method and join.args.get("on") is not None:
        right = join.this
        join.set("this", first.this.copy())
        first.set("this", right.copy())
        join.set("side", "LEFT")


def _merge_joins(select: exp.Select) -> None:
    """Put a subquery that only joins tables and picks columns of them in the place of the one source of a query."""
    first = select.args.get("from_")
    if first is None or select.args.get("joins") or select.args.get("laterals"):
        return
    source = first.this
    inner, alias = (source.this, source.args.get("alias")) if isinstance(source, exp.Subquery) else (None, None)
    if not isinstance(inner, exp.Select) or alias is None or alias.columns or source.args.get("pivots"):
        return
    used = {key for key, value in inner.args.items() if value}
    if used - {*_SIMPLE, "joins"} or "joins" not in used or len(list(select.find_all(exp.Select))) != 2:
        return
    if inner.find(exp.AggFunc, exp.Window, exp.UDTF, exp.Subquery, *_CHANGING) or any(
        one.args.get("using") or one.method for one in inner.args["joins"]
    ):
        return
    columns = _picked_columns(inner)
    uses = _uses(select, alias.name, columns) if columns is not None else None
    if columns is None or uses is None or any(not one.table for one in inner.find_all(exp.Column)):
        return
    for column in uses:
        picked = columns[column.name].copy()
        is_item = column.parent is select and column.arg_key == "expressions"
        wrapped = picked if isinstance(picked, exp.Column) else exp.Paren(this=picked)
        column.replace(exp.alias_(wrapped, column.this.copy()) if is_item else wrapped)
    first.set("this", inner.args["from_"].this.copy())
    select.set("joins", [one.copy() for one in inner.args["joins"]])
    if inner.args.get("where"):
        select.where(inner.args["where"].this.copy(), copy=False)


def _whole_subquery(query: exp.Expression) -> exp.Expression | None:
    """Return the query of which `SELECT * FROM (query)` is all; None for another query."""
    if not isinstance(query, exp.Select) or query.expressions != [exp.Star()]:
        return None
    read = query.args.get("from_")
    inner = read.this if read is not None and {key for key, value in query.args.items() if value} <= _SIMPLE else None
    if not isinstance(inner, exp.Subquery) or query.args.get("where") or inner.args.get("pivots"):
        return None
    alias = inner.args.get("alias")
    return inner.this if alias is None or not alias.columns else None


def _is_plain(select: exp.Select) -> bool:
    return all(one.side not in {"FULL", "RIGHT"} for one in select.args.get("joins") or ())


def _picked_columns(inner: exp.Select) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for item in inner.expressions:
        name = item.alias_or_name
        if (
            not name
            or name in found
            or not isinstance(item, exp.Alias | exp.Column)
            or isinstance(item.unalias(), exp.Star)
        ):
            return None
        found[name] = item.unalias()
        if isinstance(found[name], exp.Column) and isinstance(found[name].this, exp.Star):
            return None
    return found


def _is_strict(one: exp.Expression) -> bool:
    return one.find(exp.Column) is not None and all(isinstance(node, _STRICT) for node in one.walk())


def _merge_source(
    select: exp.Select,
    source: exp.Expression,
    table: exp.Table,
    alias: exp.TableAlias,
    columns: dict[str, Any] | None,
    where: exp.Where | None,
) -> None:
    name = alias.name
    uses = _uses(select, name, columns) if columns is not None else []
    if uses is None:
        return
    conditions = [where.this] if where is not None else []
    for column in [one for each in conditions for one in each.find_all(exp.Column)]:
        column.set("table", alias.this.copy())
    for column in uses:
        picked = (columns or {})[column.name].copy()
        for each in picked.find_all(exp.Column):
            each.set("table", alias.this.copy())
        is_item = column.parent is select and column.arg_key == "expressions"
        wrapped = picked if isinstance(picked, exp.Column) else exp.Paren(this=picked)
        column.replace(exp.alias_(wrapped, column.this.copy()) if is_item else wrapped)
    table.set("alias", alias.copy())
    source.replace(table)
    if conditions:
        select.where(*conditions, copy=False)


def _uses(select: exp.Select, name: str, columns: Mapping[str, Any]) -> list[exp.Column] | None:
    """Return the columns of a SELECT that are those of a source; None where that cannot be said of each."""
    is_alone = not select.args.get("joins") and not select.args.get("laterals")
    if any(one.args.get("using") or one.method for one in select.args.get("joins") or ()):
        return None
    # A subquery of FROM sees nothing of those beside it.
    inside = {id(node) for one, _ in _sources(select) if isinstance(one, exp.Subquery) for node in one.walk()}
    aliases = {one.alias for one in select.expressions}
    found = []
    for node in select.walk():
        if id(node) in inside or not isinstance(node, exp.Column | exp.Star):
            continue
        if isinstance(node, exp.Star):
            if not isinstance(node.parent, exp.Count):
                return None
            continue
        is_own = node.parent_select is select
        if not node.table and (node.name == name or (node.name in aliases and node.find_ancestor(exp.Order))):
            return None  # The whole row, or perhaps a column of the result.
        if node.table == name or (not node.table and is_own and is_alone):
            if node.name not in columns:
                return None
            found.append(node)
        elif not node.table:
            picked = columns.get(node.name)
            if is_own or not isinstance(picked, exp.Column) or picked.name != node.name:
                return None
    return found


def _name_sources(tree: exp.Query) -> None:
    """Name all that is read by its place, where each name means one source and columns do not use it for a whole row."""
    sources = [one for one in tree.find_all(exp.Table, exp.Subquery) if isinstance(one.parent, exp.From | exp.Join)]
    names = [one.alias_or_name for one in sources]
    every = list(tree.find_all(exp.Column))
    if len({*names}) != len(names) or "" in names or any(one.args.get("db") for one in every):
        return
    if any(not one.table and one.name in names for one in every) or any(
        one.args.get("alias") and one.args["alias"].columns for one in sources
    ):
        return
    renamed = {name: f"_{place}" for place, name in enumerate(names)}
    for source in sources:
        source.set("alias", exp.TableAlias(this=exp.to_identifier(renamed[source.alias_or_name])))
    for select in tree.find_all(exp.Select):
        own = [one.alias_or_name for one, _ in _sources(select)]
        alone = own[0] if len(own) == 1 and not select.args.get("laterals") else ""
        aliases = {one.alias for one in select.expressions if one.alias}
        for column in select.find_all(exp.Column):
            # An item's own name means a column of the source in it; that of another item may mean the item.
            item = column.find_ancestor(exp.Alias)
            is_source = column.name not in aliases or (
                item is not None and item.parent is select and item.alias == column.name
            )
            is_own = column.parent_select is select and not column.table and is_source
            if is_own and alone and select is tree and not isinstance(column.this, exp.Star):
                column.set("table", exp.to_identifier(alone))
    for column in every:
        if column.table in renamed:
            column.set("table", exp.to_identifier(renamed[column.table]))
