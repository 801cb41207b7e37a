"""The actors of queries, over a DataFrame: the same answers as for one query, each distinct input asked once, every row kept."""

import datetime as dt
import random
from itertools import groupby

import msgspec
import pytest
from tests.fixtures.who import cases
from tests.scale import suite_takes

from headwater.pipeline.query_log import who as module
from headwater.pipeline.query_log.who import COLUMNS, MARKS, Config, runs, who, with_comments
from headwater.pipeline.query_log.who.assets import (
    asset_names,
    history_slug,
    looker_history,
    with_asset_names,
    with_looker_history,
)
from headwater.pipeline.query_log.who.comments import statement_comments
from headwater.pipeline.query_log.who.exports import DbtQuery, frame, linked

pytestmark = pytest.mark.spark

SCHEMA = (
    "id string, source string, statement string, application string, user string, role string, tags map<string,string>"
)
NAMES = ("source", "statement", "application", "user", "role", "tags")


def rows_of(spark, given):
    """(id, what is known) as rows of SCHEMA."""
    return spark.createDataFrame([(name, *(known.get(column) for column in NAMES)) for name, known in given], SCHEMA)


def said(table):
    return {row["id"]: {name: row[name] for name in COLUMNS} for row in table.collect()}


GROUPS = [list(group) for _, group in groupby(sorted(cases(), key=lambda c: repr(c.config)), lambda c: repr(c.config))]


# Settings of which there is one case are asked without Spark in the suite: tests/unit/pipeline/query_log/test_who_cases.py.
@pytest.mark.parametrize("told", suite_takes(GROUPS, [group for group in GROUPS if len(group) > 1]), ids=len)
def test_cases(spark, told) -> None:
    answers = said(who(rows_of(spark, [(case.id, case.given) for case in told]), told[0].config))
    assert answers == {case.id: case.expected for case in told}


def test_comments_are_found_as_in_python(spark) -> None:
    texts = [case.given.get("statement") or "" for case in cases()]
    texts += [
        "",
        "--",
        "/*",
        "/* looker",
        "-- looker",
        "# looker\nselect 1",
        "select 1 /* looker */;;\n ; ",
        "/**/ -- LOOKER\n\n/* x */ a",
    ]
    texts += [
        "x" * 20_000 + " -- looker",
        "/* looker " + "x" * 20_000 + " */ select 1",
        "/* " + "*" * 9_000 + " looker */ select 1",
    ]
    texts += [
        "-- looker\n" * 1_600 + "select 1",
        "explain /* looker */ select 1",
        "declare c cursor with hold for /* looker */ select 1",
    ]
    table = spark.createDataFrame(list(enumerate(texts)), "id int, statement string")
    found = {row["id"]: row["comments"] for row in with_comments(table).collect()}
    assert found == {number: statement_comments(text, MARKS) for number, text in enumerate(texts)}
    assert sum(value is not None for value in found.values()) > 40


def test_ids_of_runs_are_python_s(spark) -> None:
    draw = random.Random(11)
    told = []
    for _ in range(300):
        moment = dt.datetime(
            1999, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=draw.randrange(-11, 12)))
        ) + dt.timedelta(microseconds=draw.randrange(2 * 10**15))
        moment = moment.replace(microsecond=draw.choice([0, 123000, moment.microsecond]))
        told.append(
            draw.choice(
                [
                    f'{{"run_id": "scheduled__{moment.isoformat()}", "try_number": {draw.randrange(9)}}}',
                    f"logical_date='{moment.isoformat()}',map_index={draw.randrange(9)},try_number='3'",
                    f"logical_date='{moment.isoformat().replace('+', '%2B').replace(':', '%3A')}',try_number='3'",
                    f'{{"execution_date": "{moment.isoformat(" ")}", "airflow_try_number": "2"}}',
                    f"run_id=manual__{moment.isoformat()}_aB3, map_index=-1, try_number=1",
                    f"run_id=manual__{moment.date()}, try_number=1",
                    f"execution_date={moment.isoformat()}",
                    "logical_date='2026-02-30T00:00:00+00:00',try_number='1'",
                ]
            )
        )
    table = spark.createDataFrame(
        [(number, text, "airflow", "n.d.t.") for number, text in enumerate(told)],
        "id int, text string, rule string, seed string",
    )
    for dated in (True, False):
        column = runs.run_id_column(table["rule"], table["seed"], table["text"], run_id_is_logical_date=dated)
        made = {row["id"]: row["made"] for row in table.select("id", column.alias("made")).collect()}
        expected = {
            number: runs.run_id("airflow", "n.d.t.", runs.parts(text), run_id_is_logical_date=dated)
            for number, text in enumerate(told)
        }
        assert made == expected
        assert len(set(made.values())) > 100


