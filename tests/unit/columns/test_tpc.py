"""All 121 TPC queries against what Spark's analyzer says of them: with schemas, without, and resolved again once schemas are known.

The texts come from scripts/corpus (`make check` and `make test` run it); what is expected is in tests/cases/columns/tpc.
"""

import functools
from typing import Any

import pytest
from tests.oracle import tpc
from tests.oracle.edges import DIRECT, Edges, Inputs, column_of, differences, of_flow
from tests.oracle.engine import catalog

from headwater.columns import Catalog, analyse, resolve

CASES = [(suite, name) for suite in tpc.SUITES for name in tpc.expected(suite)]
pytestmark = pytest.mark.parametrize(("suite", "name"), CASES)


@functools.cache
def text(suite: str, name: str) -> str:
    path = tpc.CORPUS / suite / f"{name}.sql"
    if not path.exists():
        pytest.fail("the TPC texts are missing: run scripts/corpus")
    return path.read_text(encoding="utf-8")


@functools.cache
def schemas(suite: str) -> Catalog:
    return catalog(tpc.schemas(suite))


def expected(suite: str, name: str) -> Edges:
    return tpc.expected(suite)[name]


def flow(statement: Any) -> Any:
    (found,) = statement.flows
    return found


def test_with_schemas_every_edge_and_no_other(suite: str, name: str) -> None:
    (statement,) = analyse(text(suite, name), "spark", schemas(suite))
    assert differences(expected(suite, name), of_flow(flow(statement))) == []
    assert not statement.unresolved


def test_without_schemas_nothing_is_wrong_and_what_is_missing_is_a_candidate(suite: str, name: str) -> None:
    (statement,) = analyse(text(suite, name), "spark", Catalog({}))
    given, truth = of_flow(flow(statement)), expected(suite, name)
    assert len(given.columns) == len(truth.columns)
    for place in [-1, *range(len(truth.columns))]:
        said, true = at(given, place), at(truth, place)
        assert edges(said) <= edges(true), place
        candidates = {
            column_of(candidate.table[-1], candidate.field)
            for one in statement.unresolved
            if any(output == place for _, output, _ in one.outputs)
            for candidate in one.candidates
        }
        assert {column for column, _ in edges(true) - edges(said)} <= candidates, place


def test_schemas_that_come_later_make_it_whole_without_parsing(
    suite: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (statement,) = analyse(text(suite, name), "spark", Catalog({}))
    monkeypatch.setattr("sqlglot.parser.Parser.parse", None)
    again = resolve(statement, schemas(suite))
    assert differences(expected(suite, name), of_flow(flow(again))) == []
    assert not again.unresolved


def at(found: Edges, place: int) -> Inputs:
    return found.rows if place < 0 else found.columns[place][1]


def edges(inputs: Inputs) -> set[tuple[str, str]]:
    """(column, kind), every direct kind as one: a value's way is known for sure only when all its names are."""
    return {
        (column, "DIRECT" if kind in DIRECT else kind)
        for column, said in inputs.items()
        for kind in said.replace(" masked", "").split()
    }
