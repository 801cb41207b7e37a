"""The costs of datasets, jobs and users."""

from typing import Any

import pytest
from tests.api.usage.measures import N, ask, dataset, job, refused, send

PATH = "/api/v2/cost"


def told(client: Any) -> None:
    send(
        client,
        dataset("a", cost={"grain": "table", "executions": 3, "money": 1.5, "bytes_billed": 100, "share": 0.5, "keep_month": 0.25}),
        dataset("b", cost={"executions": 9, "slot_ms": 70}),
        dataset("c", cost={"money": 2, "executions": 1}),
        job("SELECT a 1", recurrence={"class": "ad_hoc"}, cost={"grain": "shape", "executions": 2, "money": 1.0},
            queries={"last_at": "2026-11-20T00:00:00Z", "tools": [{"tool": "looker"}, {"tool": "dbt"}], "actors": [{"actor": "ann", "kind": "person"}, {"actor": "x"}]}),
        job("SELECT b 2", cost={"executions": 2, "money": 3.0}, queries={"tools": [{"tool": "dbt"}]}),
        job("shop.sales", namespace="prod", cost={"grain": "task", "money": 7.0}),
        job("model.shop.sales", namespace="dbt", cost={"grain": "model", "money": 6.0}),
        job("query-log", cost={"grain": "log", "hidden_drivers": 4, "drivers": [
            {"grain": "user", "key": "ann", "money": 0.5, "executions": 5, "bytesBilled": 10}, {"grain": "tool", "key": "looker", "money": 0.1},
            {"grain": "user", "key": "=cmd()", "money": 2.5, "slotMs": 3}]}),
        job("query-log", namespace="bigquery", cost={"grain": "log", "drivers": [{"grain": "user", "key": "ann", "money": 4.0}]}),
    )  # fmt: skip


def costs(client: Any, **question: Any) -> list[tuple[str, float | None]]:
    return [(one["name"], one["money"]) for one in ask(client, PATH, **question)["costs"]]


def test_tables(client: Any) -> None:
    told(client)
    found = ask(client, PATH)
    assert found["costs"][1] == {
        "id": f"dataset:{N}:a", "grain": "table", "namespace": N, "name": "a", "label": "a", "executions": 3, "money": 1.5, "bytes_billed": 100,
        "slot_ms": None, "duration_ms": None, "credits": None, "share": 0.5, "keep_month": 0.25, "last_at": None, "recurrence": None, "measured_at": "2026-11-21T06:00:00Z",
        "writes": None, "unused": [],
    }  # fmt: skip
    assert costs(client) == [("c", 2.0), ("a", 1.5), ("b", None)]
    assert costs(client, order="asc") == [("a", 1.5), ("c", 2.0), ("b", None)]
    assert costs(client, sort="executions") == [("b", None), ("a", 1.5), ("c", 2.0)]
    assert costs(client, sort="keep_month", limit=1) == [("a", 1.5)]
    assert costs(client, sort="name") == [("a", 1.5), ("b", None), ("c", 2.0)]
    assert costs(client, node=f"dataset:{N}:b") == [("b", None)]
    totals = {
        "executions": 13,
        "money": 3.5,
        "bytes_billed": 100,
        "slot_ms": 70,
        "duration_ms": None,
        "credits": None,
        "keep_month": 0.25,
    }
    assert (found["total"], found["totals"], found["hidden"]) == (3, totals, 0)
    beyond = ask(client, PATH, offset=3)
    assert (beyond["costs"], beyond["total"], beyond["totals"]) == ([], 3, totals)
    assert ask(client, PATH, limit=0)["totals"] == totals


@pytest.mark.parametrize(
    ("grain", "expected"),
    [
        ("shape", [("SELECT b 2", 3.0), ("SELECT a 1", 1.0)]),
        ("task", [("shop.sales", 7.0)]),
        ("model", [("model.shop.sales", 6.0)]),
        ("user", [("ann", 4.0), ("=cmd()", 2.5), ("ann", 0.5)]),
        ("tool", [("looker", 0.1)]),
    ],
)
def test_other_grains(client: Any, grain: str, expected: list[Any]) -> None:
    told(client)
    assert costs(client, grain=grain) == expected
    # The job that stands for a log is no shape.
    assert ask(client, PATH, grain=grain)["total"] == len(expected)


