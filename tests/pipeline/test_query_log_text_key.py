"""Equal keys, equal fingerprints and equal lineage; and what a key is for: texts that differ in values have one."""

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.oracle import generated
from tests.scale import full, suite_takes

from headwater.columns.dialect import rules
from headwater.columns.shape.fingerprint import fingerprint
from headwater.pipeline.query_log import text_key
from headwater.pipeline.query_log.reading import Understood, understood
from headwater.pipeline.query_log.text_key import canonicals, keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]

DIALECTS = ["bigquery", "snowflake", "redshift", "databricks", "postgres", "trino", "tsql", "mysql", "oracle", "duckdb", "clickhouse"]  # fmt: skip
LITERAL = re.compile(r"'[^'\n]*'|(?<![\w.'])\d+(?![\w.'])")
NUMBERS = ["1", "2", "7", "30", "1999", "123456789", "10", "1.5", "2.25"]
STRINGS = [
    "'a'",
    "'b'",
    "'2001-01-01'",
    "'2026-03-04 05:06:07'",
    "'it''s'",
    "''",
    "'-- c'",
    "'/*'",
    "'a;b'",
    "'from x'",
]
ODD = [
    "'$.x'", "'$.y'", "'a\nb'", "'-- c'", "'/*'", "'GO'", "'{{ x }}'", "'${x}'", "'a;b'", "'@x'", "'\\\\'", "'\\'", "'lax $.a'", "N'x'", "e'x\\'y'",
    "x'ab'", "r'\\'", "$$a$$", "$1", ":p", "@p", "?", "%s", "1e5", "0xFF", "1_000", "2x", "-3", ".5", "5.", '"x"', "`x`", "q'[a]'", "'''", '"', "é1", "1é", "'é'",
    "date '2001-01-01'", "interval '1 day'", "/* 1 */ 2", "-- 1\n 3", "/*+ x */ 4", "# 5\n 6",
]  # fmt: skip
BEFORE = ["", "\n\n", "-- c 1\n", "/* {'app': 1} */ ", " ; ", "\r\n", "/* a */\r-- b\n", "\ufeff", "\xa0", "# x\n", "// y\n", "/*+ h */ ", "/* /* */ */", "(", "1 "]  # fmt: skip
AFTER = ["", ";", "\n", " ;; ", " -- c", " -- d 'x", "\n/* d */\n", "; -- e\n", ";\n/", "\nGO\n", " /* it's 1 */;", ")", " # z", " /* open", "; select 1"]  # fmt: skip
SHAPES = [
    "select a, b as c from t where d = 1 and e in ('x', 'y')",
    "select a from t where b = 'x' group by 1, a order by 1, 2",
    "select a from t where b in (1, 2, 3) group by a, 5 order by   2",
    "select a + 1, 'x', b from t limit 10",
    "select count(*), sum(a) as 'x y', b as \"z\" from t where c = 3",
    "select a 'x', b from t where c = 3",
    "with u as (select a, 1 as k from t where b = 'x') select * from u where k = 2",
    "insert into t (a, b) values (1, 'x'), (2, null)",
    "insert into t select a, 5 from u",
    "insert into t select a, 5 as b, 'x' c from u where d = 5 and e between '2001-01-01' and '2001-02-01'",
    "insert into t select a, case when b = 'x' then 1 end from u where d = 5",
    "insert into t select (select max(x) from y where k = 'a'), 'x' from u where d = 5",
    "insert into t select extract(year from a), 'x' from u where d > 5",
    "insert into t select a is distinct from b, 'x' from u where d > 5",
    "with v as (select 1 as a) insert into t select a, 2 from v where a = 3",
    "create table n as select a, b from t where c = 1",
    "create table n as select a, 'x' from t where c = 1 union all select b, 'y' from s where d = 'z'",
    "create table n (a decimal(10, 2), b varchar(20))",
    "create or replace view v as select n.q as r, f(n.q, 5) from n where 1 = 2",
    "create external table n (a int) location 's3://b/p/1' options (x = 'y')",
    "create temporary table n as select a as q from t where c = 1",
    "update t set a = 1, b = c where d = 'x'",
    "delete from t where a = 1 and b like 'x%'",
    "merge into t using (select a, 5 as b from u where d = 5) s on t.a = s.a and s.b = 1 when matched then update set c = s.b when not matched then insert (a) values (5)",
    "select * from n where q = 1 and url = 'x' and path = 'y'",
    "select get_json_object(a, '$.b') as c from t where d = 'e'",
    "insert into n select get_json_object(a, '$.b') as c from t where d = 'e'",
    "select a['k'], b[1], c -> 'x', d ->> 'y' from t where e['z'] = 'w'",
    "create table n as select a from t where m['k'] = 5 and j -> 'x' = 'y'",
    "select a from read_csv('x', 5)",
    "select a from t, f('x', 5) where b = 'c'",
    "select a from t, u as v, unnest(b) as w where b = 'c'",
    "select a from 'p.csv' where b = 1",
    "select a from t cross join unnest(t.b) where b = 'x'",
    "select a from t lateral view explode(b) x as y where y = 5",
    "select * from t pivot (sum(a) for b in ('x', 'y')) where c = 5",
    "select identifier('x') from identifier('y') where a = 'z'",
    "select a from t; select b from u where c = 1",
    "select a /* why */ + 1 from t where b = /* 5 */ 6",
    "insert into n select a /* why 1 */ + 1 from t where b = 5",
    "select a from t where b = 'x' -- y\n and c = 1 group by -- z\n 2",
    "select a\nfrom t\ngo\nselect b from u where c = 1",
    "select a from t where b = ? and c = 1",
    "select a from {{ ref('x') }} where b = 1",
    "call p('x', 5)", "execute immediate 'select 1 from t'", "copy into t from @s/x file_format = (type = 'csv')", "set x = 5", "explain select a from t where b = 5",
    "select a from", "", ";", "select", "select 1", "'x'", "5",
    "select distinct on (1) a from t where b = 5",
    "select a from t where b = 5 limit 10 offset 20",
    "select a from t where b > current_date - interval '7 day' and c < timestamp '2001-01-01 00:00:00'",
    "select date_trunc('month', a), count(*) from t where b >= '2001-01-01' group by 1 having count(*) > 5",
    "select a from (select b as a from u where c = 'x' union select 5 from v) where d in (select e from w where f = 'y')",
    "insert overwrite t partition (d = '2001-01-01') select a, b from u where c = '2001-01-01'",
    "from u insert overwrite table t select a, 5 where b = 6",
    "select * into n from t where b = 5",
    "select e from t where a in ('x') and b in (-1, +2, 3.5) and c in (select 1) and d not in ('y', 'z', 5)",
]  # fmt: skip


