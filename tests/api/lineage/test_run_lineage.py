"""The version of each input that a run read, the run that wrote it, and the readers of the run's own outputs."""

from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, parent, run_event


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def ask(client: Any, run: int, **question: Any) -> dict[str, Any]:
    reply = client.get(f"/api/v2/runs/{RUN.format(run)}/lineage", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def versioned(name: str, version: str) -> dict[str, Any]:
    return dataset(name, version=facet(datasetVersion=version))


def part(name: str, day: int) -> str:
    return f"{name}/day={day}"


def named(answer: dict[str, Any]) -> dict[str, str]:
    """Node id to a short name: `job#run` and `dataset@external version`, or the run that wrote it."""
    found = {}
    writers = {e["target"]: e["source"] for e in answer["edges"] if e["relation"] == "WROTE"}
    for node in answer["nodes"]:
        if node["type"] == "RUN":
            found[node["id"]] = f"{node['label']}#{int(node['run_id'][-12:])}"
    for node in answer["nodes"]:
        if node["type"] == "VERSION":
            by = found.get(writers.get(node["id"], ""), "")
            found[node["id"]] = f"{node['label']}@{node['external_version'] or by or ''}"
    return found


def edges(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    short = named(answer)
    return {(short[e["source"]], short[e["target"]], e["evidence"]) for e in answer["edges"]}


def hops(answer: dict[str, Any]) -> dict[str, int]:
    short = named(answer)
    return {short[node["id"]]: node["hop"] for node in answer["nodes"]}


def days(client: Any, count: int) -> None:
    """Every day `load` writes /a, `build` makes /b of it, `report` makes /c of that; runs are 10 × day + 1, 2, 3."""
    for day in range(1, count + 1):
        send(
            client,
            run_event("COMPLETE", 10 * day + 1, "load", ["/src"], ["/a"], at=f"2026-01-{day:02}T01:00:00Z"),
            run_event("COMPLETE", 10 * day + 2, "build", ["/a"], ["/b"], at=f"2026-01-{day:02}T02:00:00Z"),
            run_event("COMPLETE", 10 * day + 3, "report", ["/b"], ["/c"], at=f"2026-01-{day:02}T03:00:00Z"),
        )


def test_each_day_is_its_own_chain(client: Any) -> None:
    days(client, 3)
    answer = ask(client, 22)
    assert hops(answer) == {
        "src@": -2,
        "load#21": -2,
        "a@load#21": -1,
        "build#22": 0,
        "b@build#22": 1,
        "report#23": 2,
        "c@report#23": 2,
    }
    assert edges(answer) == {
        ("src@", "load#21", "UNKNOWN"),
        ("load#21", "a@load#21", "TOLD"),
        ("a@load#21", "build#22", "DERIVED"),
        ("build#22", "b@build#22", "TOLD"),
        ("b@build#22", "report#23", "DERIVED"),
        ("report#23", "c@report#23", "TOLD"),
    }
    assert answer["hidden"] == {"nodes": 0, "reason": None, "at_least": False}
    assert answer["unchecked_readers"] == 0
    assert set(hops(ask(client, 22, direction="upstream"))) == {"src@", "load#21", "a@load#21", "build#22"}
    assert set(hops(ask(client, 22, direction="downstream"))) == {"build#22", "b@build#22", "report#23", "c@report#23"}


def test_depth_and_what_is_hidden(client: Any) -> None:
    days(client, 1)
    answer = ask(client, 12, depth=1)
    assert set(hops(answer)) == {"a@", "build#12", "b@build#12"}
    assert answer["hidden"] == {"nodes": 2, "reason": "depth=1 reached", "at_least": False}
    beyond = {n["label"]: (n["hidden_upstream"], n["hidden_downstream"]) for n in answer["nodes"]}
    assert beyond == {"a": (1, 0), "build": (0, 0), "b": (0, 1)}
    assert set(hops(ask(client, 12, depth=0))) == {"build#12"}
    capped = ask(client, 12, max_nodes=2)
    assert len(capped["nodes"]) == 2
    assert capped["hidden"]["nodes"] > 0
    assert capped["hidden"]["reason"] == "max_nodes=2 reached"


def test_the_version_a_run_names_goes_before_the_one_of_its_time(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "load", [], [versioned("/a", "v1")], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "load", [], [versioned("/a", "v2")], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "back", [versioned("/a", "v1")], ["/old"], at="2026-01-03T00:00:00Z"),
        run_event("COMPLETE", 4, "now", ["/a"], ["/new"], at="2026-01-03T00:00:00Z"),
        run_event("COMPLETE", 5, "elsewhere", [versioned("/a", "v9")], ["/odd"], at="2026-01-03T00:00:00Z"),
    )
    assert ("a@v1", "back#3", "TOLD") in edges(ask(client, 3))
    assert "load#1" in hops(ask(client, 3))
    assert "load#2" not in hops(ask(client, 3))
    assert ("a@v2", "now#4", "DERIVED") in edges(ask(client, 4))
    assert hops(ask(client, 5)) == {"a@v9": -1, "elsewhere#5": 0, "odd@elsewhere#5": 1}
    # And down: the reader of the first version is found though the second was there when it began.
    assert {"back#3"} == {n for n in hops(ask(client, 1)) if n.startswith(("back", "now", "else"))}
    assert {"now#4"} == {n for n in hops(ask(client, 2)) if n.startswith(("back", "now", "else"))}


def test_a_version_that_is_named_at_the_end_only(client: Any) -> None:
    """Producers report the output at START, and its version at the end: that is one version, and nothing is new before the end."""
    send(
        client,
        run_event("COMPLETE", 1, "load", [], [versioned("/a", "v1")], at="2026-01-01T00:00:00Z"),
        run_event("START", 2, "load", [], ["/a"], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 2, "load", [], [versioned("/a", "v2")], at="2026-01-02T01:00:00Z"),
        run_event("COMPLETE", 3, "meanwhile", ["/a"], [], at="2026-01-02T00:30:00Z"),
        run_event("COMPLETE", 4, "after", ["/a"], [], at="2026-01-02T02:00:00Z"),
    )
    assert set(hops(ask(client, 2))) == {"load#2", "a@v2", "after#4"}
    assert set(hops(ask(client, 1))) == {"load#1", "a@v1", "meanwhile#3"}
    assert set(hops(ask(client, 3))) == {"load#1", "a@v1", "meanwhile#3"}


def test_readers_that_were_not_looked_at_are_counted(client: Any, monkeypatch: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "load", [], ["/a"], at="2026-01-01T00:00:00Z"),
        *(run_event("COMPLETE", n, "use", ["/a"], [], at=f"2026-01-02T00:{n}:00Z") for n in range(10, 15)),
    )
    monkeypatch.setattr("headwater.answer.lineage.run_records._READERS", 3)
    assert ask(client, 1)["unchecked_readers"] == 1
    monkeypatch.setattr("headwater.answer.lineage.run_records._READERS", 5)
    assert ask(client, 1)["unchecked_readers"] == 0


