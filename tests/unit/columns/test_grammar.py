"""The table of the parser's classes: every class and argument of the pinned version is listed, and what it calls irrelevant is."""

import inspect
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from headwater.columns import Level, analyse, form
from headwater.columns.dialect import rules
from headwater.columns.lowering import grammar
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.statement import lower_statement, new_context

CASES = Path(__file__).parents[2] / "cases" / "columns"
CLASSES: dict[str, Any] = {
    name: found for name, found in vars(exp).items() if inspect.isclass(found) and issubclass(found, exp.Expr)
}
VERDICTS = {
    "query",
    "source",
    "statement",
    "part",
    "handled",
    "value",
    "aggregate",
    "masking",
    "same",
    "nothing",
    "silent",
    "abstract",
    "?",
}
SOURCE = (Path(grammar.__file__).parent / "grammar.txt").read_text(encoding="utf-8")
REASONS = {line.split()[1] for line in SOURCE.splitlines() if line.startswith("reason ")}


def test_every_class_of_the_parser_is_listed_and_no_other() -> None:
    assert set(grammar.table()) == set(CLASSES)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_argument_is_listed_and_no_other(name: str) -> None:
    verdict, *arguments = grammar.table()[name]
    assert verdict in VERDICTS or verdict.removeprefix("-") in REASONS
    assert sorted(one.lstrip("-?").partition("=")[0] for one in arguments) == sorted(CLASSES[name].arg_types)
    assert all(one.partition("=")[2] in REASONS for one in arguments if one[0] == "-")


def test_an_unlisted_class_lowers_the_level() -> None:
    assert exp.Comprehension not in grammar.STEPS
    context = new_context(rules("spark"))
    found = lower(context, exp.Comprehension(this=exp.column("a")))
    assert [one[0] for one in found.references] == [("a",)]
    assert context.warnings


def test_an_argument_that_nothing_reads_lowers_the_level() -> None:
    tree = Dialect.get_or_raise("oracle").parse("with c as (select a from t) select a from c")[0]
    assert tree is not None
    assert not lower_statement(tree, rules("oracle")).warnings
    tree.args["with_"].set("cycle", exp.column("a"))
    assert lower_statement(tree, rules("oracle")).warnings


def _texts() -> list[tuple[str, str]]:
    found = [(one["dialect"], one["sql"]) for one in json.loads((CASES / "statements.json").read_text())["cases"]]
    found += [(one["dialect"], one["sql"]) for one in yaml.safe_load((CASES / "recovery.yaml").read_text())]
    return found


def _trees(dialect: str, text: str) -> list[Any]:
    parser = Dialect.get_or_raise(rules(dialect).parser or None)
    try:
        return [one for one in parser.parse(text) if one is not None]
    except (SqlglotError, RecursionError):
        return []


def _without_irrelevant(tree: Any) -> Any:
    table = grammar.table()
    for node in list(tree.walk()):
        for one in table[type(node).__name__][1:]:
            name = one[1:].partition("=")[0]
            if one[0] == "-" and node.args.get(name) and not isinstance(node, exp.Alter):
                node.set(name, None)
    return tree


def test_what_is_called_irrelevant_is(caplog: pytest.LogCaptureFixture) -> None:
    """Every irrelevant argument of every text of the cases taken out of its tree: the form stays as it is."""
    caplog.set_level(logging.CRITICAL)
    compared = 0
    for dialect, text in _texts():
        for tree in _trees(dialect, text):
            rule = rules(dialect)
            whole = lower_statement(tree, rule)
            less = lower_statement(_without_irrelevant(tree), rule)
            assert form.encode(less) == form.encode(whole), text
            compared += 1
    assert compared > 400


def test_full_means_that_no_step_warned() -> None:
    for dialect, text in _texts():
        for one in analyse(text, dialect):
            assert (one.level == Level.FULL) == (not one.warnings and not one.unresolved), text
