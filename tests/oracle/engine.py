"""The engine under test, asked for its edges in the oracles' form."""

from collections.abc import Mapping

from headwater.columns import Catalog, analyse
from tests.oracle.edges import Edges, of_flow


def edges(text: str, schemas: Mapping[str, Mapping[str, str]], dialect: str) -> Edges:
    """What the engine says of one statement; of what writes, its one flow."""
    (statement,) = analyse(text, dialect, catalog(schemas))
    assert not statement.unresolved, statement.unresolved
    if not statement.flows:
        return Edges([], {})
    (flow,) = statement.flows
    return of_flow(flow)


def catalog(schemas: Mapping[str, Mapping[str, str]]) -> Catalog:
    return Catalog({table: list(fields) for table, fields in schemas.items()})
