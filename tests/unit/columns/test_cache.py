"""The cache says what `analyse` says, whatever it has seen before."""

import pickle
import random
import re
from functools import cache as once
from itertools import product

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle import generated, tpc
from tests.oracle.generate import SCHEMAS
from tests.scale import full

from headwater.columns import cache as module
from headwater.columns.analysis import analyse
from headwater.columns.cache import Cache
from headwater.columns.catalog import Catalog
from headwater.columns.result import Statement
from headwater.columns.session import Session
from headwater.columns.shape.key import cache_key

DIALECTS = [
    "",
    "spark",
    "postgres",
    "snowflake",
    "bigquery",
    "mysql",
    "duckdb",
    "trino",
    "tsql",
    "oracle",
    "clickhouse",
]
LITERAL = re.compile(r"'[^'\n]*'|(?<![\w.'])\d+(?![\w.'])")
FILLINGS = [
    "1", "2", "7", "30", "1999", "'a'", "'b'", "'2001-01-01'", "'it''s'", "''", "'$.x'", "'a\nb'", "'-- c'", "'/*'", "'GO'",
    "'{{ x }}'", "'${x}'", "'a;b'", "'@x'", "1.5", "'\\\\'",
]  # fmt: skip
BEFORE = ["", "\n\n", "-- c\n", "/* {'app': 1} */ ", " ; ", "\r\n", "/* a */\r-- b\n", "\ufeff", "\xa0"]
AFTER = ["", ";", "\n", " ;; ", " -- c", "\n/* d */\n", "; -- e\n", ";\n/", "\nGO\n"]


def told(statements: list[Statement]) -> list[Statement]:
    return [msgspec.structs.replace(one, form=None) for one in statements]


def state(session: Session) -> tuple[object, ...]:
    return module._state(session)


def changed(text: str, chance: random.Random, share: float) -> str:
    """The text with some of its literals replaced by others, of any kind."""
    return LITERAL.sub(lambda found: chance.choice(FILLINGS) if chance.random() < share else found[0], text)


@once
def corpus() -> list[tuple[str, Catalog]]:
    found = [(text, Catalog(SCHEMAS, "spark")) for text in generated.kept()]
    for suite in tpc.SUITES:
        catalog = Catalog(tpc.schemas(suite), "spark")
        found += [(text, catalog) for text in tpc.texts(suite).values()]
    return found


@pytest.mark.parametrize(
    ("dialect", "seed"), [*product(["spark"], range(2)), *product(["", "postgres", "tsql", "mysql"], [7])]
)
def test_what_the_corpus_says_with_other_literals(dialect: str, seed: int) -> None:
    """Also: equal keys, equal results, though the cache does not use the keys of texts that it reads by their tokens."""
    chance = random.Random(seed)
    cache = Cache()
    by_key: dict[tuple[bytes, int], list[Statement]] = {}
    for text, catalog in corpus()[seed % 3 :: full(3, 18)]:
        for one in (text, changed(text, chance, 0.05), changed(text, chance, 0.5), changed(text, chance, 1.0)):
            sent = chance.choice(BEFORE) + one + chance.choice(AFTER)
            right = told(analyse(sent, dialect, catalog))
            assert told(cache.analyse(sent, dialect, catalog)) == right, sent
            assert told(cache.analyse(sent, dialect, catalog)) == right, sent
            plain = [
                msgspec.structs.replace(each, start=0, end=0, line=0, text="", warnings=())
                for each in told(analyse(one, dialect, catalog))
            ]
            assert by_key.setdefault((cache_key(one, dialect), id(catalog)), plain) == plain, one


SHAPES = [
    "select a, b as c from t where d = 1 and e in ('x', 'y')",
    "select a from t where b = 'x' group by 1, a order by 1, 2",
    "select a + 1, 'x', b from t limit 10",
    "select sum(a) as 'x y', b as \"z\" from t where c = 3",
    "with u as (select a, 1 as k from t) select * from u where k = 2",
    "insert into t (a, b) values (1, 'x'), (2, null)",
    "insert into t select a, 5 from u",
    "insert into t select a as b, 5 as c from u where d = 5",
    "create table n as select a, b from t where c = 1",
    "create temporary table n as select a as q from t where c = 1",
    "create view n as select n.q as r from n where 1 = 2",
    "set x = (select max(a) from t where b = 1)",
    "select a into @x from t where b = 1",
    "insert into u (a, b) select $x, @x",
    "insert into u (a) select @x where 1 = 2",
    "drop table n",
    "alter table n rename to m",
    "update t set a = 1, b = c where d = 'x'",
    "delete from t where a = 1",
    "merge into t using u on t.a = u.a and u.b = 1 when matched then update set c = u.c when not matched then insert (a) values (5)",
    "select * from n where q = 1",
    "use schema s",
    "select get_json_object(a, '$.b') as c from t where d = 'e'",
    "select a from read_csv('x')",
    "select a from t; select b from u where c = 1",
    "select a /* why */ + 1 from t",
    "select a from t where b = 'x' -- y\n and c = 1",
    "select a\nfrom t\ngo\nselect b from u where c = 1",
    "select a from t where b = ? and c = 1",
    "select a from {{ ref('x') }} where b = 1",
    "select a from",
    "",
    ";",
]
ALIKE = ["1", "2", "7", "'a'", "'b'", "'$.x'", "'$.y'"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_literal_that_matters_is_not_taken_for_another(dialect: str) -> None:
    """Every shape with the same kinds of literals, one after the other, in one cache."""
    cache, chance = Cache(), random.Random(1)
    for text in SHAPES:
        for _ in range(full(15, 6)):
            one = LITERAL.sub(lambda found: chance.choice(ALIKE[3:] if found[0][0] == "'" else ALIKE[:3]), text)
            assert told(cache.analyse(one, dialect)) == told(analyse(one, dialect)), one


CATALOGS = [
    None,
    Catalog({"t": ["a", "b", "c"]}),
    Catalog({"t": ["a", "d"], "s.u": ["a", "x"]}),
    Catalog({"t": ["d", "a"]}),
]
CHANGES = st.tuples(
    st.sampled_from(SHAPES), st.integers(0, 5), st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from(BEFORE), st.sampled_from(AFTER),
    st.sampled_from(CATALOGS),
)  # fmt: skip


@settings(max_examples=full(400, 60), deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=12), st.sampled_from(DIALECTS), st.integers(1, 6))
@example(
    [("create temporary table n as select a as q from t where c = 1", 0, 0.0, "", "", None), ("select * from n where q = 1", 0, 0.0, "", "", None)] * 2,
    "spark", 1,
)  # fmt: skip
def test_a_session_goes_on_as_it_would(
    steps: list[tuple[str, int, float, str, str, Catalog | None]], dialect: str, size: int
) -> None:
    cache, one, other = Cache(size), Session(database="d", schema="s"), Session(database="d", schema="s")
    for text, seed, share, before, after, catalog in steps:
        sent = before + changed(text, random.Random(seed), share) + after
        expected = analyse(sent, dialect, catalog, other)
        assert told(cache.analyse(sent, dialect, catalog, one)) == told(expected)
        assert state(one) == state(other)
        assert told(cache.analyse(sent, dialect, catalog)) == told(analyse(sent, dialect, catalog))


