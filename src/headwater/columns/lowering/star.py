"""Stars: all columns, those whose names match, and what a star leaves out, replaces and renames."""

import re
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.expression import lower

_GROUP_REPEATED = re.compile(r"\)[*+{]")
_PATTERNS = {
    exp.Like: "like:",
    exp.ILike: "ilike:",
    exp.Glob: "glob:",
    exp.SimilarTo: "re:",
    exp.RegexpLike: "re:",
    exp.RegexpILike: "re:(?i)",
}


def matching_star(context: Context, node: Any) -> form.Star | None:
    """DuckDB's `* LIKE 'a%'` and its kin: columns by their names. None for what is a comparison."""
    negated = isinstance(node, exp.Not)
    inner = node.this if negated else node
    if type(inner) not in _PATTERNS or not isinstance(inner.expression, exp.Literal):
        return None
    star = starred(context, inner.this) if isinstance(inner.this, (exp.Star, exp.Column)) else None
    if star is not None:
        negated = negated or bool(inner.args.get("negate"))
        pattern = str(inner.expression.this)
        kind = _PATTERNS[type(inner)]
        if kind.startswith("re:") and _hangs(context, pattern):
            return star
        if negated:  # DuckDB: SIMILAR TO finds a part of a name, NOT SIMILAR TO asks of the whole.
            kind = "!all:" if type(inner) is exp.SimilarTo else "!" + kind
        star.like = kind + pattern
    return star


def starred(context: Context, node: Any) -> form.Star | None:
    """The star that a node is: `*`, `t.*`, `s.f.*`, DuckDB's `COLUMNS(…)`; None for anything else."""
    qualifier: form.Parts = ()
    star: Any = node
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        qualifier, star = context.column(node)[:-1], node.this
    elif isinstance(node, exp.Dot) and isinstance(node.args.get("expression"), exp.Star):
        base, star = lower(context, node.this).references, node.args["expression"]
        qualifier = base[0][0] if base else ()
    elif isinstance(node, exp.Columns):
        inner = node.this
        if isinstance(inner, exp.Literal):
            pattern = str(inner.this)
            return form.Star((), [], [], [], "" if _hangs(context, pattern) else "re:" + pattern)
        if not isinstance(inner, exp.Star):
            return None
        star = inner
    elif not isinstance(node, exp.Star):
        return None
    args = star.args
    like = args.get("ilike")
    return form.Star(
        qualifier,
        [column_named(context, name) for name in listed(args.get("except_"))],
        [(context.key(one.args["alias"]), lower(context, one.this)) for one in listed(args.get("replace"))],
        [(column_named(context, one.this), context.key(one.args["alias"])) for one in listed(args.get("rename"))],
        "ilike:" + like.name if like is not None else "",
    )


def _hangs(context: Context, pattern: str) -> bool:
    """Return whether a regular expression may take for ever on a name, and warn of it."""
    if not _GROUP_REPEATED.search(pattern):
        return False
    context.warn(f"the columns that match {pattern} are not looked for: a group in it is repeated")
    return True


def column_named(context: Context, node: Any) -> form.Parts:
    """The name of a column that a star leaves out or renames, its table in front where the text gives it."""
    return context.column(node) if isinstance(node, exp.Column) else (context.key(node),)


def listed(found: Any) -> list[Any]:
    """An argument of the tree that holds one node, several or none, as a list."""
    if found is None or found is False:
        return []
    return found if isinstance(found, list) else [found]