def test_an_iceberg_scan_names_a_snapshot(client: Any) -> None:
    read = dataset("/a") | {"inputFacets": {"icebergScanReport": facet(snapshotId=77)}}
    send(
        client,
        run_event("COMPLETE", 1, "load", [], [versioned("/a", "77")], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "load", [], [versioned("/a", "78")], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "back", [read], [], at="2026-01-03T00:00:00Z"),
    )
    assert ("a@77", "back#3", "TOLD") in edges(ask(client, 3))


def test_a_failed_run_leaves_nothing_to_read(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "load", [], ["/a"], at="2026-01-01T00:00:00Z"),
        run_event("FAIL", 2, "load", [], ["/a"], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "use", ["/a"], [], at="2026-01-03T00:00:00Z"),
    )
    assert set(hops(ask(client, 3))) == {"load#1", "a@load#1", "use#3"}
    assert set(hops(ask(client, 2))) == {"load#2", "a@load#2"}


def checkpoint(type_: str, run: int, batch: int | None, at: str) -> dict[str, Any]:
    """A stream into /a; where it counts its batches, each is a version."""
    offsets = [{"partition": "batch", "offset": batch}]
    told = {} if batch is None else {"headwater_offsets": facet(offsets=offsets)}
    streaming = {"jobType": facet(processingType="STREAMING", integration="SPARK")}
    return run_event(type_, run, "stream", [], [dataset("/a", **told)], at=at, job_facets=streaming)


