"""An element of an array or map."""

from headwater.columns import form
from headwater.columns.lowering.walk import below_use


def element(value: form.Expression, use: int) -> form.Expression:
    """Return an element of `value`, used so: it has the fields of the elements."""
    made = form.Expression(
        [(parts, below_use(use, one), path) for parts, one, path in value.references],
        [(query, below_use(use, one), form.WHOLE) for query, one, _ in value.subqueries],
        tuple((inner, path, below_use(use, one)) for inner, path, one in value.taken),
    )
    made.fields = form.Fields(like=[(value, form.ELEMENT)])
    return made
