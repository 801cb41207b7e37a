"""Tables of a query log published to a real server: what it answers then, and that sending again changes nothing."""

import datetime as dt
import json
import shutil
import urllib.parse
import urllib.request
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.receiver import receiving

from headwater.errors import InvalidSettings, ServerUnavailable
from headwater.pipeline.query_log import publish
from headwater.pipeline.query_log.schema import (
    COST,
    DAILY,
    EXECUTIONS,
    PRUNING,
    QUALITY,
    RECURRENCE,
    SHAPES,
    UNDERSTOOD,
    USAGE,
)
from headwater.pipeline.tables import Store, Table

N = "trino://lake:8080"
DAY = dt.date(2026, 11, 20)
AT = dt.datetime(2026, 11, 21, 6, tzinfo=dt.UTC)
MAKE, LOOK, SET = "aaaaaaaa00000000", "bbbbbbbb00000000", "cccccccc00000000"


def at(hour: int, day: dt.date = DAY) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day, hour, tzinfo=dt.UTC)


def ds(name: str) -> dict[str, str]:
    return {"namespace": N, "name": name}


def written(store: Store, **tables: list[dict[str, Any]]) -> None:
    """These rows as whole tables; what a row lacks is null, or 0 where it may not be."""
    known = {t.name: t for t in (COST, DAILY, EXECUTIONS, PRUNING, QUALITY, RECURRENCE, SHAPES, UNDERSTOOD, USAGE)}
    with store.change() as change:
        for name, rows in tables.items():
            change.replace(known[name], _frame(store, known[name], rows))


def _frame(store: Store, table: Table, rows: list[dict[str, Any]]) -> Any:
    from pyspark.sql.types import ArrayType, BooleanType, DecimalType, StringType

    def value(field: Any, row: dict[str, Any]) -> Any:
        if field.name in row or field.nullable:
            told = row.get(field.name)
            return Decimal(str(told)) if isinstance(field.dataType, DecimalType) and told is not None else told
        kinds: list[tuple[Any, Any]] = [
            (StringType, ""),
            (BooleanType, False),
            (ArrayType, []),
            (DecimalType, Decimal(0)),
        ]
        nothing = [empty for kind, empty in kinds if isinstance(field.dataType, kind)]
        return nothing[0] if nothing else 0.0 if field.dataType.simpleString() == "double" else 0

    full = [tuple(value(field, row) for field in table.schema.fields) for row in rows]
    return store.spark.createDataFrame(full, table.schema)


def execution(query: str, shape: str, hour: int, **more: Any) -> dict[str, Any]:
    return {
        "source": "trino", "namespace": N, "query_id": query, "day": DAY, "started_at": at(hour), "ended_at": at(hour + 1), "dialect": "trino",
        "state": "succeeded", "file": "f", "place": "{}", "shape_id": shape, "actor": "ann", "actor_kind": "person", "duration_ms": 3_600_000,
    } | more  # fmt: skip


