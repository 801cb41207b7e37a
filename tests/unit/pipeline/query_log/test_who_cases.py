"""The actor and the reason of a query: the cases, the ids Airflow's provider derives, and hostile texts."""

import datetime as dt
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openlineage.client.uuid import generate_static_uuid
from tests.fixtures.who import Case, attribute_query, cases
from tests.scale import full

from headwater.pipeline.query_log.who import COLUMNS, MARKS, Config, runs
from headwater.pipeline.query_log.who.comments import comments, statement_comments
from headwater.pipeline.query_log.who.dbt import job_name
from headwater.pipeline.query_log.who.evidence import asset, evidence
from headwater.pipeline.query_log.who.tools import TOOLS, recognise

KINDS = {"person", "service", "bi", "pipeline", "unknown"}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_cases(case: Case) -> None:
    answer, run_id = attribute_query(**case.given, config=case.config)
    said = {name: getattr(answer, name) for name in COLUMNS[:-1]} | {"job_run_id": run_id}
    assert said == case.expected


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_what_varies_is_not_part_of_the_answer(case: Case) -> None:
    """Masked as Spark masks it, a query has the same answer: only its run's id is lost."""
    whole, _ = attribute_query(**case.given, config=case.config)
    block = statement_comments(case.given.get("statement", ""), MARKS) or ""
    tags = case.given.get("tags")
    application = case.given.get("application")
    masked = recognise(
        evidence(
            case.given.get("source"),
            runs.masked(application) if application else None,
            case.given.get("user"),
            case.given.get("role"),
            json.loads(runs.masked(json.dumps(tags, ensure_ascii=False, separators=(",", ":")))) if tags else None,
            comments(runs.masked(block)),
        ),
        case.config,
    )
    assert masked == whole


def test_ids_are_those_of_the_openlineage_client() -> None:
    draw = random.Random(7)
    for _ in range(200):
        moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=draw.randrange(10**15))
        moment = moment.replace(microsecond=draw.choice([0, 1000, 123456, moment.microsecond]))
        number, index = draw.randrange(1, 9), draw.randrange(-1, 20)
        theirs = generate_static_uuid(moment, f"default.dag.task.{number}.{index}".encode())
        assert runs.task_run_id("default.dag.task.", number, index, moment) == str(theirs)


def test_a_logical_date_of_another_zone_is_the_same_moment() -> None:
    told = runs.Parts(try_number="1", logical_date="2026-01-01T02:00:00+02:00")
    there = runs.run_id("airflow", "n.d.t.", told, run_id_is_logical_date=True)
    here = runs.Parts(try_number="1", airflow_run="scheduled__2026-01-01T00:00:00+00:00")
    assert there == runs.run_id("airflow", "n.d.t.", here, run_id_is_logical_date=True)


@pytest.mark.parametrize(
    "date", ["2026-13-01T00:00:00+00:00", "2026-01-01T00:00:00", "2026-01-01", "", "yesterday", "0000-01-01T00:00:00Z"]
)
def test_a_date_that_is_none_makes_no_id(date: str) -> None:
    told = runs.Parts(try_number="1", logical_date=date)
    assert runs.run_id("airflow", "n.d.t.", told, run_id_is_logical_date=True) is None


def test_two_executions_of_one_thing_are_one_input() -> None:
    """Executions that differ only in their run become one input, which makes ten million rows some thousands of questions."""
    pairs = [
        (
            '/* {"app": "dbt", "node_id": "model.a.b", "invocation_id": "4da07dc3-e2f1-44d1-a315-46ab6ea0b58f"} */',
            '/* {"app": "dbt", "node_id": "model.a.b", "invocation_id": "2948dd10-2bb5-4300-9509-eb344adbb3b6"} */',
        ),
        (
            '-- Looker Query Context \'{"user_id":6,"history_slug":"a8f3b1","instance_slug":"71d4"}\'',
            '-- Looker Query Context \'{"user_id":6,"history_slug":"ffffff","instance_slug":"71d4"}\'',
        ),
        (
            "-- Metabase:: userID: 1 queryType: native queryHash: aaa",
            "-- Metabase:: userID: 1 queryType: native queryHash: bbb",
        ),
        (
            '{"query_tag":"{\\"dag_id\\": \\"d\\", \\"run_id\\": \\"manual__1\\", \\"try_number\\": 1}"}',
            '{"query_tag":"{\\"dag_id\\": \\"d\\", \\"run_id\\": \\"manual__2\\", \\"try_number\\": 12}"}',
        ),
        (
            '-- {"url":"https://modeanalytics.com/a/reports/aaaaaaaaaaaa/runs/278b8ef00a8b/queries/d17569ccf3a2"}',
            '-- {"url":"https://modeanalytics.com/a/reports/aaaaaaaaaaaa/runs/662b21949629/queries/d17569ccf3a2"}',
        ),
        (
            "/* Username: a, Query ID: 1, Job ID: x1, Query Hash: y1, Scheduled: False */",
            "/* Username: a, Query ID: 1, Job ID: x2, Query Hash: y2, Scheduled: False */",
        ),
        (
            "/*traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01',route='x'*/",
            "/*traceparent='00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00',route='x'*/",
        ),
    ]
    for one, other in pairs:
        assert one != other
        assert runs.masked(one) == runs.masked(other), one
    # And what is asked for stays.
    assert runs.masked('"dashboard_id": 12, "job_id": "77"') == '"dashboard_id": 12, "job_id": "77"'


