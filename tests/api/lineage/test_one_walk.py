"""One walk for runs, versions, items, files and instances: what three answers gave before comes out of it, on what examples reported, and on
random worlds against a reference that looks at the events alone.

`tests/cases/lineage`: events of the examples (without the facets that lineage of records does not read), and what `/api/v2/runs/ID/lineage`,
`/api/v2/correlation/ID` and `/api/v2/entities/NAME/suspects` answered before there was one walk: nodes with their distance, edges with their evidence.
"""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.events import RUN, dataset, encoded, facet, run_event
from tests.scale import full

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests/cases/lineage"
ITEM = "0199c0de-2222-7000-8000-{:012d}"


def send(client: Any, events: list[dict[str, Any]]) -> None:
    for start in range(0, len(events), 50):
        reply = client.post(
            "/api/v1/lineage/batch", encoded(events[start : start + 50]), content_type="application/json"
        )
        assert reply.status_code == 200, reply.text


def post(client: Any, path: str, body: dict[str, Any]) -> None:
    reply = client.post(path, encoded(body), content_type="application/json")
    assert reply.status_code in {200, 201}, reply.text


def load(client: Any, name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    if "entities" in case:
        text = (ROOT / case["entities"]).read_text(encoding="utf-8")
        post(client, "/api/v2/entities", {"files": [{"name": "entities.yaml", "text": text}]})
    send(client, case["events"])
    if "reports" in case:
        post(client, "/api/v2/instances", {"reports": case["reports"]})
        post(client, "/api/v2/incidents", {"wrong": [case["wrong"]], "reason": "half of it is missing"})
    return case


def get(client: Any, path: str, **question: Any) -> dict[str, Any]:
    reply = client.get(f"/api/v2/{path}", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def ask(client: Any, node: str, **question: Any) -> dict[str, Any]:
    answer = get(client, "lineage", node=node, **({"depth": 100, "max_nodes": 10_000} | question))
    assert len({one["id"] for one in answer["nodes"]}) == len(answer["nodes"])
    return answer


def claims(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(e["source"], e["target"], claim["evidence"]) for e in answer["edges"] for claim in e["claims"]}


@pytest.mark.parametrize("name", ["flights", "word_count", "warehouse"])
def test_the_lineage_of_a_run_is_what_it_was(client: Any, name: str) -> None:
    case = load(client, name)
    for run, before in case["answers"]["runs"].items():
        hops = {case["ids"][place]: hop for place, hop in before["nodes"]}
        edges = {(case["ids"][a], case["ids"][b], evidence) for a, b, evidence in before["edges"]}
        kept = get(client, f"runs/{run}/lineage", depth=100, max_nodes=10_000)
        assert {one["id"]: one["hop"] for one in kept["nodes"]} == hops
        assert {(e["source"], e["target"], e["evidence"]) for e in kept["edges"]} == edges
        answer = ask(client, run)
        assert {one["id"]: one["hop"] for one in answer["nodes"]} == hops
        assert claims(answer) == edges
        assert (answer["subject"]["type"], answer["hidden"]["nodes"]) == ("RUN", 0)


def test_what_was_traced_comes_out_of_the_one_walk(client: Any) -> None:
    """The walk finds the traced items and contents; a run that names no item read the others beside them."""
    case = load(client, "smart_meter")
    for id_, before in case["answers"]["traces"].items():
        kept = get(client, f"correlation/{quote(id_, safe='')}", depth="all", max_nodes=10_000)
        assert {(one["id"], one["depth"]) for one in kept["nodes"]} == {
            (case["ids"][place], depth) for place, depth in before["nodes"]
        }
        assert {(e["parent"], e["child"], e["refused"]) for e in kept["edges"]} == {
            (case["ids"][a], case["ids"][b], refused) for a, b, refused in before["edges"]
        }
        answer = ask(client, id_)
        runs = {one["run_id"] for one in answer["nodes"] if one["type"] == "RUN"}
        named = {
            text
            for one in answer["nodes"]
            if one["type"] == "VERSION"
            for text in (one["item"], one["external_version"])
        }
        assert {one["run_id"] for one in kept["nodes"] if one["kind"] == "RUN"} <= runs
        assert {one["id"] for one in kept["nodes"] if one["kind"] == "ITEM"} <= named
        assert {one["fingerprint"] for one in kept["nodes"] if one["kind"] == "CONTENT"} <= named
        if answer["subject"]["type"] != "RUN" and all(claim[2] == "TOLD" for claim in claims(answer)):
            told = {
                e["target" if e["relation"] == "READ" else "source"]
                for e in answer["edges"]
                if e["relation"] in {"READ", "WROTE"}
            }
            assert {one["id"] for one in answer["nodes"] if one["type"] == "RUN"} == told | (told & {answer["root"]})


def test_suspects_come_out_of_the_one_walk(client: Any) -> None:
    """An instance that is the content of a version of the answer is that node; others are nodes by their schedule."""
    case = load(client, "word_count")
    for name, before in case["answers"]["suspects"].items():
        entity, _, instance = name.partition("@")
        assert get(client, f"entities/{entity}/suspects", instances=instance)["suspects"] == before
        answer = ask(client, name, wrong="true")
        scheduled = {one["entity"]: one for one in answer["nodes"] if one["type"] == "INSTANCES"}
        versions = {each: one for one in answer["nodes"] if one["type"] == "VERSION" for each in one["instances"]}
        assert versions[name]["id"] == answer["root"]
        for suspect in before:
            if suspect["entity"] in scheduled:
                assert scheduled[suspect["entity"]]["instances"] == suspect["instances"]
                continue
            mine = {each for each in versions if each.startswith(suspect["entity"] + "@")}
            assert len(mine) >= suspect["count"]
            # Those that are wrong stand out, and come first.
            for text in suspect["of_these"] if suspect["because"] == "known to be wrong" else ():
                assert answer["nodes"][0]["against"] == "known to be wrong"
                assert versions[f"{suspect['entity']}@{text}"]["hop"] < 0
        needs = {(e["source"], e["target"]) for e in answer["edges"] if e["relation"] == "NEEDS"}
        assert bool(needs) == bool(before)
        for e in answer["edges"]:
            if e["relation"] == "NEEDS":
                assert [claim["origin"] for claim in e["claims"]] == ["SCHEDULE"]


class World:
    """Runs one after another that read and wrote datasets: whole, by items, by contents."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.events: list[dict[str, Any]] = []
        self.out: dict[Any, set[Any]] = defaultdict(set)
        self.into: dict[Any, set[Any]] = defaultdict(set)
        items: list[tuple[int, str]] = []
        contents: list[tuple[str, str]] = []
        latest: dict[str, Any] = {}
        for run in range(draw.randint(4, 14)):
            inputs, outputs, written = [], [], {}
            for name in draw.sample(["/a", "/b", "/c", "/d"], draw.randint(0, 2)):
                way = draw.choice(["whole", "whole", "item", "content"])
                mine = [each for each in items if each[1] == name]
                same = [each for each in contents if each[0] == name]
                if way == "item" and mine:
                    item = draw.choice(mine)[0]
                    inputs.append(dataset(name) | {"inputFacets": {"headwater_item": facet(id=ITEM.format(item))}})
                    self._link(("item", item), ("run", run))
                elif way == "content" and same:
                    text = draw.choice(same)[1]
                    inputs.append(dataset(name) | {"inputFacets": {"headwater_item": facet(fingerprint=text)}})
                    self._link(("content", name, text), ("run", run))
                else:
                    inputs.append(dataset(name))
                    if name in latest:
                        self._link(latest[name], ("run", run))
            for name in draw.sample(["/a", "/b", "/c", "/d", "/e"], draw.randint(0, 2)):
                way = draw.choice(["whole", "whole", "item", "content"])
                self._link(("run", run), ("version", run, name))
                said = {}
                if way == "item":
                    item = 100 * run + len(outputs)
                    items.append((item, name))
                    self._link(("run", run), ("item", item))
                    said = {"outputFacets": {"headwater_item": facet(id=ITEM.format(item))}}
                elif way == "content":
                    text = f"xxh3-128:{draw.randint(0, 3):032x}"
                    contents.append((name, text))
                    self._link(("run", run), ("content", name, text))
                    said = {"outputFacets": {"headwater_item": facet(fingerprint=text)}}
                outputs.append(dataset(name) | said)
                written[name] = ("version", run, name)
            latest |= written
            self.events.append(
                run_event("COMPLETE", run, f"job {run % 3}", inputs, outputs, at=f"2026-01-01T{run:02}:00:00Z")
            )

    def _link(self, source: Any, target: Any) -> None:
        self.out[source].add(target)
        self.into[target].add(source)

    def reach(self, start: Any, following: dict[Any, set[Any]]) -> set[Any]:
        met, level = {start}, [start]
        while level:
            level = [other for node in level for other in following[node] if other not in met and not met.add(other)]  # type: ignore[func-returns-value]
        return met

    def loops(self) -> bool:
        """Return whether a content leads back to itself; another test covers which of its edges is refused."""
        return any(node in self.reach(other, self.out) for node in list(self.out) for other in list(self.out[node]))


def met(answer: dict[str, Any]) -> tuple[set[int], set[tuple[str, str]], set[str]]:
    """The runs, the versions (by their writers) and the items of an answer."""
    runs = {one["id"]: int(one["run_id"][-12:]) for one in answer["nodes"] if one["type"] == "RUN"}
    names = {one["id"]: one for one in answer["nodes"]}
    versions = {
        (names[e["source"]]["run_id"], names[e["target"]]["dataset"])
        for e in answer["edges"]
        if e["relation"] == "WROTE" and names[e["target"]]["version_id"]
    }
    return (
        set(runs.values()),
        versions,
        {one["item"] for one in answer["nodes"] if one["type"] == "VERSION" and one["item"]},
    )


@pytest.mark.parametrize("seed", range(full(12, 4)))
def test_random_worlds(client: Any, seed: int) -> None:
    world = World(seed)
    while world.loops():
        seed += 1000
        world = World(seed)
    send(client, world.events)
    for run in range(len(world.events)):
        for direction, following in (("upstream", world.into), ("downstream", world.out)):
            expected = world.reach(("run", run), following)
            runs, versions, items = met(ask(client, RUN.format(run), direction=direction))
            assert runs == {each[1] for each in expected if each[0] == "run"}, (seed, run, direction)
            wanted = {(RUN.format(each[1]), f"dataset:file:{each[2]}") for each in expected if each[0] == "version"}
            assert wanted <= versions, (seed, run, direction)
            assert {ITEM.format(each[1]) for each in expected if each[0] == "item"} <= items, (seed, run, direction)
            # The nearest come first, as far as they are asked for; the rest is counted.
            near = ask(client, RUN.format(run), direction=direction, depth=1)
            assert all(abs(one["hop"]) <= 1 for one in near["nodes"])
            assert bool(near["hidden"]["nodes"]) == (
                len(near["nodes"]) < len(ask(client, RUN.format(run), direction=direction)["nodes"])
            )
    for item in {each[1] for each in list(world.out) if each[0] == "item"}:
        for direction, following in (("upstream", world.into), ("downstream", world.out)):
            expected = world.reach(("item", item), following)
            if direction == "downstream":
                run = next(each[1] for each in world.into["item", item])
                name = next(e["name"] for e in world.events[run]["outputs"] if ITEM.format(item) in json.dumps(e))
                expected |= world.reach(("version", run, name), following)
            answer = ask(client, ITEM.format(item), direction=direction)
            assert met(answer)[0] == {each[1] for each in expected if each[0] == "run"}, (seed, item, direction)
            assert answer["subject"]["type"] == "ITEM"


def test_a_version_is_one_node_from_each_end(client: Any) -> None:
    """An item, the output of the run that wrote it, the version and the instance are one node with one description, whichever of them is asked."""
    yaml = "entity: days\nperiod: {every: day, from: 2026-01-01}\nstored_in: file /days\n"
    post(client, "/api/v2/entities", {"files": [{"name": "e.yaml", "text": yaml}]})
    item = ITEM.format(1)
    written = dataset("/days") | {"outputFacets": {"headwater_item": facet(id=item, bytes=12)}}
    send(
        client,
        [
            run_event("COMPLETE", 1, "load", ["/raw"], [written], at="2026-01-02T01:00:00Z"),
            run_event("COMPLETE", 2, "use", ["/days"], ["/out"], at="2026-01-02T02:00:00Z"),
            run_event("COMPLETE", 3, "load twice", [], ["/two", "/days two"], at="2026-01-03T01:00:00Z"),
            run_event("COMPLETE", 4, "use", ["/two"], ["/out"], at="2026-01-03T02:00:00Z"),
        ],
    )
    report = {"entity": "days", "what": "produced", "instances": ["2026-01-01"], "ref": RUN.format(1)}
    reports = [report, report | {"instances": ["2026-01-02"], "ref": RUN.format(3)}]
    post(client, "/api/v2/instances", {"reports": [one | {"at": "2026-01-03T01:00:00Z"} for one in reports]})
    # Which of two versions an instance is cannot be told, even where the answer has one of them alone.
    for one in ask(client, RUN.format(4), direction="upstream")["nodes"]:
        assert one.get("instances", []) == []
    version = next(one["version_id"] for one in ask(client, RUN.format(1))["nodes"] if one.get("item"))
    ends = {"item": item, "version": version, "version of the entity": f"days@{version}", "instance": "days@2026-01-01", "writer": RUN.format(1), "reader": RUN.format(2)}  # fmt: skip
    described = {}
    for end, id_ in ends.items():
        ways = {"writer": ("downstream",), "reader": ("upstream",)}.get(end, ("upstream", "downstream", "both"))
        for way in ways:
            answer = ask(client, id_, direction=way)
            mine = [one for one in answer["nodes"] if one.get("item") == item or one.get("version_id") == version]
            assert len(mine) == 1, (end, way)
            described[end, way] = {field: mine[0][field] for field in ("id", "item", "version_id", "bytes", "instances", "label", "written_at")}  # fmt: skip
            if end in {"item", "version", "instance"}:
                assert (answer["root"], mine[0]["hop"]) == (mine[0]["id"], 0), (end, way)
    assert all(each == described["writer", "downstream"] for each in described.values()), described
    assert described["item", "both"]["instances"] == ["days@2026-01-01"]
    for to in (RUN.format(1), RUN.format(2)):
        for end in ("item", "version", "instance"):
            assert len(ask(client, ends[end], to=to)["paths"]) == 1, (end, to)
            assert len(ask(client, to, to=ends[end])["paths"]) == 1, (to, end)
    assert ask(client, "file:/raw", to=item)["paths"] == ask(client, item, to="file:/raw")["paths"] != []


def test_each_of_several_items_is_its_own_version(client: Any) -> None:
    """A run writes three parts of one dataset, two of them equal: an item and the version with its content are one node, and what used another is no
    part of its lineage. Two equal parts share a version, which is neither of them.
    """
    contents = {1: "xxh3-128:aa", 2: "xxh3-128:bb", 3: "xxh3-128:bb"}

    def part(number: int, side: str) -> dict[str, Any]:
        one = dataset(f"/hours/hour={number}", version=facet(datasetVersion=contents[number]))
        return one | {side: {"headwater_item": facet(id=ITEM.format(number), fingerprint=contents[number])}}

    send(
        client,
        [
            run_event("COMPLETE", 1, "cut", ["/raw"], [part(number, "outputFacets") for number in contents]),
            *(
                run_event("COMPLETE", 10 + number, f"use {number}", [part(number, "inputFacets")], [f"/out {number}"])
                for number in contents
            ),
        ],
    )
    cut = ask(client, RUN.format(1), direction="downstream")
    written = [one for one in cut["nodes"] if one["type"] == "VERSION" and one["hop"] == 1 and one["version_id"]]
    assert sorted((one.get("item") or "", one["external_version"]) for one in written) == [
        ("", contents[2]),
        *((ITEM.format(number), contents[number]) for number in contents),
    ]
    first = next(one for one in written if one.get("item") == ITEM.format(1))
    (wrote,) = [edge for edge in cut["edges"] if edge["target"] == first["id"] and edge["relation"] == "WROTE"]
    assert (first["part"], wrote["parts"]) == ({"hour": "1"}, [{"hour": "1"}])
    shared = next(one for one in written if not one.get("item"))
    used = {
        end: {one["job"] for one in ask(client, id_, direction="downstream")["nodes"] if one["type"] == "RUN"}
        for end, id_ in {
            "item": ITEM.format(1), "version": first["version_id"], "other": ITEM.format(2), "shared": shared["version_id"],
        }.items()
    }  # fmt: skip
    assert used["item"] == used["version"] == {"job:test:use 1"}
    assert used["other"] == {"job:test:use 2"}
    assert used["shared"] == {"job:test:use 2", "job:test:use 3"}
