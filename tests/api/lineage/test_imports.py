"""The answer to `step.once`: whether content was imported already."""

from typing import Any

import pytest
from tests.api.lineage.correlated import content, events, send, tell
from tests.events import RUN, dataset, facet, run_event

from headwater.store import sqlfile


def ask(client: Any, fingerprint: str, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/imports", fingerprint=fingerprint, **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def runs(answer: dict[str, Any]) -> list[int]:
    assert answer["imported"] is bool(answer["runs"])
    return [int(run["run_id"][-12:]) for run in answer["runs"]]


def test_the_newest_first_and_who_was_forced(client: Any) -> None:
    told = tell(client, "forced")
    first = content(told, "/landing/prices.csv")
    answer = ask(client, first, namespace="smart-meter", job="import prices")
    assert answer == {
        "fingerprint": first,
        "imported": True,
        "runs": [
            {
                "run_id": RUN.format(number), "job": "job:smart-meter:import prices", "state": "COMPLETED", "ended_at": f"2021-02-0{number}T06:00:30Z",
                "forced": number == 2, "overrides": [RUN.format(1)] if number == 2 else [], "version": version,
                "dataset": {"id": "dataset:file:/landing/prices.csv", "namespace": "file", "name": "/landing/prices.csv"},
            }
            for number, version in ((2, "1.1.0"), (1, "1.0.0"))
        ],
    }  # fmt: skip
    assert runs(ask(client, first)) == [5, 2, 1]
    assert runs(ask(client, first, limit=1)) == [5]
    assert runs(ask(client, first, job="check prices")) == [5]
    assert runs(ask(client, first, namespace="smart-meter")) == [5, 2, 1]
    assert runs(ask(client, first, namespace="other")) == []


def test_what_failed_or_has_not_ended_imported_nothing(client: Any) -> None:
    told = tell(client, "forced")
    second = next(
        c
        for e in told
        for i in e["inputs"]
        if (c := i["inputFacets"]["headwater_item"]["fingerprint"]) != content(told, "/landing/prices.csv")
    )
    assert runs(ask(client, second)) == []
    send(client, [e | {"eventType": "COMPLETE"} for e in told if e["run"]["runId"] == RUN.format(4)])
    assert runs(ask(client, second)) == [4]


def test_unknown_content(client: Any) -> None:
    assert ask(client, "xxh3-128:" + "A" * 32) == {"fingerprint": "xxh3-128:" + "a" * 32, "imported": False, "runs": []}


def test_whatever_the_file_is_called(client: Any) -> None:
    told = tell(client, "duplicates")
    answer = ask(client, content(told, "/a/readings.csv"), job="use")
    assert runs(answer) == [5, 4]
    assert [run["dataset"]["name"] for run in answer["runs"]] == ["/b/copy of readings.csv", "/a/readings.csv"]


def test_a_file_read_as_the_item_of_another_step(client: Any) -> None:
    """The handle alone says which content it is: its writer told."""
    told = events("flow")
    for event in told:
        for one in event["inputs"]:
            if event["job"]["name"] == "Split":
                del one["inputFacets"]["headwater_item"]["fingerprint"], one["facets"]["version"]
    send(client, told)
    assert runs(ask(client, content(told, "DSO Timeseries"), job="Split")) == [2]


def test_an_id_that_two_contents_claim_is_neither(client: Any) -> None:
    told = tell(client, "collided")
    assert runs(ask(client, content(told, "/a"))) == []
    assert runs(ask(client, content(told, "/b"))) == []


@pytest.mark.parametrize(("skipped", "found"), [("mine", []), ("another", [1]), (True, [1]), ([{}, 1], [1]), ({}, [1])])
def test_what_was_skipped_was_not_imported(client: Any, skipped: Any, found: list[int]) -> None:
    told = events("forced")[:2]
    mine = content(told, "/landing/prices.csv")
    if isinstance(skipped, str):
        skipped = [{"fingerprint": mine if skipped == "mine" else "xxh3-128:" + "0" * 32, "run_id": RUN.format(9)}]
    for event in told:
        event["run"]["facets"]["headwater_step"]["skipped"] = skipped
    send(client, told)
    assert runs(ask(client, mine)) == found


def test_a_version_that_is_no_fingerprint_is_not_asked_for(client: Any) -> None:
    send(client, [run_event("COMPLETE", 1, "use", [dataset("/table", version=facet(datasetVersion="7"))], [])])
    for text in ("7", "", "xxh3-128:", "xxh3-128:" + "0" * 31, "md5:" + "0" * 32, "x" * 5000):
        reply = client.get("/api/v2/imports", fingerprint=text)
        assert reply.status_code == 400, text
        assert "xxh3-128:" in reply.json()["message"]
    assert client.get("/api/v2/imports").status_code == 400


def test_fingerprints_of_folders_and_rows(client: Any) -> None:
    for number, kind in enumerate(("xxh3-128-dir:", "xxh3-128-rows:"), 1):
        text = kind + "ab" * 16
        send(client, [run_event("COMPLETE", number, "use", [dataset("/d", version=facet(datasetVersion=text))], [])])
        assert runs(ask(client, text)) == [number]


def test_as_many_statements_however_many_runs(client: Any, statements: Any) -> None:
    told = events("forced")[:2]
    mine = content(told, "/landing/prices.csv")
    send(client, told)
    with statements() as few:
        assert len(runs(ask(client, mine))) == 1
    more = [
        event | {"run": event["run"] | {"runId": RUN.format(number)}} for number in range(10, 110) for event in told
    ]
    send(client, more)
    with statements() as many:
        assert len(runs(ask(client, mine))) == 100
    assert few == many
    assert len(many) <= 6


def test_the_question_uses_indexes(database: Any, run: Any) -> None:
    """Readers of a content are found by its fingerprint, for tables of any size."""
    query = sqlfile.load("lineage/correlation")["readers_of_content"]

    async def plan() -> str:
        async with database.transaction() as connection:
            await connection.execute("set local enable_seqscan = off")
            given = {"version": "xxh3-128:" + "0" * 32, "namespace": "n", "name": "j", "limit": 10}
            rows = await connection.execute("explain " + query.sql, given)
            return "\n".join(row[0] for row in await rows.fetchall())

    text = run(plan())
    assert "Seq Scan" not in text
    assert "correlation_items_by_version" in text