def test_every_row_stays_and_each_input_is_asked_once(spark, monkeypatch) -> None:
    given = [
        (
            f"{number}",
            {
                "statement": f'/* {{"app": "dbt", "node_id": "model.a.m{number % 3}", "invocation_id": "00000000-0000-4000-8000-{number:012d}"}} */ select 1',
                "user": "dbt" if number % 2 else None,
            },
        )
        for number in range(60)
    ]
    table = rows_of(spark, [*given, *given])
    inputs = module._with_input(table).select(module._INPUT).distinct()
    assert inputs.count() == 6
    # A column that exists already is replaced.
    answers = who(table.withColumn("actor", table["id"]))
    assert answers.columns == ["id", *NAMES, *COLUMNS]
    assert answers.count() == 120
    one = {row["id"]: (row["job_name"], row["job_run_id"]) for row in answers.collect()}
    assert one["7"] == ("model.a.m1", "00000000-0000-4000-8000-000000000007")
    # More answers than the driver should hold: the same by a shuffle.
    monkeypatch.setattr(module, "BROADCAST", 2)
    assert sorted(who(table).collect()) == sorted(answers.collect())


def test_a_table_that_lacks_columns_is_read_as_it_is(spark) -> None:
    answers = who(spark.createDataFrame([("ada@shop.example",), (None,)], "user string")).collect()
    assert sorted((row["user"] or "", row["actor"], row["actor_kind"]) for row in answers) == [
        ("", "unknown", "unknown"),
        ("ada@shop.example", "ada@shop.example", "person"),
    ]
    told = spark.createDataFrame([("/* looker */", "select 1 -- dbt_v")], "comments string, statement string")
    # Comments that were taken before are not looked for again.
    assert who(told).collect()[0]["tool"] is None