@pytest.mark.parametrize("counts", [True, False])
def test_what_a_stream_had_written_before_it_failed_is_there_to_read(client: Any, counts: bool) -> None:
    def batch(number: int) -> int | None:
        return number if counts else None

    send(
        client,
        run_event("COMPLETE", 1, "load", [], ["/a"], at="2026-01-01T00:00:00Z"),
        checkpoint("START", 2, batch(0), "2026-01-02T00:00:00Z"),
        checkpoint("RUNNING", 2, batch(1), "2026-01-02T01:00:00Z"),
        checkpoint("FAIL", 2, batch(2), "2026-01-02T03:00:00Z"),
        run_event("COMPLETE", 3, "meanwhile", ["/a"], [], at="2026-01-02T02:00:00Z"),
        run_event("COMPLETE", 4, "after", ["/a"], [], at="2026-01-03T00:00:00Z"),
        checkpoint("START", 5, batch(3), "2026-01-04T00:00:00Z"),  # fails before it has written anything
        checkpoint("FAIL", 5, batch(3), "2026-01-04T00:01:00Z"),
        run_event("COMPLETE", 6, "later", ["/a"], [], at="2026-01-05T00:00:00Z"),
    )
    readers = {"meanwhile", "after", "later"}
    for run in (3, 4, 6):
        assert {name.split("#")[0] for name in hops(ask(client, run)) if "@" not in name} - readers == {"stream"}
        assert "stream#2" in hops(ask(client, run))
    assert {name for name in hops(ask(client, 2)) if name.split("#")[0] in readers} == {
        "meanwhile#3",
        "after#4",
        "later#6",
    }
    assert {name for name in hops(ask(client, 1)) if name.split("#")[0] in readers} == set()
    found = client.get(f"/api/v2/runs/{RUN.format(4)}").json()
    assert [one["written_by"]["run_id"] for one in found["inputs"]] == [RUN.format(2)]


def test_each_part_has_the_version_that_wrote_it(client: Any) -> None:
    send(
        client,
        *(run_event("COMPLETE", d, "load", [], [part("/a", d)], at=f"2026-01-0{d}T00:00:00Z") for d in (1, 2, 3)),
        run_event("COMPLETE", 9, "use", [part("/a", 1), part("/a", 3)], [], at="2026-01-05T00:00:00Z"),
    )
    answer = ask(client, 9)
    assert set(hops(answer)) == {"load#1", "a@load#1", "load#3", "a@load#3", "use#9"}
    read = {named(answer)[e["source"]]: e["parts"] for e in answer["edges"] if e["relation"] == "READ"}
    assert read == {"a@load#1": [{"day": "1"}], "a@load#3": [{"day": "3"}]}
    assert [e["parts"] for e in answer["edges"] if e["relation"] == "WROTE"] == [[{"day": "1"}], [{"day": "3"}]]
    assert "use#9" in hops(ask(client, 1))
    assert "use#9" not in hops(ask(client, 2))


def test_a_parent_stands_for_the_runs_below_it(client: Any) -> None:
    declared = dataset("/in", headwater_declared=facet(name="in"))
    send(
        client,
        run_event("COMPLETE", 1, "load", [], ["/in"], at="2026-01-01T00:00:00Z"),
        run_event("START", 2, "package", [declared], [], at="2026-01-02T00:00:00Z"),
        run_event(
            "COMPLETE", 3, "package.a", ["/in"], ["/tmp"], at="2026-01-02T00:01:00Z", run_facets=parent(2, "package")
        ),
        run_event(
            "COMPLETE", 4, "package.b", ["/tmp"], ["/out"], at="2026-01-02T00:02:00Z", run_facets=parent(2, "package")
        ),
        run_event("COMPLETE", 5, "use", ["/out"], [], at="2026-01-03T00:00:00Z"),
    )
    answer = ask(client, 2)
    assert {n for n, hop in hops(answer).items() if hop == 0} == {"package#2", "package.a#3", "package.b#4"}
    assert {"load#1", "in@load#1", "tmp@package.a#3", "out@package.b#4", "use#5"} <= set(hops(answer))
    # The package's child was seen doing what the package declared.
    assert not [e for e in answer["edges"] if "package#2" in (named(answer)[e["target"]], named(answer)[e["source"]])]
    assert next(n for n in answer["nodes"] if n.get("label") == "package.a")["parent"]["run_id"] == RUN.format(2)


