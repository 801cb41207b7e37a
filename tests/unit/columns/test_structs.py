"""Fields of structs: what is taken out of one comes from what was put in, through any number of statements (tests/cases/columns/structs.yaml)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scale import full
from tests.unit.columns.test_classes import as_words

from headwater.columns import Flow, Level, analyse, composed

FILE = Path(__file__).parents[2] / "cases" / "columns" / "structs.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def _meant(text: str, dialect: str) -> tuple[Flow, str]:
    """The last flow of a text, without tables of the text, and how far all of it was understood."""
    statements, doubts = analyse(text, dialect), dict[str, None]()
    flow = composed(statements, doubts)[-1]
    sure = not doubts and all(one.level == Level.FULL for one in statements)
    return flow, "full" if sure else "partial"


@pytest.mark.parametrize("case", CASES, ids=[f"{case['dialect']}-{place}" for place, case in enumerate(CASES)])
def test_a_field_comes_from_what_was_put_in(case: dict[str, Any]) -> None:
    flow, level = _meant(case["sql"], case["dialect"])
    found: dict[str, Any] = {
        "level": level,
        "columns": {one.name: [*map(as_words, one.inputs)] for one in flow.columns},
    }
    if "fields" in case:
        found["fields"] = {
            f"{one.name}.{path}": [*map(as_words, inputs)] for one in flow.columns for path, inputs in one.fields
        }
    if "rows" in case:
        found["rows"] = [*map(as_words, flow.rows)]
    del case["sql"], case["dialect"]
    assert found == {"level": "full", **case}


# --- a law: what is taken out of nested structs is what was put in

Tree = dict[str, Any]
NAMES = ["p", "q", "r", "s"]
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.none(), lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3), max_leaves=6
).filter(bool)
STEPS = ("table", "subquery", "cte", "union", "case", "array", "wrapped")
MAKE: dict[str, Callable[[list[tuple[str, str]]], str]] = {
    "spark": lambda fields: "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields) + ")",
    "bigquery": lambda fields: f"struct({', '.join(f'{value} as {name}' for name, value in fields)})",
    "duckdb": lambda fields: "{" + ", ".join(f"'{name}': {value}" for name, value in fields) + "}",
}
LISTED = {"spark": ("array({})", "[0]"), "bigquery": ("[{}]", "[offset(0)]"), "duckdb": ("[{}]", "[1]")}
TEMPORARY = {"spark": "temporary view", "bigquery": "temp table", "duckdb": "temp table"}


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, inner in tree.items():
        yield from _leaves(inner, (*path, name)) if inner else [(*path, name)]


def _made(tree: Tree, dialect: str, path: tuple[str, ...] = ()) -> str:
    """The struct, made of one column for each leaf, called by its path."""
    fields = [
        (name, _made(inner, dialect, (*path, name)) if inner else "_".join(("c", *path, name)))
        for name, inner in tree.items()
    ]
    return MAKE[dialect](fields)


def _script(tree: Tree, dialect: str, steps: list[str]) -> tuple[str, str]:
    """A script that makes the struct and passes it on, and what stands before a field of it in the last query."""
    query, before = f"select {_made(tree, dialect)} as k from f", "k"
    texts: list[str] = []
    wrap, first = LISTED[dialect]
    for place, step in enumerate(steps):
        if step == "table":
            texts.append(f"create {TEMPORARY[dialect]} t{place} as {query}")
            query = f"select k from t{place}"
        elif step == "subquery":
            query = f"select x.k from ({query}) as x"
        elif step == "cte":
            query = f"with c{place} as ({query}) select k from c{place}"
        elif step == "union":
            query = f"select k from ({query}) as y union all select k from ({query}) as z"
        elif step == "case":
            query = f"select case when 1 = 1 then k else k end as k from ({query}) as x"
        elif step == "array":
            query = f"select {wrap.format('k')}{first} as k from ({query}) as x"
        else:
            query = f"select w.inside as k from (select {MAKE[dialect]([('other', '1'), ('inside', 'k')])} as w from ({query}) as x) as y"
    return "; ".join([*texts, "create table u as select {} from (" + query + ") as last"]), before


@settings(max_examples=full(600, 60), deadline=None)
@given(TREES, st.sampled_from(sorted(MAKE)), st.lists(st.sampled_from(STEPS), max_size=4))
def test_a_leaf_comes_from_what_was_put_in(tree: Tree, dialect: str, steps: list[str]) -> None:
    paths = [*_leaves(tree)]
    script, before = _script(tree, dialect, steps)
    outputs = ", ".join(f"{'.'.join((before, *path))} as {'_'.join(path)}" for path in paths)
    flow, level = _meant(script.replace("{}", outputs), dialect)
    assert level == "full"
    found = {output.name: {(one.table, one.field) for one in output.inputs} for output in flow.columns}
    assert found == {"_".join(path): {(("f",), "_".join(("c", *path)))} for path in paths}
