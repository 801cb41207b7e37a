"""The engine under test, asked for its edges in the oracles' form."""

from collections.abc import Mapping

from headwater.columns import Catalog, analyse
from tests.oracle.edges import Edges, by_name, differences, of_flow


def edges(text: str, schemas: Mapping[str, Mapping[str, str]], dialect: str) -> Edges:
    """Return the engine's edges of one statement; of a statement that writes, its one flow."""
    (statement,) = analyse(text, dialect, catalog(schemas))
    assert not statement.unresolved, statement.unresolved
    if not statement.flows:
        return Edges([], {})
    (flow,) = statement.flows
    return of_flow(flow)


def catalog(schemas: Mapping[str, Mapping[str, str]]) -> Catalog:
    return Catalog({table: list(fields) for table, fields in schemas.items()})


def disagreements(text: str, expected: Edges, schemas: Mapping[str, Mapping[str, str]], dialect: str) -> list[str]:
    """Return where the engine differs on a statement: a query's columns go by place, a write's by name."""
    said = edges(text, schemas, dialect)
    if text.startswith(("insert", "merge", "update", "delete", "create")):
        return differences(by_name(expected), by_name(said), names=True)
    return differences(expected, said)