def lineage(text: str, dialect: str) -> tuple[object, ...]:
    """Return a text's stored lineage without its warnings, which name characters' places. Texts that could not be parsed are all at one
    level."""
    found: Understood = understood(text, rules(dialect).parser)
    level = found.level if found.level in {"full", "partial"} else "not read"
    return (level, *found[1:6], found.temporary)


def changed(text: str, chance: random.Random, share: float, odd: float) -> str:
    """The text with some literals replaced: by others of their kind, or by whatever may stand or hide in a text."""

    def other(found: re.Match[str]) -> str:
        if chance.random() >= share:
            return found[0]
        if chance.random() < odd:
            return chance.choice(ODD)
        return chance.choice(STRINGS if found[0][0] == "'" else NUMBERS)

    return LITERAL.sub(other, text)


def texts(dialect: str, seed: int) -> list[str]:
    chance = random.Random(f"{dialect}{seed}")
    found = []
    for base in [*SHAPES, *chance.sample(list(generated.kept()), 8)]:
        for odd in (0.0, 0.0, 0.0, 0.0, 0.1, 0.5):
            one = changed(base, chance, chance.choice((0.4, 1.0)), odd)
            if chance.random() < 0.3:
                one = chance.choice(BEFORE) + one + chance.choice(AFTER)
            found.append(one)
    return found


