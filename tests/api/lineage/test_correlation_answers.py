"""The origin and the descendants of a correlated item: events, details and lineage in one request."""

from typing import Any
from urllib.parse import quote

import pytest
from tests.api.lineage.correlated import ITEM, ask, content, depths, edges, events, named, node, send, short, tell
from tests.events import RUN, run_event
from tests.hostile import TEXTS

from headwater.store.lineage import correlation as store


def test_a_time_series_comes_from_a_file_and_goes_into_a_forecast(client: Any) -> None:
    tell(client, "flow")
    answer = ask(client, ITEM.format(11))
    assert answer["matched"] == "ITEM"
    assert answer["roots"] == [ITEM.format(11)]
    assert answer["hidden"] == {"count": 0, "reason": None}
    assert depths(answer) == {
        ("DSO Timeseries=", -4), ("SFTP Download", -3), ("meters_202101.csv.gz", -2),
        ("Split", -1),
        ("TS01", 0), ("TS01=", 0),
        ("Delivery point sum", 1), ("delivery point", 2), ("delivery point=", 2),
        ("Load", 3), ("energy.delivery_points", 4), ("forecast consumption", 3), ("forecast", 4), ("forecast=", 4),
        ("Load", 5), ("energy.forecasts", 6),
    }  # fmt: skip
    # The weather is no part of it: it is above the forecast, and neither above nor below the series.
    assert not any("weather" in short(one).lower() for one in answer["nodes"])
    assert {"Split > TS01", "TS01 > TS01=", "TS01 > Delivery point sum", "forecast > Load"} <= edges(answer)


def test_many_parents(client: Any) -> None:
    tell(client, "flow")
    answer = ask(client, ITEM.format(41), direction="ancestors")
    names = set(named(answer).values())
    assert {"DSO Timeseries=", "Weather provider=", "TS01", "TS02", "SFTP Download", "API Download"} <= names
    assert not {"TS03", "TS04", "TS05"} & names
    assert {one["depth"] for one in answer["nodes"] if short(one) == "DSO Timeseries="} == {-10}
    assert all(one["depth"] <= 0 for one in answer["nodes"])


def test_one_request_has_event_details_and_lineage(client: Any) -> None:
    told = tell(client, "flow")
    answer = ask(client, RUN.format(2))
    split = node(answer, "Split")
    assert split | {"id": ""} == {
        "id": "", "kind": "RUN", "depth": 0, "process": "Split", "job": "job:smart-meter:Split", "run_id": RUN.format(2),
        "version": "1.4.0", "forced": False, "overrides": [], "skipped": [], "state": "COMPLETED",
        "event_time": "2021-02-01T06:01:42Z", "started_at": "2021-02-01T06:01:00Z", "ended_at": "2021-02-01T06:01:42Z", "duration_ms": 42000,
        "dataset": None, "part": None, "fingerprint": None, "bytes": None, "collided": False, "claimed_by": [],
        "details": {"rows": 1488000, "columns": ["timestamp", "kWh"], "by": {"key": "meter"}},
    }  # fmt: skip
    series = node(answer, "TS03")
    assert series["id"] == ITEM.format(13)
    assert series["dataset"] == "dataset:timeseries:TS03"
    assert series["fingerprint"] == content(told, "TS03")
    assert series["bytes"] == 12_000_000
    assert series["details"] == {}
    assert series["state"] is None
    assert node(answer, "DSO Timeseries=")["bytes"] == 61_000_000


def test_a_file_is_found_by_its_content(client: Any) -> None:
    told = tell(client, "flow")
    fingerprint = content(told, "/landing/weather.json")
    answer = ask(client, fingerprint.replace("xxh3-128:", "xxh3-128:").upper().replace("XXH3", "xxh3"))
    # The provider's file and the downloaded one are one content.
    assert answer["matched"] == "FINGERPRINT"
    assert {named(answer)[root] for root in answer["roots"]} == {"Weather provider=", "weather.json=", "weather.json"}
    assert answer["notes"] == ["the content lies in 2 places; all are roots"]
    assert "energy.forecasts" in named(answer).values()
    assert "SFTP Download" not in named(answer).values()


