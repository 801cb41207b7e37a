"""Each API that walks, asked from both ends about random events with facets of every kind: what is down from A to B is up from B to A."""

import json
import random
from collections.abc import Callable, Iterable
from itertools import pairwise, permutations, product
from typing import Any, NamedTuple

import pytest
from tests.api.lineage.test_both_ends import FIELDS, NAMES, below, random_events, send
from tests.events import columns, dataset, facet, parent, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full, suite_takes
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.mcp.budget import LARGEST
from headwater.mcp.tools import call

# `random_events` dates an event by its number: 2026-01-01 and on.
TIMES = [None, "2026-01-06T12:00:00Z"]
WAREHOUSE = "postgres://db:5432"
SEEDS = range(full(200, 2))
# Those that once failed are in the suite.
COLUMN_SEEDS = suite_takes(range(200), [0, 1, 6, 20])
Pairs = set[tuple[str, str]]
JOBS = [f"job{number}" for number in range(4)]


class Asked(NamedTuple):
    """The client, and the node ids of the datasets and jobs in use at a time."""

    client: Client
    datasets: list[str]
    jobs: list[str]
    as_of: str | None


def every_kind(draw: random.Random) -> list[dict[str, Any]]:
    """Draw the events of `random_events`, and beside them runs with a parent, with SQL alone, in an order of jobs, renames, deleted facets, of dbt's
    structured logs, and a job that in ten runs reads one table and then another."""
    found = random_events(draw, schemas=0.9)
    for number in range(draw.randint(2, 6)):
        run, at = 50 + number, f"2026-01-{draw.randint(1, 12):02}T06:00:00Z"
        kind = draw.randrange(7)
        job, names = draw.choice(JOBS), draw.sample(NAMES, 2)
        if kind == 0:
            found.append(
                run_event(
                    "COMPLETE", run, f"{job}.child", names[:1], names[1:], at=at, run_facets=parent(run + 100, job)
                )
            )
        elif kind == 1:
            query = (
                f"insert into db.public.t{draw.randint(1, 3)} (x, y) select x, y from db.public.t{draw.randint(1, 3)}"
            )
            found.append(
                run_event(
                    "COMPLETE", run, f"sql{draw.randint(1, 2)}", at=at, job_facets={"sql": facet(query=query)},
                    run_facets={"externalQuery": facet(externalQueryId="1", source=WAREHOUSE)},
                )
            )  # fmt: skip
        elif kind == 2:
            other = {"job": {"namespace": "test", "name": draw.choice(JOBS)}}
            found.append(
                run_event("COMPLETE", run, job, at=at, run_facets={"jobDependencies": facet(upstream=[other])})
            )
        elif kind == 3:
            before = {"namespace": "file", "name": names[0]}
            renamed = facet(lifecycleStateChange="RENAME", previousIdentifier=before)
            found.append({"eventTime": at, "producer": "p", "dataset": dataset(names[1], lifecycleStateChange=renamed)})
        elif kind == 4:
            gone = facet(_deleted=True)
            out = dataset(names[1], **schema(*FIELDS), columnLineage=gone)
            found.append(run_event("COMPLETE", run, job, names[:1], [out], at=at, job_facets={"lineage": gone}))
        elif kind == 5:
            found += structured_logs(run, at, draw.randint(1, 3), draw.randint(1, 3))
        else:
            found += ten_runs(draw, run)
    draw.shuffle(found)
    return found


def structured_logs(run: int, at: str, source: int, target: int) -> list[dict[str, Any]]:
    """Return a dbt model's run, and the statement below it that alone names its input."""
    model, kind = f"model.shop.t{target}", facet(processingType="BATCH", integration="DBT", jobType="SQL")
    out = dataset(f"db.public.t{target}", namespace=WAREHOUSE, **schema(*FIELDS))
    query = f"create table db.public.t{target}__dbt_tmp as select x, y from db.public.t{source}"
    sql = {"jobType": kind, "sql": facet(query=query, dialect="postgres")}
    return [
        run_event("COMPLETE", run, model, [], [out], at=at),
        run_event("COMPLETE", run + 200, f"{model}.sql.1", at=at, run_facets=parent(run, model), job_facets=sql),
    ]


