"""Statements the parser refuses: what is read all the same, at which level, and that no text raises."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect
from tests.scale import full, suite_takes

from headwater.columns import Catalog, Session, analyse
from headwater.columns.dialect import rules
from headwater.columns.recovery import ladder as recovery
from headwater.columns.resolving.flows import outcome
from headwater.columns.result import Level

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases/columns/recovery.yaml").read_text(encoding="utf-8")
)
DIALECTS = sorted({case["dialect"] for case in CASES})


@pytest.mark.parametrize("case", CASES, ids=[f"{case['dialect']}: {case['sql'][:60]}" for case in CASES])
def test_what_is_read(case: dict[str, Any]) -> None:
    rule = rules(case["dialect"])
    parser = Dialect.get_or_raise(rule.parser or None)
    lowered = recovery.read(case["sql"], parser.tokenize(case["sql"]), parser, rule)
    told = outcome(lowered, Catalog({}, case["dialect"]), Session())
    level = told.level
    found: dict[str, list[str]] = {}
    for flow in told.flows:
        for output in flow.columns:
            inputs = {".".join((*one.table, one.field)) for one in output.inputs}
            found[output.name] = sorted(inputs | set(found.get(output.name, [])))
    changes = [
        " ".join([one.action, ".".join(one.table), *([".".join(one.other)] if one.other else [])])
        for one in told.changes
    ]
    assert (lowered.kind, level) == (case["kind"], case.get("level", "full"))
    assert [".".join(name) for name in told.reads] == case.get("reads", [])
    assert [".".join(name) for name in told.writes] == case.get("writes", [])
    assert changes == case.get("changes", [])
    assert found == case.get("columns", {})
    if level != Level.FULL:
        assert told.warnings or told.unresolved


def test_the_session_moves_on() -> None:
    session = Session()
    analyse("SET search_path TO stage, public", "postgres", None, session)
    assert session.search_path == ("stage", "public")
    analyse("ALTER SESSION SET CURRENT_SCHEMA = sales", "oracle", None, session)
    assert (session.schema, session.search_path) == ("SALES", ())


def test_a_quote_without_an_end_spoils_only_its_statement() -> None:
    first, second, third, *_ = analyse(
        "SELECT a FROM t; SELECT b FROM u; INSERT INTO v SELECT 'x FROM z; SELECT 3", "postgres"
    )
    assert (first.level, second.level) == (Level.FULL, Level.FULL)
    assert third.level in {Level.TABLES, Level.NOTHING}
    assert third.warnings


def test_a_warning_says_where() -> None:
    (told,) = analyse("SELECT a,\n  foo bar baz AS q FROM t", "duckdb")
    assert told.level == Level.PARTIAL
    assert any("line 2, column 3" in warning for warning in told.warnings)


@pytest.mark.parametrize(
    "opening", ["(", "[", "{", "CASE WHEN ", "f(", "(SELECT * FROM ", "NOT ", "- ", "EXPLAIN ", "CREATE TASK a AS "]
)
@pytest.mark.parametrize("dialect", suite_takes(["", "snowflake", "tsql"], ["snowflake"]))
def test_nesting_has_an_end(opening: str, dialect: str) -> None:
    deep = opening * full(10_000, 2_000)
    for text in (deep, "SELECT " + deep, "SELECT a FROM t WHERE " + deep + "1"):
        for told in analyse(text, dialect):
            assert (told.level == Level.FULL) == (not told.warnings and not told.unresolved)


_WORDS = sorted({word for case in CASES for word in case["sql"].split()})
_MUTATED = st.builds(
    lambda case, place, piece: (
        case["sql"][: place % len(case["sql"])] + piece + case["sql"][place % len(case["sql"]) :]
    ),
    st.sampled_from(CASES),
    st.integers(0, 500),
    st.text(max_size=4) | st.sampled_from([*"()[]{}'\"`;,.$@#", "/*", "--", "$$", " AS (", " FROM "]),
)


@settings(max_examples=full(400, 100), deadline=None)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join) | _MUTATED,
    st.sampled_from(DIALECTS),
)
def test_no_text_raises_and_none_is_silently_empty(text: str, dialect: str) -> None:
    for told in analyse(text, dialect):
        assert (told.level == Level.FULL) == (not told.warnings and not told.unresolved)