def test_users_are_of_a_warehouse_and_some_are_left_out(client: Any) -> None:
    told(client)
    found = ask(client, PATH, grain="user", namespace=N)
    assert [(one["id"], one["namespace"], one["name"], one["executions"], one["bytes_billed"], one["slot_ms"]) for one in found["costs"]] == [
        (None, N, "=cmd()", 0, None, 3), (None, N, "ann", 5, 10, None),
    ]  # fmt: skip
    assert (found["hidden"], found["totals"]["money"]) == (4, 3.0)
    assert ask(client, PATH, grain="user", namespace="bigquery")["hidden"] == 0
    assert ask(client, PATH, grain="tool", tool="looker")["total"] == 1
    assert ask(client, PATH, grain="tool", tool="mode")["total"] == 0


def test_shapes_by_who_ran_them(client: Any) -> None:
    told(client)
    assert costs(client, grain="shape", tool="looker") == [("SELECT a 1", 1.0)]
    assert costs(client, grain="shape", tool="dbt") == [("SELECT b 2", 3.0), ("SELECT a 1", 1.0)]
    assert costs(client, grain="shape", actor_kind="person") == [("SELECT a 1", 1.0)]
    assert costs(client, grain="shape", actor_kind="unknown") == [("SELECT a 1", 1.0)]
    assert costs(client, grain="shape", actor_kind="bi") == []
    (one,) = ask(client, PATH, grain="shape", node=f"job:{N}:SELECT a 1")["costs"]
    assert (one["last_at"], one["recurrence"]) == ("2026-11-20T00:00:00Z", "ad_hoc")


def test_questions_that_make_no_sense(client: Any) -> None:
    told(client)
    assert "is not one of table, shape" in refused(client, PATH, grain="schema")
    assert "requires grain=shape" in refused(client, PATH, actor_kind="person")
    assert "tool requires" in refused(client, PATH, tool="dbt")
    assert "is not about" in refused(client, PATH, node=f"job:{N}:SELECT a 1")
    assert "is not about" in refused(client, PATH, node=f"dataset:{N}:a", grain="user")
    assert "sort" in refused(client, PATH, sort="price")


def test_a_task_says_what_it_makes_that_nothing_needs(client: Any) -> None:
    """One table that may go, one that a dashboard reads although no log names it, one that is used."""
    send(
        client,
        job("shop.sales", namespace="prod", cost={"grain": "task", "money": 7.0}),
        job("shop.idle", namespace="prod", cost={"grain": "task", "money": 1.0}),
        dataset("dead", pruning={"wave": 1, "reason": "it has no readers", "confidence": 0.9}),
        dataset("shown", pruning={"wave": 1, "reason": "it has no readers", "confidence": 0.9}),
        dataset("used", usage={"reads": 5, "status": "active"}),
    )
    made = [{"namespace": N, "name": name} for name in ("dead", "shown", "used")]
    send(
        client,
        {
            "eventTime": "2026-11-21T06:00:00Z",
            "producer": "p",
            "job": {"namespace": "prod", "name": "shop.sales"},
            "inputs": [],
            "outputs": made,
        },
        {
            "eventTime": "2026-11-21T06:00:00Z",
            "producer": "p",
            "job": {"namespace": "metabase", "name": "card/1"},
            "inputs": [{"namespace": N, "name": "shown"}],
            "outputs": [{"namespace": "metabase", "name": "card/1"}],
        },
    )
    found = {one["name"]: (one["writes"], one["unused"]) for one in ask(client, "/api/v2/cost", grain="task")["costs"]}
    assert found == {"shop.sales": (3, [f"dataset:{N}:dead"]), "shop.idle": (None, [])}
