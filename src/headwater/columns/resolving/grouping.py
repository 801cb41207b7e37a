"""The columns that a query groups by: HAVING and ORDER BY mean them where an output has their name, too."""

from headwater.columns import form
from headwater.columns.kinds import AS_IS, GROUP_BY


def columns_grouped_by(query: form.Select) -> dict[str, form.Parts]:
    """The columns a query groups by, by their last name."""
    keys = [key for key in query.group if isinstance(key, form.Expression)]
    places = [key for key in query.group if isinstance(key, int)]
    if (places or query.group_all) and not any(one.star for one in query.projections):
        keys += [
            one.value
            for place, one in enumerate(query.projections, 1)
            if place in places or (query.group_all and not one.aggregates)
        ]
    found: dict[str, form.Parts] = {}
    for key in keys:
        if len(key.references) == 1 and not key.subqueries and key.references[0][1] in {AS_IS, GROUP_BY}:
            found.setdefault(key.references[0][0][-1], key.references[0][0])
    return found
