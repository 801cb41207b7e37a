"""`to`: the shortest ways between two things of any kind; and the questions that are refused, with what to do instead."""

import json
from typing import Any

import pytest
from tests.api.lineage.test_one_walk import get, send
from tests.events import RUN, columns, dataset, run_event, schema
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.client import ask as asking
from headwater.errors import Ambiguous, InvalidQuestion, NotFound


@pytest.fixture
def world(client: Any) -> Any:
    """Three steps in a row, each run twice; a fourth beside them."""
    out = dataset("/b", **schema("y"), **columns({"y": [("/a", "x", "DIRECT:IDENTITY")]}))
    for day in (1, 2):
        at = f"2026-01-0{day}T0{{}}:00:00Z".format
        send(
            client,
            [
                run_event("COMPLETE", 10 * day, "load", ["/src"], [dataset("/a", **schema("x"))], at=at(1)),
                run_event("COMPLETE", 10 * day + 1, "clean", ["/a"], [out], at=at(2)),
                run_event("COMPLETE", 10 * day + 2, "report", ["/b"], ["/c"], at=at(3)),
                run_event("COMPLETE", 10 * day + 3, "other", ["/x"], ["/other/c"], at=at(3)),
            ],
        )
    return client


@pytest.fixture
def headwater(world: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask(base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        reply = world.get(path, **{key: value for key, value in (params or {}).items() if value is not None})
        if reply.status_code >= 400:
            raise asking.refusal(reply.status_code, reply.content, base + path)
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def run(*words: str) -> list[str]:
        return [line.strip() for line in CliRunner().invoke(program, words, catch_exceptions=False).output.splitlines()]

    return run


def ways(client: Any, node: str, to: str, **question: Any) -> list[list[str]]:
    """The ways by what stands on them: jobs, datasets, runs by their number, versions by their dataset."""
    answer = get(client, "lineage", node=node, to=to, depth=100, **question)
    names = {}
    for one in answer["nodes"]:
        short = int(one["run_id"][-4:]) if one["type"] == "RUN" else one.get("dataset") or one["id"]
        names[one["id"]] = short if isinstance(short, int) else short.rpartition(":")[2]
    return [[names[id_] for id_ in way] for way in answer["paths"]]


def test_ways_between_names(world: Any) -> None:
    """The way is told along the flow of the data, whichever end is asked first; columns are an end, too."""
    whole = ["/src", "load", "/a", "clean", "/b", "report", "/c"]
    assert ways(world, "/src", "dataset:file:/c") == [whole]
    assert ways(world, "dataset:file:/c", "/src") == [whole]
    assert ways(world, "load", "report") == [whole[1:-1]]
    assert ways(world, "/b.y", "/a.x") == [["/a", "clean", "/b"]]
    assert ways(world, "/src", "/x") == []


def test_ways_between_runs_and_versions(world: Any) -> None:
    """The ways lie in the runs of one day; those of the other day are not among them."""
    assert ways(world, RUN.format(10), RUN.format(12)) == [[10, "/a", 11, "/b", 12]]
    assert ways(world, RUN.format(22), RUN.format(20)) == [[20, "/a", 21, "/b", 22]]
    assert ways(world, RUN.format(10), RUN.format(22)) == []
    version = next(one for one in get(world, "lineage", node=RUN.format(11), depth=1)["nodes"] if one.get("dataset") == "dataset:file:/b")  # fmt: skip
    assert ways(world, RUN.format(10), version["version_id"]) == [[10, "/a", 11, "/b"]]
    assert ways(world, version["version_id"], RUN.format(12)) == [["/b", 12]]


def test_ways_between_a_run_and_a_name(world: Any) -> None:
    """A dataset is any of its versions, a job any of its runs; the run is walked from, whichever is asked first."""
    for pair in ((RUN.format(10), "dataset:file:/c"), ("dataset:file:/c", RUN.format(10))):
        assert ways(world, *pair) == [[10, "/a", 11, "/b", 12, "/c"]]
    assert ways(world, RUN.format(20), "report") == [[20, "/a", 21, "/b", 22]]
    assert ways(world, RUN.format(12), "dataset:file:/src") == [["/src", 10, "/a", 11, "/b", 12]]
    assert ways(world, RUN.format(10), "dataset:file:/x") == []
    near = get(world, "lineage", node=RUN.format(10), to="dataset:file:/c", depth=1)
    assert (near["paths"], near["notes"]) == ([], ["no way was found within what was looked at; raise the depth"])


@pytest.mark.parametrize(
    ("question", "status", "words"),
    [
        ({"node": "nosuchthing"}, 404, "nothing is named 'nosuchthing'"),
        ({"node": "/a", "to": "nosuchthing"}, 404, "nothing is named 'nosuchthing'"),
        ({"node": "/a", "to": "c"}, 400, "'c' could be any of 2; give one of these"),
        ({"node": "/a", "to": " "}, 404, "nothing is named ' '"),
        ({"node": "/a", "wrong": "true"}, 400, "a is a dataset; `wrong` asks what may have made a run"),
        ({"node": RUN.format(10), "columns": "true"}, 400, "is a run; columns are recorded of jobs"),
        ({"node": RUN.format(10), "field": "x"}, 400, "is a run; columns are recorded of jobs"),
        ({"node": RUN.format(10), "group": "namespace"}, 400, "is a run; group is for datasets and jobs only"),
        ({"node": "/a", "to": RUN.format(10), "group": "namespace"}, 400, "group is for datasets and jobs only"),
        ({"node": RUN.format(10), "depth": "100001"}, 400, "depth must be from 0 to 100000"),
        ({"node": "/a", "depth": "101"}, 400, "depth must be from 0 to 100"),
        ({"node": RUN.format(10), "direction": "sideways"}, 400, "direction 'sideways' is not one of"),
        ({"node": RUN.format(10), "as_of": "2025-01-01T00:00:00Z"}, 404, "was not yet reported"),
    ],
)  # fmt: skip
def test_what_is_refused(world: Any, question: dict[str, str], status: int, words: str) -> None:
    reply = world.get("/api/v2/lineage", **question)
    assert (reply.status_code, words in reply.json()["message"]) == (status, True), reply.text


def test_what_could_be_several_things(world: Any) -> None:
    answer = get(world, "lineage", node="c")
    assert {one["id"] for one in answer["candidates"]} == {"dataset:file:/c", "dataset:file:/other/c"}
    assert (answer["subject"], answer["nodes"], answer["paths"]) == (None, [], [])


def test_the_command_prints_the_ways(headwater: Any) -> None:
    assert headwater("lineage", "/src", "--to", "dataset:file:/b") == ["1.", "src", "load", "a", "clean", "b"]
    assert headwater("lineage", RUN.format(12), "--to", RUN.format(10))[1:] == [
        "1.",
        "load",
        "a",
        "clean",
        "b",
        "report",
    ]
    assert headwater("lineage", "/src", "--to", "/x") == ["no way leads from the one to the other"]
    assert len(json.loads("".join(headwater("lineage", "/src", "--to", "/b", "--json")))["paths"][0]) == 5


def test_the_command_draws_a_run(headwater: Any) -> None:
    drawn = headwater("lineage", RUN.format(11), "--mermaid")
    assert drawn == headwater("lineage", RUN.format(11), "--format", "mermaid")
    assert drawn[0] == "flowchart LR"
    assert {'n2["load"]', 'n4["clean"]', 'n6["report"]', "n3 --> n4"} <= set(drawn)
    assert sum("shape=box" in line for line in headwater("lineage", RUN.format(11), "--format", "dot")) == 3


def test_datasets_are_drawn_by_the_same_code(headwater: Any) -> None:
    """Datasets as cylinders, with the jobs between them and the columns on the arrows."""
    drawn = headwater("lineage", "/b", "--mermaid", "--columns")
    assert {'n1[("/src")]', 'n4["clean"]', 'n3 -->|"x"| n4', "class n5 root"} <= set(drawn)
    tree = headwater("lineage", "/b", "--columns")
    assert tree[: tree.index("Downstream") - 1] == [
        "/b", "dataset  file  /b", "", "Upstream", "└─ /a  ← clean (ok)", "· x → y [IDENTITY]", "└─ /src  ← load (ok)",
    ]  # fmt: skip
    assert "Last run" in tree
    assert any("->" in line for line in headwater("lineage", "/b", "--format", "dot"))


def test_the_command_says_what_is_wrong(headwater: Any) -> None:
    for words, kind, text in (
        (("lineage", "/a", "--to", "c"), Ambiguous, "'c' could be any of 2"),
        (("lineage", "/a", "--to", "nosuchthing"), NotFound, "nothing is named 'nosuchthing'"),
        (("lineage", "/a", "--wrong"), InvalidQuestion, "`wrong` asks what may have made a run"),
        (("lineage", RUN.format(11), "--group", "namespace"), InvalidQuestion, "group is for datasets and jobs only"),
        (("run", "lineage", "0199ffff"), NotFound, "nothing is named 'run:0199ffff'"),
        (("run", "lineage", RUN.format(10)[:20]), Ambiguous, "could be any of"),
        (("suspects", "raeds", "2024-W10"), NotFound, "nothing is named 'raeds@2024-W10'"),
    ):  # fmt: skip
        with pytest.raises(kind, match=text.replace("`", ".")):
            headwater(*words)