def ten_runs(draw: random.Random, run: int) -> list[dict[str, Any]]:
    """Return ten runs of a job: some read what others do not, and its columns change with it."""
    one, other, out = draw.sample(NAMES, 3)
    found = []
    for number in range(10):
        read = draw.choice([[one], [other], [one, other]])
        told = columns({"x": [(name, "y", "DIRECT:IDENTITY") for name in read]}) if draw.random() < 0.5 else {}
        made = dataset(out, **schema(*FIELDS), **told)
        found.append(
            run_event("COMPLETE", run * 100 + number, "often", read, [made], at=f"2026-01-{number + 1:02}T03:00:00Z")
        )
    return found


def asked(client: Client, as_of: str | None) -> Asked:
    """Return the nodes in use that stand for themselves. A job is asked for the jobs below it too, so those that have some are left out."""
    every: dict[str, list[str]] = {"datasets": [], "jobs": []}
    for kind, nodes in every.items():
        more = {"children": "true"} if kind == "jobs" else {}
        for one in client.get(f"/api/v2/{kind}", limit=1000, **more).json()[kind]:
            if kind == "jobs" and client.get("/api/v2/jobs", parent=one["id"]).json()["total"]:
                continue
            reply = client.get("/api/v2/lineage", node=one["id"], depth=0, as_of=as_of)
            if reply.status_code == 200 and reply.json()["root"] == one["id"]:
                nodes.append(one["id"])
    return Asked(client, every["datasets"], every["jobs"], as_of)


def nodes_of(on: Asked, node: str, direction: str, **more: Any) -> set[str]:
    reply = on.client.get("/api/v2/lineage", node=node, direction=direction, depth=50, as_of=on.as_of, **more)
    assert reply.status_code == 200, reply.text
    return {one["id"] for one in reply.json()["nodes"]} - {node}


def by_lineage(on: Asked, node: str, direction: str) -> set[str]:
    return nodes_of(on, node, direction)


def by_lineage_in_sql(on: Asked, node: str, direction: str) -> set[str]:
    """Ask with columns and a filter that keeps everything: the answer is walked in the database, not in memory."""
    return nodes_of(on, node, direction, columns="true", since="2000-01-01T00:00:00Z")


def by_edges(on: Asked, node: str, direction: str) -> set[str]:
    """Return what the edges of an answer lead to: every node of it, and none that has no edge."""
    answer = on.client.get("/api/v2/lineage", node=node, direction=direction, depth=50, as_of=on.as_of).json()
    ways: dict[str, set[str]] = {}
    for edge in answer["edges"]:
        near, far = ("target", "source") if direction == "upstream" else ("source", "target")
        ways.setdefault(edge[near], set()).add(edge[far])
    return below(ways, node) - {node}


def by_paths(on: Asked, node: str, direction: str) -> set[str]:
    found = set()
    for other in [*on.datasets, *on.jobs]:
        if other != node:
            ends = {"from": node, "to": other, "direction": direction, "as_of": on.as_of}
            answer = on.client.get("/api/v2/paths", **ends).json()
            if answer["length"] is not None:
                found.add(other)
                for path in answer["paths"]:
                    assert {path["nodes"][0], path["nodes"][-1]} == {node, other}
                    met = [one for one in path["nodes"] if one.startswith("dataset:")]
                    assert len(set(met)) == len(met)
                    assert set(pairwise(path["nodes"])) <= {(e["source"], e["target"]) for e in answer["edges"]}
    return found


def by_ways_between(on: Asked, node: str, direction: str) -> set[str]:
    """Return the nodes to which `lineage X --to Y` finds a way. It finds one in either direction."""
    found = set()
    for other in [*on.datasets, *on.jobs]:
        if other != node:
            answer = on.client.get(
                "/api/v2/lineage", node=node, to=other, direction=direction, depth=50, as_of=on.as_of
            ).json()
            if answer["edges"]:
                found.add(other)
    return found