def daily(executions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sums of these executions: those of one shape, actor, tool and job are one row."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in executions:
        key = tuple(
            one.get(name) for name in ("day", "shape_id", "actor", "tool", "tool_asset", "job_namespace", "job_name")
        )
        groups.setdefault(key, []).append(one)
    return [
        max(some, key=lambda one: one["started_at"])
        | {
            "executions": len(some),
            "failures": sum(one["state"] != "succeeded" for one in some),
            "first_at": min(one["started_at"] for one in some),
            "last_at": max(one["started_at"] for one in some),
            "duration_ms": sum(one["duration_ms"] for one in some),
            "last_query_id": max(some, key=lambda one: one["started_at"])["query_id"],
        }
        for some in groups.values()
    ]


OUTPUTS = [
    {
        **ds("lake.marts.sales"),
        "facets": {"columnLineage": {"fields": {"total": {"inputFields": [{**ds("lake.raw.orders"), "field": "amount", "transformations": []}]}}}},
    }
]  # fmt: skip
EXECUTIONS_ = [
    execution("q1", MAKE, 1, job_namespace="prod", job_name="shop.sales", job_run_id="0199c0de-0000-7000-8000-000000000001", tool="airflow"),
    execution("q2", MAKE, 3, job_namespace="prod", job_name="shop.sales", tool="airflow", actor="etl", actor_kind="service"),
    execution("q3", MAKE, 5, job_namespace="prod", job_name="shop.sales", tool="airflow", actor="etl", actor_kind="service", state="failed", error="boom"),
    execution("q4", LOOK, 9),
    execution("q5", LOOK, 10, tool="metabase", tool_asset="card/7", actor_kind="bi"),
    execution("q6", SET, 11),
]  # fmt: skip


@pytest.fixture
def store(spark: Any, filled: Path, tmp_path: Path) -> Store:
    return Store(spark, str(shutil.copytree(filled, tmp_path / "store")))


@pytest.fixture(scope="module")
def filled(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that no test writes to."""
    folder = tmp_path_factory.mktemp("filled")
    made = Store(spark, str(folder))
    statement = {"namespace": N, "place": "{}", "dialect": "trino", "level": "full", "temporary": False}
    written(
        made,
        shapes=[
            {"shape_id": MAKE, "dialect": "trino", "normalised": "INSERT INTO sales SELECT sum(amount) FROM orders WHERE day = ?", "kind": "INSERT"},
            {"shape_id": LOOK, "dialect": "trino", "normalised": "SELECT * FROM sales", "kind": "SELECT"},
            {"shape_id": SET, "dialect": "trino", "normalised": "SET SESSION x = ?", "kind": "SET"},
        ],
        understood=[
            statement | {"shape_id": MAKE, "kind": "INSERT", "reads": [ds("lake.raw.orders")], "writes": [ds("lake.marts.sales")], "outputs": json.dumps(OUTPUTS)},
            statement | {"shape_id": LOOK, "kind": "SELECT", "reads": [ds("lake.marts.sales")], "writes": [], "outputs": "[]"},
            statement | {"shape_id": SET, "kind": "SET", "reads": [], "writes": []},
        ],
        executions=EXECUTIONS_,
        daily=daily(EXECUTIONS_),
        usage=[
            {"namespace": N, "name": "lake.marts.sales", "reads": 2, "writes": 2, "reads_by_people": 1, "reads_by_bi": 1, "distinct_readers": 1, "distinct_people": 1,
             "last_read_at": at(10), "first_seen_at": at(1), "active_days": 1, "status": "active",
             "top_readers": [{"actor": "ann", "kind": "person", "reads": 1, "last_read_at": at(9)}]},
            {"namespace": N, "name": "lake.raw.old", "writes": 9, "first_seen_at": at(0), "last_written_at": at(2), "status": "unread", "top_readers": []},
        ],
        cost=[
            {"grain": "table", "namespace": N, "key": "lake.marts.sales", "executions": 5, "money": 3.0, "share": 0.75},
            {"grain": "table", "namespace": "", "key": "", "executions": 1, "money": 1.0, "share": 0.25},
            {"grain": "storage", "namespace": N, "key": "lake.marts.sales", "money": 0.5, "share": 1.0},
            {"grain": "shape", "namespace": N, "key": MAKE, "executions": 3, "money": 2.0, "share": 0.5},
            {"grain": "shape", "namespace": N, "key": LOOK, "executions": 2, "money": 1.0, "bytes_billed": 10, "share": 0.25},
            {"grain": "task", "namespace": "prod", "key": "shop.sales", "executions": 3, "money": 2.0, "share": 0.5},
            {"grain": "user", "namespace": N, "key": "ann", "executions": 3, "money": 1.5, "share": 0.375},
            {"grain": "user", "namespace": N, "key": "etl", "executions": 2, "money": 1.75, "share": 0.4},
            {"grain": "tool", "namespace": N, "key": "airflow", "executions": 3, "money": 2.0, "share": 0.5},
        ],
        recurrence=[
            {"namespace": N, "shape_id": MAKE, "class": "recurring", "executions": 3, "period_seconds": 7200, "first_at": at(1), "last_at": at(5), "confidence": 0.5},
            {"namespace": N, "shape_id": LOOK, "class": "ad_hoc", "executions": 2, "first_at": at(9), "last_at": at(10), "confidence": 0.5},
        ],
        quality=[
            {"day": DAY, "namespace": N, "dialect": "trino", "shapes": 3, "full_shapes": 2, "nothing_shapes": 1, "executions": 6, "full_executions": 5,
             "nothing_executions": 1},
            {"day": DAY, "namespace": "", "dialect": "trino", "quarantined": 3, "quarantined_by": [("bad_row", 3)]},
        ],
        pruning=[{"namespace": N, "name": "lake.raw.old", "wave": 1, "reason": "nobody reads it", "money_month": 4.5, "evidence": "9 writes", "confidence": 0.9}],
    )  # fmt: skip
    return folder


def published(store: Store, to: Any, *, at: dt.datetime, days: list[dt.date], again: bool = False, **given: Any) -> Any:
    """Runs and measures, as a sync sends them."""
    runs = publish.publish_runs(store, to, at=at, days=days, **given)
    return runs.and_(publish.publish_measures(store, to, at=at, again=again, **given))


def get(url: str, path: str, **question: Any) -> Any:
    asked = urllib.parse.urlencode(question, doseq=True)
    with urllib.request.urlopen(f"{url}{path}?{asked}", timeout=30) as reply:
        return json.load(reply)


def test_published_is_answered(store: Store, server_url: str) -> None:
    told = published(store, publish.destination(server_url), at=AT, days=[DAY])
    assert (told.refused, told.unsent, told.duplicates) == (0, 0, 0)
    assert told.accepted == told.events

    insert, select, card = (
        "INSERT lake.marts.sales aaaaaaaa",
        "SELECT lake.marts.sales bbbbbbbb",
        "SELECT metabase:card/7 bbbbbbbb",
    )
    runs = {
        (one["job"], one["state"], one["user"]) for one in get(server_url, "/api/v2/runs")["runs"] if N in one["job"]
    }
    assert runs == {
        (f"job:{N}:{insert}", "COMPLETED", "etl"), (f"job:{N}:{insert}", "FAILED", "etl"),
        (f"job:{N}:{select}", "COMPLETED", "ann"), (f"job:{N}:{card}", "COMPLETED", "ann"),
    }  # fmt: skip
    found = get(server_url, "/api/v2/lineage", node=f"dataset:{N}:lake.marts.sales", columns="true")
    short = {
        (one["source"].removeprefix(f"dataset:{N}:"), one["target"].removeprefix(f"dataset:{N}:"))
        for one in found["edges"]
    }
    assert short == {
        ("lake.raw.orders", f"job:{N}:{insert}"), (f"job:{N}:{insert}", "lake.marts.sales"), ("lake.marts.sales", f"job:{N}:{select}"),
        ("lake.marts.sales", f"job:{N}:{card}"), (f"job:{N}:{card}", "dataset:metabase:card/7"),
    }  # fmt: skip
    assert [(one["source_field"], one["target_field"]) for one in found["column_edges"]] == [("amount", "total")]
    parents = {one["name"]: one["parent"] for one in found["nodes"] if one["type"] == "JOB"}
    assert parents == {insert: "job:prod:shop.sales", select: None, card: None}
    hidden = get(server_url, "/api/v2/lineage", node=f"dataset:{N}:lake.marts.sales", hide=["ad_hoc", "one_off"])
    assert {one["name"] for one in hidden["nodes"]} == {"lake.raw.orders", insert, "lake.marts.sales"}

    usage = get(server_url, "/api/v2/usage", sort="name")["datasets"]
    assert [(one["name"], one["status"], one["reads"], one["writes"]) for one in usage] == [
        ("lake.marts.sales", "active", 2, 2), ("lake.raw.old", "unread", 0, 9),
    ]  # fmt: skip
    assert usage[0]["top_readers"] == [
        {"actor": "ann", "kind": "person", "reads": 1, "last_read_at": "2026-11-20T09:00:00Z"}
    ]
    cost = {
        grain: [(one["name"], one["money"]) for one in get(server_url, "/api/v2/cost", grain=grain)["costs"]]
        for grain in ("table", "shape", "task", "user", "tool")
    }
    assert cost == {
        "table": [("lake.marts.sales", 3.0)],
        # Two jobs of one shape took the same time.
        "shape": [(insert, 2.0), (select, 0.5), (card, 0.5)],
        "task": [("shop.sales", 2.0)], "user": [("etl", 1.75), ("ann", 1.5)], "tool": [("airflow", 2.0)],
    }  # fmt: skip
    assert get(server_url, "/api/v2/cost")["costs"][0]["keep_month"] == 0.5
    pruning = get(server_url, "/api/v2/pruning")
    assert [(one["name"], one["wave"], one["money_month"]) for one in pruning["datasets"]] == [("lake.raw.old", 1, 4.5)]
    nowhere, source = get(server_url, "/api/v2/quality", until="2026-11-21")["sources"]
    assert (nowhere["namespace"], nowhere["quarantined_by"]) == ("headwater", {"bad_row": 3})
    assert (source["dialect"], source["executions"], source["coverage_last"]) == ("trino", 6, 5 / 6)

    # A client of Marquez reads the same.
    namespace = urllib.parse.quote(N, safe="")
    jobs = get(server_url, f"/api/v1/namespaces/{namespace}/jobs")["jobs"]
    # It puts the parent's name before that of a job.
    assert {one["name"] for one in jobs} == {f"shop.sales.{insert}", select, card, "query-log"}
    (one,) = [one for one in jobs if one["name"].endswith(insert)]
    assert one["facets"]["headwater_recurrence"]["class"] == "recurring"
    assert one["latestRun"]["facets"]["externalQuery"]["externalQueryId"] in {"q2", "q3"}
    dataset = get(server_url, f"/api/v1/namespaces/{namespace}/datasets/lake.marts.sales")
    assert dataset["facets"]["headwater_usage"]["reads"] == 2


def test_sending_again_changes_nothing_and_what_holds_no_more_is_taken_back(store: Store, server_url: str) -> None:
    to = publish.destination(server_url)
    first = published(store, to, at=AT, days=[DAY])
    # A crash before it was written down: everything goes again, and the server has it.
    again = published(store, to, at=AT, days=[DAY], again=True)
    assert (again.accepted, again.duplicates) == (0, first.accepted)
    # Only runs are offered once more, and the server has them.
    quiet = published(store, to, at=AT + dt.timedelta(hours=1), days=[DAY])
    assert (quiet.rows, quiet.accepted, quiet.duplicates) == (4, 0, 8)

    written(store, pruning=[], quality=[])
    taken = published(store, to, at=AT + dt.timedelta(hours=2), days=[])
    assert (taken.events, taken.accepted) == (1, 1)
    assert get(server_url, "/api/v2/pruning")["datasets"] == []
    # Published days stay published.
    assert len(get(server_url, "/api/v2/quality", until="2026-11-21")["sources"]) == 2
    assert published(store, to, at=AT + dt.timedelta(hours=3), days=[]).events == 0


def test_which_executions_are_runs(store: Store, spark: Any) -> None:
    from headwater.pipeline.query_log.publishable import run_rows

    def queries(runs: Any, **more: Any) -> list[str]:
        return sorted(row["name"] for row in run_rows(store, [DAY], runs, **more).collect())

    assert queries("daily") == queries("latest") == ["q2", "q3", "q4", "q5"]
    # SET touches no table.
    assert queries("every") == ["q1", "q2", "q3", "q4", "q5"]
    new = spark.createDataFrame(
        [("trino", N, "q1"), ("trino", N, "q6")], "source string, namespace string, query_id string"
    )
    assert queries("every", batch=new) == ["q1"]
    more = [execution("q9", LOOK, 9, day=dt.date(2026, 11, 21), started_at=at(9, dt.date(2026, 11, 21)))]
    written(store, executions=[*EXECUTIONS_, *more], daily=daily([*EXECUTIONS_, *more]))
    days = [DAY, dt.date(2026, 11, 21)]
    assert sorted(row["name"] for row in run_rows(store, days, "latest").collect()) == ["q2", "q3", "q5", "q9"]
    assert sorted(row["name"] for row in run_rows(store, days, "daily").collect()) == ["q2", "q3", "q4", "q5", "q9"]


def test_a_server_that_takes_nothing_is_given_up_on_and_nothing_is_written_down(store: Store) -> None:
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (503, b"away")
        with pytest.raises(ServerUnavailable) as error:
            published(store, publish.destination(receiver.url), at=AT, days=[DAY], patience=0.2, connections=1)
        assert "0 of" in error.value.message
        assert "HTTP 503: away" in error.value.message
        assert store.read(publish.PUBLISHED).count() == 0
        asked = len(receiver.requests)
        receiver.answer = lambda _path, _body: (401, b"who?")
        with pytest.raises(ServerUnavailable, match="HTTP 401"):
            published(store, publish.destination(receiver.url), at=AT, days=[DAY], patience=60, connections=1)
        # Trying again would not help.
        assert len(receiver.requests) == asked + 1
        receiver.answer = lambda _path, _body: (204, b"")
        told = published(store, publish.destination(receiver.url, "hw_key"), at=AT, days=[DAY], connections=2)
        assert told.accepted == told.events
        assert {one.headers.get("authorization") for one in receiver.requests[asked + 1 :]} == {"Bearer hw_key"}
        # Packed where it pays.
        packed = {one.headers.get("content-encoding") for one in receiver.requests if len(one.body) > 8 * 1024}
        assert packed <= {"gzip"}
        assert "gzip" in {one.headers.get("content-encoding") for one in receiver.requests}


def test_where_query_logs_go(store: Store, tmp_path: Path) -> None:
    """A file takes them as well; what is no address is refused."""
    told = published(store, publish.destination(f"file://{tmp_path}/events.ndjson"), at=AT, days=[DAY])
    lines = (tmp_path / "events.ndjson").read_text().splitlines()
    assert len(lines) == told.events == told.accepted
    for wrong in ("amqp://h/", "http://", ""):
        with pytest.raises(InvalidSettings):
            publish.destination(wrong)