def test_what_is_above_one_root_and_below_another_has_the_nearer_place(client: Any) -> None:
    """The content comes back at the end of a chain that begins with it."""
    same = {"fingerprint": "xxh3-128:" + "0" * 32}

    def one(name: str, side: str, **told: Any) -> dict[str, Any]:
        return {"namespace": "file", "name": name, "facets": {}, side: {"headwater_item": told}}

    send(
        client,
        [
            run_event("COMPLETE", 1, "pack", [one("/first", "inputFacets", **same)], [one("/mid", "outputFacets", id=ITEM.format(1))]),
            run_event("COMPLETE", 2, "unpack", [one("/mid", "inputFacets", id=ITEM.format(1))], [one("/last", "outputFacets", **same)]),
        ],
    )  # fmt: skip
    answer = ask(client, same["fingerprint"])
    assert depths(answer) == {("first=", 0), ("last=", 0), ("pack", 1), ("unpack", -1), ("mid", -2)}
    assert ask(client, same["fingerprint"], direction="descendants")["hidden"]["count"] == 0
    assert ask(client, same["fingerprint"], max_nodes=3)["hidden"]["count"] == 2


def test_a_dataset_stands_for_its_newest_version(client: Any) -> None:
    tell(client, "flow")
    tell(client, "forced")
    answer = ask(client, "dataset:postgres://dwh.example:energy.prices", direction="ancestors")
    assert answer["matched"] == "DATASET"
    assert answer["roots"] == [ITEM.format(2)]
    reply = client.get("/api/v2/correlation/" + quote("dataset:sftp://dso.example:DSO Timeseries", safe=""))
    assert reply.status_code == 404
    assert "headwater lineage" in reply.json()["message"]


def test_depth_and_what_is_beyond_it(client: Any) -> None:
    tell(client, "flow")
    answer = ask(client, RUN.format(2), depth=1)
    assert {one["depth"] for one in answer["nodes"]} == {-1, 0, 1}
    assert answer["depth"] == 1
    # SFTP Download above, Delivery point sum below.
    assert answer["hidden"] == {"count": 2, "reason": "depth=1 reached"}
    assert ask(client, RUN.format(2), depth=1, direction="ancestors")["hidden"]["count"] == 1
    alone = ask(client, RUN.format(2), depth=0)
    assert depths(alone) == {("Split", 0)}
    everything = ask(client, RUN.format(2), depth="all")
    assert everything["depth"] == "all"
    assert depths(everything) == depths(ask(client, RUN.format(2)))


def test_of_too_many_nodes_the_nearest(client: Any) -> None:
    tell(client, "flow")
    whole = ask(client, RUN.format(2))
    answer = ask(client, RUN.format(2), max_nodes=8)
    assert len(answer["nodes"]) == 8
    assert max(abs(one["depth"]) for one in answer["nodes"]) == 1
    assert answer["hidden"] == {"count": len(whole["nodes"]) - 8, "reason": "max_nodes=8 reached"}
    assert ask(client, RUN.format(2), max_nodes=8, depth="all")["hidden"] == answer["hidden"]
    assert len(ask(client, RUN.format(2), max_nodes=len(whole["nodes"]))["nodes"]) == len(whole["nodes"])


def chain(length: int) -> list[dict[str, Any]]:
    """Every day's run reads what the day before left behind."""
    told = []
    for day in range(length):

        def item(number: int, side: str) -> dict[str, Any]:
            return {
                "namespace": "file",
                "name": "/state",
                "facets": {},
                side: {"headwater_item": {"id": ITEM.format(number)}},
            }

        told.append(
            run_event("COMPLETE", day, "daily", [item(day, "inputFacets")] if day else [], [item(day + 1, "outputFacets")],
                      at=f"2026-01-{1 + day // 24:02}T{day % 24:02}:00:00Z")
        )  # fmt: skip
    return told


def test_a_chain_longer_than_the_closure(client: Any) -> None:
    days = store.BOUND
    send(client, chain(days))
    bounded = ask(client, RUN.format(0), direction="descendants")
    assert bounded["depth"] == store.BOUND
    assert max(one["depth"] for one in bounded["nodes"]) == store.BOUND
    assert bounded["hidden"] == {"count": 1, "reason": f"depth={store.BOUND} reached"}
    whole = ask(client, RUN.format(0), direction="descendants", depth="all")
    assert len(whole["nodes"]) == 2 * days
    assert max(one["depth"] for one in whole["nodes"]) == 2 * days - 1
    assert whole["hidden"] == {"count": 0, "reason": None}
    some = ask(client, RUN.format(0), direction="descendants", depth="all", max_nodes=10)
    assert some["hidden"] == {"count": 2 * days - 10, "reason": "max_nodes=10 reached"}
    far = ask(client, RUN.format(days - 1), direction="ancestors", depth=store.BOUND + 3)
    assert min(one["depth"] for one in far["nodes"]) == -store.BOUND - 3
    assert far["hidden"]["count"] == 1


