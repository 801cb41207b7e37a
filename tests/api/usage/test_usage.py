"""Usage of datasets: filters, order, pages, totals, datasets with several names."""

import datetime as dt
from typing import Any

from tests.api.usage.measures import N, ask, dataset, refused, send
from tests.events import facet, run_event

PATH = "/api/v2/usage"


def told(client: Any) -> None:
    send(
        client,
        dataset("a", usage={"reads": 10, "writes": 1, "reads_by_people": 4, "reads_by_bi": 6, "status": "active", "last_read_at": "2026-11-20T10:00:00Z",
                            "last_read_by_person_at": "2026-11-19T10:00:00Z", "distinct_readers": 3, "distinct_people": 2, "active_days": 5,
                            "top_readers": [{"actor": "ann", "kind": "person", "reads": 4, "lastReadAt": "2026-11-19T10:00:00Z"}, {"actor": "bot", "reads": 1}]}),
        dataset("b", usage={"reads": 10, "writes": 7, "reads_by_pipelines": 10, "status": "stale", "last_read_at": "2026-08-01T00:00:00Z"}),
        dataset("c", usage={"writes": 3, "status": "unread"}),
        dataset("d", namespace="bigquery", usage={"reads": 2, "reads_by_people": 1, "reads_by_unknown": 1, "status": "one_off", "last_read_at": "2026-10-01T00:00:00Z"}),
    )  # fmt: skip


def names(client: Any, **question: Any) -> list[str]:
    return [one["name"] for one in ask(client, PATH, **question)["datasets"]]


def test_one_dataset_whole(client: Any) -> None:
    told(client)
    (one,) = ask(client, PATH, node=f"dataset:{N}:a")["datasets"]
    assert one == {
        "id": f"dataset:{N}:a", "namespace": N, "name": "a", "label": "a", "status": "active", "reads": 10, "writes": 1, "reads_by_people": 4,
        "reads_by_services": 0, "reads_by_bi": 6, "reads_by_pipelines": 0, "reads_by_unknown": 0, "readers": 3, "people": 2,
        "last_read_at": "2026-11-20T10:00:00Z", "last_read_by_person_at": "2026-11-19T10:00:00Z", "last_written_at": None, "first_seen_at": None,
        "active_days": 5, "measured_at": "2026-11-21T06:00:00Z",
        "top_readers": [
            {"actor": "ann", "kind": "person", "reads": 4, "last_read_at": "2026-11-19T10:00:00Z"},
            {"actor": "bot", "kind": "unknown", "reads": 1, "last_read_at": None},
        ],
    }  # fmt: skip


def test_the_jobs_that_read_and_write_it(client: Any) -> None:
    """By their events, whether a query log knows the dataset or not; runs of the last 30 days are counted."""
    at = [(dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).isoformat() for days in (40, 2, 1)]
    send(
        client,
        *(run_event("COMPLETE", number, "load", ["/src"], ["/t"], at=each) for number, each in enumerate(at)),
        run_event("COMPLETE", 7, "report", ["/t"], ["/r"], at=at[0]),
        run_event("COMPLETE", 8, "report", ["/other"], ["/r"], at=at[2]),
    )
    found = ask(client, PATH, node="dataset:file:/t")
    assert found["datasets"] == []
    assert [(one["id"], one["does"], one["runs"], one["owners"]) for one in found["jobs"]] == [
        ("job:test:load", "writes", 2, []),
        ("job:test:report", "reads", 0, []),
    ]
    assert ask(client, PATH)["jobs"] == []


def test_order_and_pages(client: Any) -> None:
    told(client)
    # Equal ones by namespace and name.
    assert names(client) == ["a", "b", "d", "c"]
    assert names(client, sort="writes") == ["b", "c", "a", "d"]
    assert names(client, sort="writes", order="asc") == ["d", "a", "c", "b"]
    # Never read comes last, either way.
    assert names(client, sort="last_read") == ["a", "d", "b", "c"]
    assert names(client, sort="last_read", order="asc") == ["b", "d", "a", "c"]
    assert names(client, sort="name") == ["d", "a", "b", "c"]
    assert names(client, sort="reads_by_people", limit=2, offset=1) == ["d", "b"]
    assert names(client, limit=0) == []
    beyond = ask(client, PATH, offset=10)
    assert (beyond["datasets"], beyond["total"], beyond["totals"]["reads"]) == ([], 4, 22)


