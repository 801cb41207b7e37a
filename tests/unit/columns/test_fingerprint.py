"""Fingerprints against cases, and the laws that hold for any text."""

import pickle
import sys
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.scale import full

from headwater.columns.shape.fingerprint import fingerprint, normalised, shape
from headwater.columns.shape.key import cache_key
from headwater.columns.shape.lexis import RULES, lexis

FILE = Path(__file__).parents[2] / "cases/columns/fingerprint.yaml"
CASES = [
    pytest.param(dialect, case, id=f"{dialect or 'plain'}-{(case.get('same') or case['differ'])[0][:60]}")
    for case in yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for dialect in case["dialects"]
]


@pytest.mark.parametrize(("dialect", "case"), CASES)
def test_case(dialect: str, case: dict[str, list[str]]) -> None:
    same, differ, keys = case.get("same", []), case.get("differ", []), case.get("keys")
    shapes = {text: (fingerprint(text, dialect), normalised(text, dialect)) for text in same + differ}
    assert len({found for found, _ in shapes.values()}) == max(len(differ), 1), shapes
    if differ or keys == "differ":
        assert len({cache_key(text, dialect) for text in same + differ}) == len(same + differ)
    if keys == "same":
        assert len({cache_key(text, dialect) for text in same}) == 1


def test_normalised_is_readable() -> None:
    text = "SELECT a,\r\n  'x' AS \"My  Name\" -- c\nFROM t WHERE b IN (1,2) AND c = :p GROUP BY 1;"
    assert normalised(text, "postgres") == 'SELECT a, ? AS "My  Name" FROM t WHERE b IN (?) AND c = ? GROUP BY 1'
    assert normalised("insert into t values (1, null), (2, 'x');", "mysql") == "insert into t values (?, ?)"
    assert fingerprint(text, "postgres") == fingerprint(normalised(text, "postgres"), "postgres")


def test_a_fingerprint_is_sixteen_hex_digits_and_stays_what_it_is() -> None:
    """A change of this value is a change of every fingerprint that was stored."""
    assert fingerprint("select a from t where b = 1", "postgres") == "d74e2d795eb930d0"
    assert fingerprint("", "") == fingerprint(" ; -- c", "postgres")
    assert len(cache_key("select 1", "")) == 16


def test_a_dialect_is_part_of_the_key() -> None:
    assert cache_key("select a from t", "spark") != cache_key("select a from t", "trino")
    assert fingerprint("select a from t", "unheard of") == fingerprint("select a from t", "")


def test_a_shape_pickles() -> None:
    found = shape("select 1", "duckdb")
    assert pickle.loads(pickle.dumps(found)) == found
    assert pickle.loads(pickle.dumps(fingerprint)) is fingerprint


SYMBOLS = (
    """' '' " ` [ ] \\ -- /* */ # // $$ $a$ $1 :x @p %s %(x)s ? 1 .5 1. 1e-5 0xFF 1_000 2x n' e' r' U& q'[ q' ]'"""
)
SYMBOLS += (
    " ( ) , ; - + = :: : . { } % $ @ é İ a b.c x as do in by groupby orderby rollup values limit having over from null"
)
SPACED = (
    "AS ",
    "by ",
    "by 1, ",
    "group by ",
    "distinct on ",
    "IN (",
    "values (",
    "union all select ",
    " ",
    "\n",
    "\t",
    "\r\n",
    "\u00a0",
)
ATOMS = [*SYMBOLS.split(), *SPACED, '"""', "'''", "\ufeff", "\x00", "\x01", "\x1c", "\ud800"]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join) | st.text(st.characters(), max_size=20)
DIALECTS = st.sampled_from(sorted(RULES))