def test_a_run_id_that_two_jobs_share(client: Any) -> None:
    tell(client, "shared_run")
    answer = ask(client, RUN.format(1))
    assert {named(answer)[root] for root in answer["roots"]} == {"extract", "publish"}
    assert answer["notes"] == ["2 jobs have a run with this id; all are roots"]
    assert node(answer, "extract")["version"] == "1"
    assert node(answer, "publish")["version"] == "2"
    assert edges(answer) == {"in= > extract", "extract > mid", "other= > publish", "publish > end"}


def test_a_forced_import_says_what_it_overrides(client: Any) -> None:
    told = tell(client, "forced")
    answer = ask(client, content(told, "/landing/prices.csv"))
    runs = {one["run_id"]: one for one in answer["nodes"] if one["kind"] == "RUN"}
    assert {id_ for id_, one in runs.items() if one["forced"]} == {RUN.format(2)}
    assert runs[RUN.format(2)]["overrides"] == [RUN.format(1)]
    assert runs[RUN.format(2)]["details"] == {"why": "rounding was wrong"}
    assert set(runs) == {RUN.format(1), RUN.format(2), RUN.format(5)}


def test_runs_that_failed_and_that_have_not_ended(client: Any) -> None:
    told = tell(client, "forced")
    (last,) = {e["run"]["runId"] for e in told if e["eventTime"].startswith("2021-02-04")}
    assert ask(client, last)["nodes"][-1]["state"] == "RUNNING"
    failed = ask(client, RUN.format(3), depth=0)["nodes"][0]
    assert (failed["state"], failed["duration_ms"]) == ("FAILED", 30000)
    assert ask(client, last, depth=0)["nodes"][0]["ended_at"] is None


def test_one_content_that_came_three_times(client: Any) -> None:
    told = tell(client, "duplicates")
    answer = ask(client, content(told, "/a/readings.csv"))
    # Three downloads are three items, of two places.
    assert len(answer["roots"]) == 5
    up = [one for one in answer["nodes"] if one["kind"] == "RUN" and one["depth"] < 0]
    down = [one for one in answer["nodes"] if one["kind"] == "RUN" and one["depth"] > 0]
    assert [one["process"] for one in up] == ["download"] * 3
    assert [one["process"] for one in down] == ["use"] * 2
    one_item = ask(client, ITEM.format(1))
    assert {one["run_id"] for one in one_item["nodes"] if one["kind"] == "RUN"} == {RUN.format(1), RUN.format(4)}


def test_a_loop_is_told_and_not_followed(client: Any) -> None:
    tell(client, "loop")
    answer = ask(client, ITEM.format(1))
    assert len(answer["edges"]) == 4
    (refused,) = [e for e in edges(answer) if e.endswith("refused")]
    # The latest edge of the loop.
    assert refused == "two > b refused"
    # It leads nowhere: nothing is hidden behind it.
    alone = ask(client, ITEM.format(2), direction="ancestors", depth=1)
    assert depths(alone) == {("b", 0)}
    assert alone["hidden"] == {"count": 0, "reason": None}
    assert ask(client, ITEM.format(1), depth="all")["nodes"] == answer["nodes"]
    drawn = client.get(f"/api/v2/correlation/{ITEM.format(1)}", format="mermaid").text
    assert drawn.count("-.->|refused|") == 1


def test_an_id_that_was_given_twice(client: Any) -> None:
    tell(client, "collided")
    answer = ask(client, ITEM.format(1))
    (root,) = [one for one in answer["nodes"] if one["id"] == ITEM.format(1)]
    assert root["collided"]
    assert root["claimed_by"] == [
        {"run_id": RUN.format(1), "job": "job:smart-meter:one"}, {"run_id": RUN.format(2), "job": "job:smart-meter:two"},
    ]  # fmt: skip
    # Claimants are listed even if they are not part of the answer.
    below = ask(client, ITEM.format(1), direction="descendants")
    assert next(one for one in below["nodes"] if one["id"] == ITEM.format(1))["claimed_by"] == root["claimed_by"]
    assert "two > three" in edges(ask(client, RUN.format(3)))


@pytest.mark.parametrize(
    "id_",
    [
        "0199c0de-ffff-7000-8000-000000000000",
        "nothing",
        "xxh3-128:" + "0" * 32,
        "dataset:file:/nowhere",
        *(text for text in TEXTS[1:] if len(text) < 7000),
    ],
)
def test_unknown_ids(client: Any, id_: str) -> None:
    reply = client.get(f"/api/v2/correlation/{quote(id_, safe='')}")
    assert reply.status_code in {400, 404}, reply.text
    assert reply.json()["code"] in {"not_found", "invalid_question"}
    assert len(reply.json()["message"]) < 500


