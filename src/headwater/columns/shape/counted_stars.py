"""Tables that a text reads by `*` where the number of their columns matters: one side of a UNION, or what an INSERT writes."""

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.columns.dialect import rules
from headwater.columns.script.engine import engine
from headwater.columns.script.template import plain


def counted_stars(text: str, dialect: str) -> set[tuple[str, ...]]:
    """Return the names of these tables, in lower case; none if the text cannot be parsed."""
    try:
        trees = engine(rules(dialect).parser).parse(plain(text).text)
    except (SqlglotError, RecursionError):
        return set()
    sides = [
        side
        for tree in trees
        if tree is not None
        for node in tree.find_all(exp.SetOperation, exp.Insert)
        for side in ((node.this, node.expression) if isinstance(node, exp.SetOperation) else (node.expression,))
    ]
    found = set()
    for side in sides:
        query = side.unnest() if isinstance(side, exp.Expression) else None
        if not isinstance(query, exp.Select) or not any(one.is_star for one in query.expressions):
            continue
        for source in [query.args.get("from_") or query.args.get("from"), *query.args.get("joins", ())]:
            if source is not None and isinstance(source.this, exp.Table):
                found.add(tuple(part.name.lower() for part in source.this.parts))
    return found