def test_one_run_id_may_span_jobs_that_read_each_other(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "first", ["/in"], ["/mid"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 1, "second", ["/mid", "/out"], ["/out"], at="2026-01-01T00:10:00Z"),
    )
    answer = ask(client, 1)
    assert ("mid@first#1", "second#1", "DERIVED") in edges(answer)
    assert len(answer["roots"]) == 2
    # A run that reads a dataset it also writes reads the version before.
    assert ("out@", "second#1", "UNKNOWN") in edges(answer)


def test_a_stream_that_still_writes_is_read_too(client: Any) -> None:
    send(
        client,
        run_event("START", 1, "stream", [], ["/a"], at="2026-01-01T00:00:00Z"),
        run_event("RUNNING", 1, "stream", [], ["/a"], at="2026-01-05T00:00:00Z"),
        run_event("COMPLETE", 2, "use", ["/a"], [], at="2026-01-03T00:00:00Z"),
    )
    assert "stream#1" in hops(ask(client, 2))
    assert "use#2" in hops(ask(client, 1))


def test_as_of(client: Any) -> None:
    days(client, 1)
    answer = ask(client, 12, as_of="2026-01-01T02:30:00Z")
    assert set(hops(answer)) == {"src@", "load#11", "a@load#11", "build#12", "b@build#12"}
    reply = client.get(f"/api/v2/runs/{RUN.format(12)}/lineage", as_of="2026-01-01T01:30:00Z")
    assert reply.status_code == 404
    send(
        client,
        run_event("START", 5, "slow", at="2026-02-01T00:00:00Z"),
        run_event("FAIL", 5, "slow", at="2026-02-02T00:00:00Z"),
    )
    assert ask(client, 5, as_of="2026-02-01T12:00:00Z")["nodes"][0]["state"] == "RUNNING"
    assert ask(client, 5)["nodes"][0]["state"] == "FAILED"


def test_statements_grow_with_depth_and_not_with_width(client: Any, statements: Any) -> None:
    for width, first in ((2, 100), (30, 200)):
        send(
            client,
            *(run_event("COMPLETE", first + n, f"w{width}-{n}", [], [f"/w{width}-{n}"]) for n in range(width)),
            run_event(
                "COMPLETE", first + 99, f"join{width}", [f"/w{width}-{n}" for n in range(width)], [f"/o{width}"],
                at="2026-01-02T00:00:00Z",
            ),
        )  # fmt: skip
    counts = []
    for first in (100, 200):
        with statements() as counted:
            answer = ask(client, first + 99)
        counts.append(len(counted))
    assert len(answer["nodes"]) == 62
    assert counts[0] == counts[1]


def test_questions_that_make_no_sense(client: Any) -> None:
    days(client, 1)
    assert client.get("/api/v2/runs/unknown/lineage").status_code == 404
    for wrong in ({"direction": "sideways"}, {"depth": -1}, {"depth": 101}, {"max_nodes": 0}):
        assert client.get(f"/api/v2/runs/{RUN.format(11)}/lineage", **wrong).status_code == 400, wrong


def test_a_run_shows_the_version_that_it_names_and_no_other_writer(client: Any) -> None:
    """A run went back to version 1, one read a version whose writer sends no events, and one named none."""
    send(
        client,
        run_event("COMPLETE", 1, "load", [], [versioned("/a", "1")], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "load", [], [versioned("/a", "2")], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "back", [versioned("/a", "1")], ["/b"], at="2026-01-03T00:00:00Z"),
        run_event("COMPLETE", 4, "elsewhere", [versioned("/a", "9")], ["/c"], at="2026-01-03T00:00:00Z"),
        run_event("COMPLETE", 5, "plain", ["/a"], ["/d"], at="2026-01-03T00:00:00Z"),
    )

    def read(run: int) -> tuple[str | None, str | None, bool]:
        (one,) = client.get(f"/api/v2/runs/{RUN.format(run)}").json()["inputs"]
        writer = one["written_by"]
        return one["external_version"], writer and writer["run_id"], one["version_id"] is not None

    assert read(3) == ("1", RUN.format(1), True)
    assert read(4) == ("9", None, False)
    assert read(5) == ("2", RUN.format(2), True)