def keyed(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    """(text, dialect) to its key and the text that stands for it."""
    given = pa.array([text for text, _ in pairs], pa.string()), pa.array([dialect for _, dialect in pairs], pa.string())
    found = zip(keys(*given).to_pylist(), canonicals(*given).to_pylist(), strict=True)
    return dict(zip(pairs, found, strict=True))


@pytest.mark.parametrize("seed", suite_takes(range(1, 4), [1]))
def test_equal_keys_equal_fingerprints_equal_lineage(seed: int) -> None:
    pairs = [(text, dialect) for dialect in DIALECTS for text in sorted(set(texts(dialect, seed)))]
    groups: dict[tuple[str, str | None], list[tuple[str, str | None]]] = defaultdict(list)
    for (text, dialect), (key, shown) in keyed(pairs).items():
        groups[dialect, key].append((text, shown))
    assert sum(len(one) > 1 for one in groups.values()) > 250, "keys that bring nothing together prove nothing"
    wrong = []
    for (dialect, key), together in groups.items():
        if key is None:
            assert {text.strip(" \t\n\f\r") for text, _ in together} == {""}
            continue
        (shown,) = {one for _, one in together}  # the same whatever text of the key is looked at
        assert shown is not None
        # A blank after an odd quote is part of a name.
        alike = [text.strip(" \t\n\x0b\f\r;") for text, _ in together]
        if alike == [shown]:
            continue
        parser = rules(dialect).parser
        prints = {fingerprint(one, parser) for one in (*alike, shown)}
        said = {lineage(one, dialect) for one in (*alike, shown)}
        if len(prints) > 1 or len(said) > 1:
            wrong.append((dialect, len(prints), len(said), alike[:4], shown))
    assert not wrong, (len(wrong), sorted(wrong, key=lambda one: len(one[4]))[:5])


SAME = [
    ("postgres", "select a from t where b = 5 and c in (1, 2)", "/* run 8 */ select a from t where b = 77 and c in ( 3 ) "),
    ("bigquery", "#standardSQL\nselect a from t where d >= '2026-01-01'", "-- x\nselect a from t where d >= '2026-02-01'"),
    ("snowflake", "insert into n select a, 'x' as k from t where d = '2026-01-01';", "insert into n select a, 'x' as k from t where d = '2026-01-02';"),
    ("databricks", "create or replace table n as select a from t where d > 20260101", "create or replace table n as select a from t where d > 20260102"),
    ("redshift", "delete from t where d = '2026-01-01' and k = 'it''s'", "delete from t where d = '2026-01-02' and k = 'no'"),
    ("trino", "select a from t where b = 1.5 group by 1", "select a from t where b = 22.75 group by 1"),
    ("postgres", "insert into t (a, b) values (1, 'x')", "insert into t (a, b) values (22, 'y')"),
    # The time in the names of dbt's tables under way, in a text that keeps its names whole too.
    ("postgres", 'insert into x (a) (select a from "x__dbt_tmp203500632811")', 'insert into x (a) (select a from "x__dbt_tmp071501721106")'),
    ("redshift", "call p('x__dbt_tmp203500632811')", "call p('x__dbt_tmp071501721106')"),
    ("postgres", "select x -> 'a' as k, b from t where url = 'u' and path = 'p'", "select x -> 'a' as k, b from t where url = 'v' and path = 'q'"),
]  # fmt: skip
APART = [
    ("postgres", "select a from t order by 1", "select a from t order by 2"),
    ("postgres", "select a, b from t group by 1, /* x */ 2", "select a, b from t group by 1, /* x */ 1"),
    ("bigquery", "select a from Foo", "select a from foo"),
    ("postgres", "insert into n select a, 'x' from t", "insert into n select a, 'y' from t"),
    ("spark", "select * from t pivot (sum(a) for b in ('x'))", "select * from t pivot (sum(a) for b in ('y'))"),
    ("duckdb", "select * from 'a.csv'", "select * from 'b.csv'"),
    ("duckdb", "select * from read_csv('a.csv')", "select * from read_csv('b.csv')"),
    ("snowflake", "execute immediate 'select 1 from a'", "execute immediate 'select 1 from b'"),
    ("postgres", "select a from t where b = 5", "select a from t where b = '5'"),
    ("postgres", "select a from t where b = $$x$$", "select a from t where b = $$y$$"),
    ("postgres", 'select "a" from t', 'select "b" from t'),
    ("trino", "select a from t -- '\nwhere b = 'x' or c = d", "select a from t -- '\nwhere b = 'x' or c = e"),
    ("postgres", "select a from t where b = 'x\\' or c = 'y'", "select a from t where b = 'x\\' or d = 'y'"),
    ("bigquery", "select a from t where b = 'x\\' or c = y'", "select a from t where b = 'x\\' or c = y' or d"),
    ("postgres", "select '1' as a", "select '1' as b"),
    ("postgres", 'insert into x (a) (select a from "x__dbt_tmp1")', 'insert into x (a) (select a from "x__dbt_tmp2")'),
]  # fmt: skip


def test_what_a_key_brings_together_and_what_it_keeps_apart() -> None:
    found = {pair: key for pair, (key, _) in keyed([(text, dialect) for dialect, *both in (*SAME, *APART) for text in both]).items()}  # fmt: skip
    assert all(key is not None and len(key) == 32 for key in found.values())
    assert [one for one in SAME if found[one[1], one[0]] != found[one[2], one[0]]] == []
    assert [one for one in APART if found[one[1], one[0]] == found[one[2], one[0]]] == []
    text = SAME[0][1]
    assert len({key for key, _ in keyed([(text, dialect) for dialect in DIALECTS]).values()}) == len(DIALECTS)


def test_python_looks_at_a_skeleton_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(text_key, "_known", text_key._Verdicts())
    found = text_key.verdict
    monkeypatch.setattr(text_key, "verdict", lambda skeleton, *rest: (asked.append(skeleton), found(skeleton, *rest))[1])  # fmt: skip
    shown = [f"select a from t{number % 3} where b = {number} and c = 'x{number}'" for number in range(5_000)]
    given = pa.array(shown), pa.array(["trino"] * len(shown))
    assert len(set(keys(*given).to_pylist())) == len(asked) == 3
    keys(*given)
    assert len(asked) == 3


def test_rows_of_any_dialect_keep_their_order() -> None:
    pairs = [(text, dialect) for text in (*SHAPES, "", " ; ") for dialect in ("", *DIALECTS, "nobody knows")]
    random.Random(1).shuffle(pairs)
    alone = [keyed([pair])[pair] for pair in pairs]
    together = keyed(pairs)
    assert [together[pair] for pair in pairs] == alone
    assert keys(pa.array([None, "select 1"], pa.string()), pa.array(["trino", None])).null_count == 1


def _with_key(rows: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F

    def compute_keys(texts: pa.Array, dialects: pa.Array) -> pa.Array:
        return keys(texts, dialects)

    return rows.withColumn("text_key", F.arrow_udf(compute_keys, "string")("statement", "dialect"))


def test_spark_gives_the_same_keys(spark: "SparkSession") -> None:
    pairs = [(text, dialect) for text in SHAPES for dialect in DIALECTS]
    rows = _with_key(spark.createDataFrame(pairs, "statement string, dialect string")).collect()
    told = {(row["statement"], row["dialect"]): row["text_key"] for row in rows}
    assert told == {pair: key for pair, (key, _) in keyed(pairs).items()}


def times(many: int) -> int:
    """Return how often makes a megabyte in `make soak`; a quarter of that in the suite, where any growth with the square still takes
    minutes."""
    return many * full(4, 1) // 4


HARD = {
    "one string": "select '" + "x" * times(1_000_000) + "' from t",
    "a string that never ends": "select a from t where b = '" + "x''" * times(300_000),
    "quotes": "select " + "'" * (times(1_000_000) + 1),
    "numbers": "select " + "1 " * times(500_000),
    "words with digits": "select " + "a1" * times(500_000),
    "a list": "select a from t where b in (" + "1, " * times(300_000) + "1)",
    "a list that is none": "select a from t where b in (" + "1, " * times(300_000) + "c)",
    "lists that never end": "select a " + "in (" * times(250_000),
    "comments": "select a from t " + "-- c\n" * times(200_000) + "where b = 1",
    "comments at the end": "select a from t where b = 1" + "-- c\n; " * times(140_000),
    "comments before": "-- c\n" * times(200_000) + "select a from t where b = 1",
    "open comments": "select a " + "/* " * times(300_000),
    "semicolons": "select 1" + ";" * times(1_000_000),
    "semicolons and more": ";" * times(500_000) + "select 1" + ";" * times(500_000) + "select 2",
    "parentheses": "insert into t select " + "(" * times(300_000) + "1" + ")" * times(300_000),
    "selects": "insert into t " + "select a, (" * times(90_000),
    "selects without from": "insert into t " + "select " * times(140_000),
    "froms": "select a " + "from t, u " * times(100_000),
    "a long list of tables": "select a from " + "t, " * times(300_000) + "u where b = 1",
    "joins": "select a from t " + "join (" * times(150_000),
    "creates": "create table " + "s" * times(900_000),
    "blanks": "select" + " " * times(1_000_000) + "1",
    "blanks alone": " " * times(1_000_000),
    "backslashes": "select '" + "\\" * times(1_000_000) + "' from t",
    "dollars": "select " + "$a$ " * times(200_000),
    "brackets": "select " + "[" * times(1_000_000),
    "far letters": "select a from t where b = '" + "\U0001f600" * times(250_000) + "' and \u00e9 = 1",
    "words": "select " + "ex in by as from " * times(60_000),
}


@pytest.mark.parametrize("dialect", suite_takes(["postgres", "bigquery", "snowflake", "tsql"], ["bigquery"]))
def test_no_text_of_a_megabyte_is_hard(dialect: str) -> None:
    """Neither the stack nor time grows more than the text does: all of them, forty megabytes, in a moment."""
    given = pa.array(HARD.values(), pa.string()), pa.array([dialect] * len(HARD))
    found = dict(zip(HARD, keys(*given).to_pylist(), strict=True))
    assert {name for name, key in found.items() if key is None} == {"blanks alone"}