def test_comments_at_both_ends() -> None:
    assert comments("/* a */ -- b\n# c\n/* d") == (" a ", " b", " c", " d")
    assert comments("-- {\n--  1\n-- }\n-- x") == (" {\n  1\n }", " x")
    assert comments("") == ()
    text = "-- dbt_v1\nselect '-- looker' /* tableau */"
    assert statement_comments(text, MARKS) == "-- dbt_v1\n\n/* tableau */"
    assert statement_comments("select 1 /* looker */ from a", MARKS) is None
    assert statement_comments("select 1 from looker", MARKS) is None


def test_names_of_dbts_jobs() -> None:
    assert job_name("model.shop.orders", "unique_id") == "model.shop.orders"
    assert job_name("model.shop.orders.v2", "relation", "db", "s") == "db.s.shop.orders.v2"
    assert job_name("model.shop.orders", "relation", None, "s", "build") == "s.shop.orders.build.run"
    assert job_name("snapshot.shop.orders", "relation", "db", "s", "run") == "db.s.shop.orders.snapshot"
    assert job_name("snapshot.shop.orders", "relation", "db", "s", "build") == "db.s.shop.orders.build.snapshot"
    assert job_name("seed.shop.codes", "relation", "db", "s") == "db.s.seed.shop.codes"
    assert job_name("test.shop.unique_id.abc", "relation", "db", "s") is None
    assert job_name("model_shop_orders", "unique_id") is None


def test_an_id_cannot_leave_its_place() -> None:
    assert asset(("dashboard", "1/card/2"), ("card", None)) == "dashboard/1%2Fcard%2F2"
    assert asset(("dashboard", None)) is None


def test_every_tool_has_the_same_names() -> None:
    for tool in TOOLS:
        assert isinstance(tool.TOOL, str), tool
        assert isinstance(tool.MARKS, tuple), tool
        assert all(mark == mark.lower() for mark in tool.MARKS), tool
        assert callable(tool.recognise), tool


# Texts that a fuzzer would not find by chance: the beginnings of the modules' marks.
SEEDS = [
    *MARKS,
    *(
        '{"app": "dbt", "node_id": "',
        "Looker Query Context '{",
        "Metabase:: userID: ",
        '"tableau-query-origins": {',
        "{" * 20,
    ),
    *(
        "/*",
        "*/",
        "--",
        "\n",
        "='",
        "\\'",
        '\\"',
        '":',
        "%",
        "[SQL LAB] ",
        "Username: , Query Hash: ",
        "\x00",
        "\x01",
        "Σ",
        "👩‍🚀",
        "[" * 50,
    ),
    *(
        "https://modeanalytics.com/a/reports/",
        "https://app.sigmacomputing.com/a/workbook/",
        "opaque_id[[[",
        'filter_values":{',
    ),
]
HOSTILE = st.lists(st.one_of(st.sampled_from(SEEDS), st.text(max_size=20)), max_size=12).map("".join)


@settings(max_examples=full(300, 80), deadline=None)
@given(text=HOSTILE, tags=st.dictionaries(HOSTILE, st.one_of(st.none(), HOSTILE), max_size=4), name=HOSTILE)
def test_nothing_raises(text: str, tags: dict[str, str | None], name: str) -> None:
    for statement in (text, f"/* {text} */ select 1", f"select 1 -- {text}"):
        answer, run_id = attribute_query(
            statement=statement, tags=tags, user=name, application=text, source="databricks"
        )
        assert answer.actor
        assert answer.actor_kind in KINDS
        assert run_id is None or isinstance(run_id, str)
        assert 0 <= answer.confidence <= 1


@pytest.fixture
def patience() -> Iterator[None]:
    """A limit no honest run comes near: an expression that explodes would run for years."""

    def gone(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, gone)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


BAD = [
    "[",
    "{",
    '{"a":',
    "='",
    "a='",
    "/*",
    "--",
    "*/",
    "aaaaaaa=",
    "\\'",
    '"',
    "a: ",
    ", a:",
    "_",
    "%",
    "-",
    "dag_id",
    "run_id: ",
    "/",
]


@pytest.mark.parametrize("piece", BAD)
@pytest.mark.usefixtures("patience")
def test_a_megabyte_of_anything_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    for statement in (
        text,
        f"/* dbt_v {text} */ select 1",
        f"select 1 -- looker {text}",
        f"-- looker {text[:10_000]}\nselect 1",
    ):
        answer, _ = attribute_query(statement=statement, tags={"query_tag": text[:8_000]}, user=text, application=text)
        assert answer.actor_kind in KINDS


def test_settings_are_checked() -> None:
    assert Config().users == {}
    with pytest.raises(msgspec.ValidationError, match="servant"):
        msgspec.convert({"users": {"a": "servant"}}, Config)


def test_every_tool_is_on_the_page() -> None:
    page = (Path(__file__).parents[4] / "docs/reference/query-log-who.md").read_text(encoding="utf-8")
    own = {tool.TOOL for tool in TOOLS} - {"application", "user", "sqlcommenter"}
    assert not {tool for tool in own if f"| `{tool}` |" not in page}
    assert all(f"| `{name}` |" in page for name in (*COLUMNS[:5], *Config.__struct_fields__))