def test_a_run_that_says_nothing_of_items(client: Any) -> None:
    send(client, [run_event("COMPLETE", 7, "plain", ["/a"], ["/b"])])
    reply = client.get(f"/api/v2/correlation/{RUN.format(7)}")
    assert reply.status_code == 404
    assert "headwater lineage" in reply.json()["message"]


@pytest.mark.parametrize(
    "question",
    [
        {"direction": "up"},
        {"depth": "some"},
        {"depth": "-1"},
        {"depth": "²"},
        {"format": "dot"},
        {"max_nodes": 0},
        {"fan": 0},
    ],
)
def test_questions_that_make_no_sense(client: Any, question: dict[str, Any]) -> None:
    tell(client, "shared_run")
    reply = client.get(f"/api/v2/correlation/{RUN.format(1)}", **question)
    assert reply.status_code == 400, reply.text


def wide(count: int) -> list[dict[str, Any]]:
    """A split into so many series, each loaded by a run of its own."""

    def series(number: int, side: str) -> dict[str, Any]:
        told = {"id": ITEM.format(number), "fingerprint": f"xxh3-128:{number:032x}", "bytes": 1000}
        return {"namespace": "timeseries", "name": f"TS{number:05}", "facets": {}, side: {"headwater_item": told}}

    def step(number: int) -> dict[str, Any]:
        return {"headwater_step": {"version": "1.0.0", "details": {"number": number}}}

    told = [
        run_event("COMPLETE", 0, "split", [], [series(n, "outputFacets") for n in range(1, count + 1)], run_facets=step(0))
    ]  # fmt: skip
    return told + [
        run_event("COMPLETE", n, "load", [series(n, "inputFacets")], [], run_facets=step(n))
        for n in range(1, count + 1)
    ]


def test_as_many_statements_whatever_the_width(client: Any, statements: Any) -> None:
    send(client, wide(300))
    with statements() as few:
        assert len(ask(client, RUN.format(0), depth=1, max_nodes=10)["nodes"]) == 10
    with statements() as many:
        answer = ask(client, RUN.format(0))
    assert len(answer["nodes"]) == 1 + 3 * 300
    # Hidden nodes are counted, once: the one statement more.
    assert set(few) <= {*many, "how_many"}
    assert len(many) <= 13
    runs = [one for one in answer["nodes"] if one["process"] == "load"]
    assert sorted(one["details"]["number"] for one in runs) == list(range(1, 301))


def test_wide_fan_outs_are_folded_for_people_only(client: Any) -> None:
    send(client, wide(300))
    reply = client.get(f"/api/v2/correlation/{RUN.format(0)}", format="mermaid")
    assert reply.headers["content-type"].startswith("text/plain")
    assert '(["TS.. (296 more)"])' in reply.text
    assert '["load 1.0.0 (296 more)"]' in reply.text
    assert len(reply.text.splitlines()) < 30
    assert len(client.get(f"/api/v2/correlation/{RUN.format(0)}", format="mermaid", fan=300).text.splitlines()) > 1200


def test_the_latest_word_of_a_step_counts(client: Any) -> None:
    """A later facet replaces an earlier one completely, in any order of arrival."""
    told = events("flow")[:2]
    for event, version in zip(told, ("old", "new"), strict=True):
        event["run"]["facets"]["headwater_step"]["version"] = version
    del told[1]["run"]["facets"]["headwater_step"]["details"]
    send(client, told[::-1])
    found = ask(client, RUN.format(1), depth=0)["nodes"][0]
    assert (found["version"], found["details"]) == ("new", {})


@pytest.mark.parametrize(
    "step",
    [
        {"version": [], "forced": "yes", "details": 1, "overrides": {}},
        {"version": 7, "details": {"": None, "😀": 10**30}},
    ],
)
def test_steps_of_another_shape(client: Any, step: dict[str, Any]) -> None:
    told = events("flow")[:2]
    for event in told:
        event["run"]["facets"]["headwater_step"] = step
    send(client, told)
    found = ask(client, RUN.format(1), depth=0)["nodes"][0]
    assert found["forced"] is False
    assert found["overrides"] == []
    assert found["version"] == (None if step["version"] == [] else "7")
    assert found["details"] == ({} if step["details"] == 1 else step["details"])