@pytest.mark.parametrize(
    ("dialect", "texts", "expected"),
    [
        ("snowflake", ["set x = (select max(a) from t)", "insert into u (k) select $x", "set x = 5", "insert into u (k) select $x"], [True, False]),
        ("mysql", ["select max(a) into @x from t", "insert into u (k) select @x", "set @x = 3", "insert into u (k) select @x"], [True, False]),
        ("duckdb", ["set variable x = (select max(a) from t)", "insert into u (k) select getvariable('x')"], [True]),
        ("tsql", ["declare @x int = (select max(a) from t)", "insert into u (k) select @x"], [False]),
    ],
)  # fmt: skip
def test_a_variable_lasts_as_long_as_its_session(dialect: str, texts: list[str], expected: list[bool]) -> None:
    for reader in (analyse, Cache().analyse):
        session = Session()
        found = [one for text in texts for one in reader(text, dialect, None, session)]
        written = [one.flows[0].columns[0].inputs for one in found if one.writes]
        assert [bool(inputs) for inputs in written] == expected


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    found: list[str] = []

    def counting(text: str, *rest: object) -> list[Statement]:
        found.append(text)
        return analyse(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "analyse", counting)
    return found


def test_a_shape_is_parsed_once_and_has_its_own_place(parsed: list[str]) -> None:
    cache = Cache()
    cache.analyse("select a as b from t where c = 1", "spark")
    (found,) = cache.analyse("-- c\n select a as b from t where c = 123 ;", "spark")
    assert (found.start, found.end, found.line) == (6, 40, 2)
    assert len(parsed) == 1


def test_other_schemas_are_resolved_and_not_parsed(parsed: list[str]) -> None:
    cache = Cache()
    text = "select * from t where c = 1"
    for columns in (["a", "b"], ["b"], ["a", "b"]):
        (found,) = cache.analyse(text, "spark", Catalog({"t": columns}))
        assert [column.name for column in found.flows[0].columns] == columns
    (found,) = cache.analyse(text, "spark", Catalog({"s.t": ["x"]}), Session(schema="s"))
    assert found.reads == (("s", "t"),)
    assert len(parsed) == 1


def test_what_changes_the_session_changes_it_each_time(parsed: list[str]) -> None:
    cache = Cache()
    for value in range(2):
        session = Session()
        cache.analyse(f"create temporary table n as select a as q from t where b = {value}", "spark", None, session)
        assert session.temporary == {("n",)}
        (found,) = cache.analyse(f"select * from n where q = {value}", "spark", None, session)
        assert [column.name for column in found.flows[0].columns] == ["q"]
    assert len(parsed) == 2


def test_statements_last_used_are_kept(parsed: list[str]) -> None:
    cache = Cache(2)
    for value, name in enumerate(("t", "u", "t", "v", "t", "u")):
        cache.analyse(f"select a as {name} from x where b = {value}", "spark")
    assert [text[12] for text in parsed] == ["t", "u", "v", "u"]
    assert max(len(cache._texts), len(cache._plans), len(cache._shapes)) == 2


def test_what_is_given_is_the_callers() -> None:
    cache = Cache()
    cache.analyse("select 1 as a").clear()
    cache.analyse("select 1 as a").clear()
    assert len(cache.analyse("select 1 as a")) == 1


def test_it_pickles_empty() -> None:
    cache = Cache(7)
    cache.analyse("select a from t")
    found = pickle.loads(pickle.dumps(cache))
    assert found.size == 7
    assert [*found._texts, *found._shapes, *found._plans] == []


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Cache(0)
    with pytest.raises(ValueError, match="no dialect"):
        Cache().analyse("select 1", "klingon")


def test_versions_of_catalogs() -> None:
    one, same, other = (Catalog({"t": ["a"], "u": columns}) for columns in (["b"], ["b"], ["c"]))
    assert one.version == same.version == pickle.loads(pickle.dumps(one)).version
    assert other.version != one.version != Catalog().version