def test_hostile_rows_end(spark) -> None:
    bad = [
        "[",
        "{",
        '{"a":',
        "='",
        "a='",
        "/*",
        "--",
        "*/",
        "\\'",
        '"',
        "a: ",
        "run_id: ",
        "\x01",
        "\x00",
        "👩‍🚀",
        "invocation_id",
        "/",
    ]
    given = [
        (
            f"{number}.{place}",
            {
                "statement": text[0] + piece * (40_000 // len(piece)) + text[1],
                "tags": {"query_tag": piece * 900},
                "user": piece * 50,
                "application": "{" + piece * 900,
            },
        )
        for number, piece in enumerate(bad)
        for place, text in enumerate(
            [("", ""), ("/* dbt_v ", " */ select 1"), ("-- looker ", ""), ("select 1 -- looker ", "")]
        )
    ]
    # Bytes that are no text: FF in a comment, C3 28 in a name.
    broken = spark.sql(
        """select 'broken' as id, '' as source, cast(unhex('2D2D206C6F6F6B657220FF0A73656C6563742031') as string) as statement,
           cast(unhex('C328') as string) as application, cast(unhex('FFFE') as string) as user, null as role,
           map('query_tag', cast(unhex('7B22FF22') as string)) as tags"""
    )
    table = rows_of(spark, given).unionByName(broken)
    answers = who(table).collect()
    assert len(answers) == len(given) + 1
    assert all(row["actor"] and row["actor_kind"] for row in answers)


def test_dbts_artifacts_say_more(spark) -> None:
    model = DbtQuery("q1", "dbt", "model.a.b", "00000000-0000-4000-8000-000000000001", "model.a.b", "db.s.b")
    nameless = msgspec.structs.replace(model, query_id="q2", job_name=None)
    told = frame(spark, [nameless, model, msgspec.structs.replace(model, job_run_id=None)])
    rows = spark.createDataFrame([("q1", "ada"), ("q2", "ada"), ("q3", "ada")], "query_id string, user string")
    answers = {row["query_id"]: row for row in linked(who(rows, Config(users={"ada": "person"})), told).collect()}
    assert [answers["q1"][name] for name in COLUMNS] == [
        *("ada", "pipeline", "dbt", "model/a.b", "b", "dbt", "model.a.b", "00000000-0000-4000-8000-000000000001")
    ]
    assert answers["q2"]["job_name"] is answers["q2"]["job_namespace"] is None
    assert [answers["q3"][name] for name in COLUMNS] == ["ada", "person", *[None] * 6]


def test_looker_history_names_dashboards(spark, tmp_path) -> None:
    def comment(slug):
        return f'-- Looker Query Context \'{{"user_id":6,"history_slug":"{slug}","instance_slug":"71d4"}}\'\nselect 1'

    rows = spark.createDataFrame(
        [
            ("q1", comment("aaaaaaaa1"), None),
            ("q2", comment("aaaaaaaa2"), None),
            ("q3", comment("aaaaaaaa3"), None),
            ("q4", comment("aaaaaaaa4"), None),
            ("q5", "select 1", {"looker-context-history_slug": "aaaaaaaa1", "looker-context-user_id": "6"}),
            ("q6", "select 1 -- metabase history_slug: aaaaaaaa1", None),
        ],
        "query_id string, statement string, tags map<string,string>",
    )
    (tmp_path / "history.csv").write_text(
        "History Slug,User Email,Dashboard ID,Dashboard Title,Look ID,Look Title,Query Model,Query Explore,Folder Name\n"
        'aaaaaaaa1,ada@shop.example,12,"Orders, daily",,,shop,orders,Shared\n'
        "aaaaaaaa1,ada@shop.example,12,,,,shop,orders,Shared\n"
        "aaaaaaaa2,ada@shop.example,,,7,Returns,shop,orders,\n"
        "aaaaaaaa3,,,,,,shop,orders,\n",
        encoding="utf-8",
    )
    (tmp_path / "more.json").write_text('{"history.slug": "bbbbbbbb1", "dashboard.id": 13}\n', encoding="utf-8")
    history = looker_history(spark, [str(tmp_path / "history.csv"), str(tmp_path / "more.json")])
    assert history.count() == 4
    told = with_looker_history(who(with_comments(rows)).withColumn("tool_run", history_slug()), history)
    assert told.columns == ["query_id", "statement", "tags", "comments", *COLUMNS, "tool_run"]
    assert {row["query_id"]: (row["actor"], row["tool_asset"], row["tool_asset_name"]) for row in told.collect()} == {
        "q1": ("ada@shop.example", "dashboard/12", "Shared / Orders, daily"),
        "q2": ("ada@shop.example", "look/7", "Returns"),
        "q3": ("looker:6", "explore/shop::orders", None),
        "q4": ("looker:6", None, None),
        "q5": ("ada@shop.example", "dashboard/12", "Shared / Orders, daily"),
        "q6": ("unknown", None, None),
    }
    (tmp_path / "other.csv").write_text("id\n1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="history_slug"):
        looker_history(spark, [str(tmp_path / "other.csv")])


def test_assets_are_given_names(spark, tmp_path) -> None:
    rows = spark.createDataFrame(
        [("metabase", "card/1", None), ("metabase", "card/2", "was"), ("mode", "card/1", None), (None, None, None)],
        "tool string, tool_asset string, tool_asset_name string",
    )
    path = tmp_path / "names.csv"
    path.write_text(
        "tool,tool_asset,name,folder\nmetabase,card/1,Orders,Sales\nmetabase,card/3,Else,\n", encoding="utf-8"
    )
    named = with_asset_names(rows, asset_names(spark, [str(path)]))
    assert sorted(map(str, (row["tool_asset_name"] for row in named.collect()))) == [
        "None",
        "None",
        "Sales / Orders",
        "was",
    ]