def by_command(on: Asked, node: str, direction: str) -> set[str]:
    words = ["lineage", node, f"--{direction}", "--json", *(["--as-of", on.as_of] if on.as_of else [])]
    result = CliRunner().invoke(program, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return {one["id"] for one in json.loads(result.stdout)["nodes"]} - {node}


def are_joined_by_command(one: str, other: str) -> bool:
    """Return whether `headwater paths` finds a way between these, in either direction."""
    result = CliRunner().invoke(program, ["paths", one, other, "--json"], catch_exceptions=False)
    return json.loads(result.stdout)["length"] is not None


@pytest.fixture(autouse=True)
def commands(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands ask the application in this process."""

    def ask(_base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        reply = client.get(path, **(params or {}))
        assert reply.status_code < 400, reply.text
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)


Walks = Callable[[Asked, str, str], set[str]]


def pairs(walk: Walks, on: Asked, nodes: Iterable[str]) -> tuple[Pairs, Pairs]:
    """Return (source, target) as found from the targets, and as found from the sources."""
    known = set(nodes)
    up = {(above, node) for node in known for above in walk(on, node, "upstream") & known}
    return up, {(node, under) for node in known for under in walk(on, node, "downstream") & known}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_table_and_job_reaches_what_reaches_it_at_every_time(client: Client, seed: int) -> None:
    send(client, *every_kind(random.Random(seed)))
    for as_of in TIMES:
        on = asked(client, as_of)
        nodes = [*on.datasets, *on.jobs]
        up, down = pairs(by_lineage, on, nodes)
        assert up == down, as_of
        for walk in (by_lineage_in_sql, by_edges):
            assert pairs(walk, on, nodes) == (up, up), (walk.__name__, as_of)
        between = {(a, b) for a, b in up if a in on.datasets and b in on.datasets}
        assert pairs(by_paths, on, on.datasets) == (between, between), as_of


def v2_columns(on: Asked, node: str, direction: str) -> set[str]:
    """`node`: a dataset's id and a column, with a space between."""
    name, _, field = node.rpartition(" ")
    answer = on.client.get(
        "/api/v2/lineage", node=name, direction=direction, depth=50, field=field, columns="true", as_of=on.as_of
    ).json()
    ways: dict[str, set[str]] = {}

    def add_way(source: set[str], target: set[str]) -> None:
        near, far = (target, source) if direction == "upstream" else (source, target)
        for one in near:
            ways.setdefault(one, set()).update(far)

    for edge in answer["column_edges"]:
        # A job feeds a column with all that it reads, and what decides about rows reaches every column.
        add_way(*(
            all_fields(edge[end]) if edge[f"{end}_field"] is None else {f"{edge[end]} {edge[f'{end}_field']}"}
            for end in ("source", "target")
        ))  # fmt: skip
    fed = {one["target"] for one in answer["column_edges"] if one["target"].startswith("job:")}
    for edge in answer["edges"]:
        # Columns that feed a job feed what it writes without evidence of its own.
        if edge["source"] in fed and not has_evidence(on, edge["source"], edge["target"]):
            add_way(all_fields(edge["source"]), all_fields(edge["target"]))
    return below(ways, node) - {node}


def has_evidence(on: Asked, job: str, dataset_: str) -> bool:
    """Return whether the job reports where a column of what it writes comes from."""
    asked = {"node": dataset_, "direction": "upstream", "depth": 1, "columns": "true", "as_of": on.as_of}
    found = on.client.get("/api/v2/lineage", **asked).json()["column_edges"]
    return (job, dataset_) in {(one["job"], one["target"]) for one in found}


def all_fields(node: str) -> set[str]:
    return {f"{node} {field}" for field in FIELDS}


def column_paths(on: Asked, node: str, direction: str) -> set[str]:
    """Return the columns among `on.datasets` to which there is a path."""
    name, _, field = node.rpartition(" ")
    found = set()
    for place in on.datasets:
        other, _, other_field = place.rpartition(" ")
        if place != node:
            ends = {"from": name, "from_field": field, "to": other, "to_field": other_field, "direction": direction}
            if on.client.get("/api/v2/paths", **ends, as_of=on.as_of).json()["length"] is not None:
                found.add(place)
    return found


@pytest.mark.parametrize("seed", COLUMN_SEEDS)
def test_every_column_reaches_what_reaches_it_at_every_time(client: Client, seed: int) -> None:
    send(client, *every_kind(random.Random(seed)))
    for as_of in TIMES:
        on = asked(client, as_of)
        places = [
            f"{name} {field}"
            for name, field in product(on.datasets, FIELDS)
            if client.get("/api/v2/lineage", node=name, field=field, as_of=as_of).status_code == 200
        ]
        up, down = pairs(v2_columns, on, places)
        assert up == down, as_of
        on = on._replace(datasets=places)
        ahead, back = pairs(column_paths, on, places)
        assert ahead == back, as_of
        assert sorted(up ^ ahead) == [], (sorted(up - ahead), sorted(ahead - up))


@pytest.mark.parametrize("seed", SEEDS)
def test_commands_and_tools_reach_what_reaches_it(client: Client, seed: int, run: Any) -> None:
    send(client, *every_kind(random.Random(seed)))
    on = asked(client, None)
    up, down = pairs(by_lineage, on, on.datasets)
    assert up == down

    async def ask(path: str, params: Any) -> bytes:
        given = {key: value for key, value in params.items() if value is not None}
        reply = await client._http.get(path, params=given)
        assert reply.status_code < 400, reply.text
        return reply.content

    def by_tool(on: Asked, node: str, direction: str) -> set[str]:
        given = {"name": node, "direction": direction, "depth": 50, "budget": LARGEST}
        answer = run(call(ask, "lineage", given))
        assert "left_out" not in answer, answer
        return {one["id"] for one in answer["nodes"]} - {node}

    def by_tool_paths(on: Asked, node: str, direction: str) -> set[str]:
        found = set()
        for other in on.datasets:
            if other != node:
                given = {"source": node, "target": other, "direction": direction, "budget": LARGEST}
                if run(call(ask, "paths", given)).get("length") is not None:
                    found.add(other)
        return found

    def by_tool_columns(on: Asked, node: str, direction: str) -> set[tuple[str, str]]:
        """Return the edges of columns that the tool lists beside a dataset, whose end in `direction` is another."""
        given = {"name": node, "direction": direction, "depth": 1, "budget": LARGEST}
        near, far = ("to", "from") if direction == "upstream" else ("from", "to")
        return {
            (f"{one['from']} {one.get('from_column')}", f"{one['to']} {one.get('to_column')}")
            for one in run(call(ask, "columns", given))["edges"]
            if one[near] == node and one[far] in on.datasets and one[far] != node
        }

    for walk in (by_ways_between, by_command, by_tool, by_tool_paths):
        assert pairs(walk, on, on.datasets) == (up, up), walk.__name__
    above, beneath = (
        {edge for node in on.datasets for edge in by_tool_columns(on, node, direction)}
        for direction in ("upstream", "downstream")
    )
    assert above == beneath
    for one, other in permutations(on.datasets, 2):
        assert are_joined_by_command(one, other) == bool({(one, other), (other, one)} & up)


def by_run(on: Asked, node: str, direction: str) -> set[str]:
    reply = on.client.get(f"/api/v2/runs/{node}/lineage", direction=direction, depth=50, max_nodes=10_000)
    return {one["id"].removeprefix("run:") for one in reply.json()["nodes"] if one["type"] == "RUN"} - {node}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_run_reaches_what_reaches_it(client: Client, seed: int) -> None:
    """A run reads what other runs wrote: by versions that are named, or by the time at which it began."""
    send(client, *every_kind(random.Random(seed)))
    runs = [one["id"] for one in client.get("/api/v2/runs", limit=1000).json()["runs"]]
    alone = [one for one in runs if not client.get("/api/v2/runs", parent=one).json()["runs"]]

    up, down = pairs(by_run, asked(client, None), alone)
    assert up == down


@pytest.mark.parametrize("seed", SEEDS)
def test_marquezs_graphs_are_the_same_from_both_ends(client: Client, seed: int) -> None:
    send(client, *every_kind(random.Random(seed)))
    on = asked(client, None)

    def graph_of(node: str) -> dict[str, set[str]]:
        graph = client.get("/api/v1/lineage", nodeId=node, depth=50).json()["graph"]
        outward = {(edge["origin"], edge["destination"]) for one in graph for edge in one["outEdges"]}
        assert outward == {(edge["origin"], edge["destination"]) for one in graph for edge in one["inEdges"]}
        ways: dict[str, set[str]] = {one["id"]: set() for one in graph}
        for origin, destination in outward:
            ways[origin].add(destination)
        return ways

    graphs = [graph_of(node) for node in on.datasets]
    for one, other in product(graphs, graphs):
        assert one == other or one.keys().isdisjoint(other.keys())
    everything = {node: ways for graph in graphs for node, ways in graph.items()}
    # Marquez has no explicit lineage: every input of a job feeds each of its outputs.
    for node in on.datasets:
        assert below(everything, node) >= by_lineage(on, node, "downstream") & {*on.datasets}