@settings(max_examples=full(1500, 200), deadline=None)
@given(TEXTS, DIALECTS)
def test_any_text_has_a_shape_and_its_shape_has_the_same(text: str, dialect: str) -> None:
    found, readable = shape(text, dialect)
    assert fingerprint(text, dialect) == found
    assert normalised(text, dialect) == readable
    assert fingerprint(readable, dialect) == found
    assert normalised(readable, dialect) == readable
    assert len(cache_key(text, dialect)) == 16


@example("distinct on ,1", "", False)
@settings(max_examples=full(1500, 200), deadline=None)
@given(TEXTS, DIALECTS, st.booleans())
def test_both_ways_give_the_same(text: str, dialect: str, parameters: bool) -> None:
    module = sys.modules[fingerprint.__module__]
    plain = module._plain(text, lexis(dialect), parameters)
    masked, literals = module.careful(text, lexis(dialect), parameters)
    assert masked.count("?") == len(literals)
    if plain is not None:
        assert module._carefully(text, lexis(dialect), parameters)[1:] == plain[1:]
        assert plain[0].count("?") == len(literals)


NAMES = st.sampled_from(["a", "b1", "t.c2", "sum(x)", '"q 1"', "é"])
LITERALS = (
    st.integers(0, 10**9).map(str) | st.text("ab -/*?:1", max_size=8).map(lambda text: f"'{text}'") | st.just("1e-5")
)
BLANKS = st.sampled_from([" ", "\n", "\r\n\t", "  ", " /* it's */ ", " -- 'c\n", "/**/ "])


@settings(max_examples=full(500, 100), deadline=None)
@given(st.lists(st.tuples(NAMES, st.sampled_from(["=", "<", ">=", "<>"]), LITERALS), min_size=1, max_size=5), st.data())
def test_blanks_comments_case_and_values_do_not_count(terms: list[tuple[str, str, str]], data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(["", "postgres", "snowflake", "tsql", "duckdb", "trino", "oracle"]))

    def written(blank: st.SearchStrategy[str], literal: st.SearchStrategy[str] | None) -> str:
        tokens = ["select", "a", "from", "t", "where"]
        for name, sign, value in terms:
            tokens += [name if name[0] == '"' else data.draw(st.sampled_from([name, name.upper()])), sign]
            tokens += [value if literal is None else data.draw(literal), "and"]
        return "".join(part for token in tokens[:-1] for part in (token, data.draw(blank)))

    assert fingerprint(written(st.just(" "), None), dialect) == fingerprint(written(BLANKS, LITERALS), dialect)


SIZE = full(50_000, 15_000)
HOSTILE = [
    "'",
    '"',
    "`",
    "(",
    ")",
    "-",
    "- ",
    "/*",
    "*/",
    "/",
    "[",
    "\\",
    "\\'",
    "$a$",
    "$$",
    "$",
    ":",
    "1",
    "1_",
    "1.",
    "1e",
    "x",
]
HOSTILE += [
    "by",
    "by ",
    "by(",
    "by 1,",
    "in(",
    "in(1,",
    "values(1,",
    "values (",
    "as '",
    "'a' ",
    "a,",
    "?",
    "q'[",
    "e'",
    "n'\\",
    "#",
    "//",
]
HOSTILE += [
    "select ",
    "select from ",
    "select '",
    "from a,",
    "as a ",
    "distinct on(",
    "((((((((by ",
    "'''",
    "é ",
    "@a",
    "%(a",
    "a.b,",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_come_to_an_end(piece: str) -> None:
    """Time that grows with the square of the length would be minutes for each."""
    text = piece * (SIZE // len(piece))
    for dialect in ("postgres", "bigquery"):
        assert shape(text, dialect).fingerprint == fingerprint(text, dialect)
        assert len(cache_key(text, dialect)) == 16


def test_every_pair_of_spellings_of_one_statement() -> None:
    texts = ["select a from t where b = 1", "SELECT a FROM t WHERE b='x' ;", "select a from t where b=/*?*/1.5"]
    assert all(fingerprint(one, "") == fingerprint(other, "") for one, other in combinations(texts, 2))
