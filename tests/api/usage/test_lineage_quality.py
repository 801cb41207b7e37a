"""The quality of lineage from query logs, and its drops."""

from typing import Any

from tests.api.usage.measures import N, ask, camel, job, refused, send

PATH = "/api/v2/quality"
UNTIL = {"until": "2026-11-20"}


def day(number: int, full: int, nothing: int, **more: Any) -> dict[str, Any]:
    partial = more.get("partial_executions", 0)
    told = {
        "day": f"2026-11-{number:02}",
        "dialect": "snowflake",
        "full_executions": full,
        "nothing_executions": nothing,
        "executions": full + partial + nothing,
    }
    return camel(told | more)


def told(client: Any) -> None:
    send(
        client,
        job("query-log", quality={"days": [day(18, 90, 10, shapes=10, full_shapes=9, nothing_shapes=1, named_executions=8, named_agreed=6), day(19, 95, 5)]}),
        job("query-log", at="2026-11-21T07:00:00Z", quality={"days": [
            day(20, 80, 20, unresolved=7, quarantined=2, quarantined_by={"bad_row": 2}, shapes=5, full_shapes=3, idle_shapes=1, nothing_shapes=2, idle_executions=10)]}),
        job("query-log", namespace="trino://h", quality={"days": [day(19, 1, 9, dialect="trino"), day(20, 2, 8, dialect="trino", partial_executions=10)]}),
    )  # fmt: skip


def test_sources_and_days(client: Any) -> None:
    told(client)
    found = ask(client, PATH, **UNTIL)
    snowflake, trino = found["sources"]
    assert (snowflake["namespace"], snowflake["dialect"], snowflake["days"], snowflake["last_day"]) == (
        N,
        "snowflake",
        3,
        "2026-11-20",
    )
    assert (
        snowflake["executions"],
        snowflake["full_executions"],
        snowflake["unresolved"],
        snowflake["quarantined"],
    ) == (300, 265, 7, 2)
    assert snowflake["quarantined_by"] == {"bad_row": 2}
    # Idle statements count for nothing.
    assert (snowflake["coverage_executions"], snowflake["coverage_last"], snowflake["coverage_before"]) == (
        255 / 290,
        70 / 90,
        185 / 200,
    )
    # Shapes of days are not added: they are of the last.
    assert (snowflake["full_shapes"], snowflake["coverage_shapes"], snowflake["named_agreement"]) == (3, 2 / 4, 0.75)
    assert (snowflake["dropped"], trino["dropped"], found["dropped"]) == (True, False, 1)
    assert (trino["coverage_last"], trino["table_coverage"]) == (2 / 20, 13 / 30)
    assert [(one["day"], one["dialect"], one["coverage_executions"]) for one in found["days"]] == [
        ("2026-11-20", "snowflake", 70 / 90), ("2026-11-20", "trino", 0.1), ("2026-11-19", "snowflake", 0.95), ("2026-11-19", "trino", 0.1),
        ("2026-11-18", "snowflake", 0.9),
    ]  # fmt: skip
    assert (found["total"], found["since"], found["until"], found["cut"]) == (5, "2026-10-21", "2026-11-20", False)


def test_filters(client: Any) -> None:
    told(client)
    assert [one["dialect"] for one in ask(client, PATH, dialect="trino", **UNTIL)["days"]] == ["trino", "trino"]
    assert ask(client, PATH, namespace=N, limit=1, offset=1, **UNTIL)["days"][0]["day"] == "2026-11-19"
    few = ask(client, PATH, since="2026-11-19", until="2026-11-19")
    assert {one["day"] for one in few["days"]} == {"2026-11-19"}
    # Nothing before it to compare with.
    assert [one["coverage_before"] for one in few["sources"]] == [None, None]
    assert ask(client, PATH, drop=0.2, **UNTIL)["dropped"] == 0
    assert "from 0 to 1" in refused(client, PATH, drop=5)
    assert "since is after until" in refused(client, PATH, since="2026-11-21", **UNTIL)
    assert ask(client, PATH, until="0001-01-02")["sources"] == []


def test_a_day_is_told_again(client: Any) -> None:
    told(client)
    send(client, job("query-log", at="2026-11-21T08:00:00Z", quality={"days": [day(20, 99, 1)]}))
    send(client, job("query-log", at="2026-11-21T06:30:00Z", quality={"days": [day(20, 0, 1)]}))
    found = ask(client, PATH, namespace=N, **UNTIL)
    assert (found["sources"][0]["coverage_last"], found["dropped"], found["total"]) == (0.99, 0, 3)


def test_a_day_on_which_all_was_idle_says_nothing_of_coverage(client: Any) -> None:
    told(client)
    send(client, job("query-log", at="2026-11-21T08:00:00Z", quality={"days": [day(20, 5, 0, idle_executions=5)]}))
    (one,) = ask(client, PATH, namespace=N, **UNTIL)["sources"]
    assert (one["coverage_last"], one["coverage_before"], one["last_day"], one["dropped"]) == (
        0.95,
        0.9,
        "2026-11-20",
        False,
    )