def test_filters_and_totals(client: Any) -> None:
    told(client)
    everything = ask(client, PATH, limit=1)
    assert everything["totals"] == {
        "reads": 22, "writes": 11, "reads_by_people": 5, "reads_by_services": 0, "reads_by_bi": 6, "reads_by_pipelines": 10, "reads_by_unknown": 1,
        "by_status": {"active": 1, "stale": 1, "one_off": 1, "unread": 1, "dropped": 0},
    }  # fmt: skip
    assert (everything["total"], everything["measured_at"]) == (4, "2026-11-21T06:00:00Z")
    assert names(client, status="unread") == ["c"]
    assert names(client, status=["unread", "stale"]) == ["b", "c"]
    assert names(client, actor_kind="person") == ["a", "d"]
    assert names(client, actor_kind="unknown") == ["d"]
    assert names(client, namespace="bigquery") == ["d"]
    assert names(client, unread_since="2026-10-15T00:00:00Z") == ["b", "d", "c"]
    few = ask(client, PATH, actor_kind="person", namespace=N)
    assert (few["total"], few["totals"]["reads"]) == (1, 10)
    assert ask(client, PATH, namespace="nowhere") | {"datasets": None} == {
        "measured_at": None, "total": 0, "datasets": None, "jobs": [],
        "totals": {"reads": 0, "writes": 0, "reads_by_people": 0, "reads_by_services": 0, "reads_by_bi": 0, "reads_by_pipelines": 0, "reads_by_unknown": 0,
                   "by_status": {"active": 0, "stale": 0, "one_off": 0, "unread": 0, "dropped": 0}},
    }  # fmt: skip


def test_questions_that_make_no_sense(client: Any) -> None:
    told(client)
    assert "is not one of active" in refused(client, PATH, status="dead")
    assert "is not one of person" in refused(client, PATH, actor_kind="people")
    assert "is not one of reads" in refused(client, PATH, sort="reads; drop table usage")
    assert "is not one of asc, desc" in refused(client, PATH, order="down")
    assert client.get(PATH, node=f"dataset:{N}:none").status_code == 404
    send(client, run_event("COMPLETE", 1, "j"))
    assert "is no dataset" in refused(client, PATH, node="job:test:j")


def test_the_latest_word_counts_and_may_be_taken_back(client: Any) -> None:
    told(client)
    send(client, dataset("a", at="2026-11-20T00:00:00Z", usage={"reads": 1}))
    assert ask(client, PATH, node=f"dataset:{N}:a")["totals"]["reads"] == 10
    send(client, dataset("a", at="2026-11-22T00:00:00Z", usage={"reads": 11}))
    assert ask(client, PATH, node=f"dataset:{N}:a")["totals"]["reads"] == 11
    gone = dataset("a", at="2026-11-23T00:00:00Z")
    gone["dataset"]["facets"]["headwater_usage"] = facet(_deleted=True)
    send(client, gone)
    assert names(client) == ["b", "d", "c"]
    send(client, dataset("a", at="2026-11-22T12:00:00Z", usage={"reads": 12}))
    assert names(client) == ["b", "d", "c"]


def test_two_names_are_one_dataset(client: Any) -> None:
    told(client)
    links = facet(identifiers=[{"namespace": N, "name": "b", "type": "TABLE"}])
    send(
        client,
        {
            "eventTime": "2026-11-21T07:00:00Z",
            "producer": "p",
            "dataset": {"namespace": N, "name": "a", "facets": {"symlinks": links}},
        },
    )
    (one,) = ask(client, PATH, node=f"dataset:{N}:b")["datasets"]
    assert (one["reads"], one["writes"], one["status"], one["readers"], one["last_read_at"]) == (
        20,
        8,
        "active",
        3,
        "2026-11-20T10:00:00Z",
    )
    assert [reader["actor"] for reader in one["top_readers"]] == ["ann", "bot"]
    assert names(client) == [one["name"], "d", "c"]
    assert ask(client, PATH)["total"] == 3


def test_what_is_hidden_is_not_shown(client: Any, run: Any, database: Any) -> None:
    told(client)

    async def hide() -> None:
        async with database.connection() as connection:
            await connection.execute("update datasets set hidden = true where name = 'a'")

    run(hide())
    assert names(client) == ["b", "d", "c"]
    assert ask(client, PATH)["total"] == 3


def test_a_facet_of_another_shape_says_nothing_and_is_said_so(client: Any) -> None:
    import json

    event = dataset("a", usage={"reads": -1})
    receipt = client.post("/api/v1/lineage", json.dumps(event).encode()).json()
    assert [(one["code"], one["where"]) for one in receipt["warnings"]] == [
        ("facet_not_understood", "facets.headwater_usage")
    ]
    assert names(client) == []
