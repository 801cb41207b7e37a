"""Sequences of events as producers send them (tests/cases/producers): their tables and columns are told from both ends, in both APIs, in any order."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.events import RUN, facet
from tests.fixtures.app import Client

CASES = Path(__file__).parents[2] / "cases/producers"
NAMESPACES: dict[str, str] = yaml.safe_load((CASES / "namespaces.yaml").read_text(encoding="utf-8"))
FILES = sorted(path for path in CASES.glob("*.yaml") if path.name != "namespaces.yaml")
ALL = [(path.stem, case) for path in FILES for case in yaml.safe_load(path.read_text(encoding="utf-8"))]
_COLUMNS = re.compile(r"\((.*)\)$")
Edges = set[tuple[str, str]]
# Marquez has one word for a transformation: these are of columns that decide about rows.
_OF_ROWS = frozenset({"INDIRECT", "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"})


def name_of(text: str) -> dict[str, str]:
    namespace, _, name = text.partition("!")
    return {"namespace": NAMESPACES.get(namespace, namespace), "name": name}


def facets_of(told: dict[str, Any]) -> dict[str, Any]:
    return {key: facet(**body) for key, body in told.items()}


def column(text: str) -> dict[str, str]:
    dataset, _, field = text.rpartition(":")
    return {**name_of(dataset), "field": field}


def report(told: str | dict[str, Any], io_facets: str) -> dict[str, Any]:
    given: dict[str, Any] = {"of": told} if isinstance(told, str) else told
    facets = facets_of(given.get("facets", {}))
    if fields := _COLUMNS.search(given["of"]):
        facets["schema"] = facet(fields=[{"name": one.strip(), "type": "string"} for one in fields[1].split(",")])
    lineage = {name: [column(one) for one in some] for name, some in given.get("from", {}).items()}
    if lineage:
        whole = lineage.pop("", None)
        fields_of = {name: {"inputFields": inputs} for name, inputs in lineage.items()}
        facets["columnLineage"] = facet(fields=fields_of, **({"dataset": whole} if whole else {}))
    io = {io_facets: facets_of(given["io"])} if "io" in given else {}
    return {**name_of(_COLUMNS.sub("", given["of"])), "facets": facets, **io}


def event(told: dict[str, Any]) -> dict[str, Any]:
    at = told.get("at", 0)
    made: dict[str, Any] = {"eventTime": f"2026-03-{1 + at // 1440:02}T{at // 60 % 24:02}:{at % 60:02}:00Z", "producer": "https://p.test"}  # fmt: skip
    if "dataset" in told:
        return made | {"dataset": report(told["dataset"], "inputFacets")}
    made["job"] = {**name_of(told["job"]), "facets": facets_of(told.get("job_facets", {}))}
    if "run" in told:
        made["run"] = {"runId": RUN.format(told["run"]), "facets": facets_of(told.get("run_facets", {}))}
        made["eventType"] = told.get("type", "COMPLETE")
    for side, key in (("in", "inputs"), ("out", "outputs")):
        made[key] = [report(one, key[:-1] + "Facets") for one in told.get(side, ())]
    return made


def with_parents(run_facets: dict[str, Any]) -> dict[str, Any]:
    """Return run facets in which `parent: [run, namespace!job]` is a parent facet."""
    if not isinstance(parent := run_facets.get("parent"), list):
        return run_facets
    return run_facets | {"parent": {"run": {"runId": RUN.format(parent[0])}, "job": name_of(parent[1])}}


def node(text: str) -> str:
    name = name_of(text)
    return f"dataset:{name['namespace']}:{name['name']}"


def tables_of(told: list[str]) -> Edges:
    return {tuple(node(one) for one in edge.split(" -> ")) for edge in told}  # type: ignore[misc]


def expected(case: dict[str, Any]) -> tuple[Edges, Edges]:
    tables = tables_of(case.get("tables", []))
    columns = {
        tuple(f"{node(one.rpartition(':')[0])}:{one.rpartition(':')[2]}" for one in edge.split(" -> "))
        for edge in case.get("columns", ())
    }
    return tables, columns  # type: ignore[return-value]


def told_by_v2(client: Client, name: str, direction: str) -> tuple[Edges, Edges]:
    reply = client.get("/api/v2/lineage", node=name, direction=direction, depth=1, columns="true")
    if reply.status_code == 404:
        return set(), set()
    answer = reply.json()
    jobs: dict[str, tuple[set[str], set[str]]] = {}
    tables: Edges = set()
    for edge in answer["edges"]:
        source, target = edge["source"], edge["target"]
        if source.startswith("dataset:") and target.startswith("dataset:"):
            tables.add((source, target))
        elif source.startswith("dataset:"):
            jobs.setdefault(target, (set(), set()))[0].add(source)
        else:
            jobs.setdefault(source, (set(), set()))[1].add(target)
    tables |= {(s, t) for sources, targets in jobs.values() for s in sources for t in targets if name in (s, t)}
    columns = {
        (f"{e['source']}:{e['source_field']}", f"{e['target']}:{e['target_field']}")
        for e in answer["column_edges"]
        if e["source_field"] and e["target_field"] and e["source"] != e["target"]
        if not e["transformations"] or any(one["type"] == "DIRECT" for one in e["transformations"])
    }
    return {(s, t) for s, t in tables if s != t}, columns


def told_by_v1(client: Client, name: str) -> tuple[Edges, Edges]:
    graph = client.get("/api/v1/lineage", nodeId=name, depth=1).json().get("graph", [])
    tables = {
        (into["origin"], out["destination"])
        for one in graph
        if one["type"] == "JOB"
        for into in one["inEdges"]
        for out in one["outEdges"]
        if into["origin"] != out["destination"] and name in (into["origin"], out["destination"])
    }
    fields = client.get("/api/v1/column-lineage", nodeId=name, depth=1, withDownstream="true").json().get("graph", [])
    columns = {
        (f"dataset:{i['namespace']}:{i['dataset']}:{i['field']}", one["id"].replace("datasetField:", "dataset:", 1))
        for one in fields
        for i in one["data"]["inputFields"]
        if i["transformationType"] not in _OF_ROWS
    }
    return tables, {(s, t) for s, t in columns if s.rpartition(":")[0] != t.rpartition(":")[0]}


def shown(edges: Edges) -> list[str]:
    short = {f"dataset:{namespace}:": f"{name}!" for name, namespace in NAMESPACES.items()}

    def words(one: str) -> str:
        return next((one.replace(long, name, 1) for long, name in short.items() if one.startswith(long)), one)

    return sorted(f"{words(source)} -> {words(target)}" for source, target in edges)


@pytest.mark.parametrize("seed", [None, 1], ids=["in order", "shuffled and repeated"])
@pytest.mark.parametrize("case", [case for _, case in ALL], ids=[f"{file}-{case['id']}" for file, case in ALL])
def test_edges_of_a_producer_are_told_from_both_ends(client: Client, case: dict[str, Any], seed: int | None) -> None:
    told = [event({**one, "run_facets": with_parents(one.get("run_facets", {}))}) for one in case["events"]]
    if seed is not None:
        draw = random.Random(seed)
        told = [*told, *draw.sample(told, draw.randint(0, len(told)))]
        draw.shuffle(told)
    reply = client.post("/api/v1/lineage/batch", json.dumps(told).encode()).json()
    warnings = {warning["code"] for one in reply["receipts"] for warning in one["warnings"]}
    assert (reply["status"], warnings) == ("success", set(case.get("warnings", ()))), reply["receipts"]
    tables, columns = expected(case)
    ends = {end for edge in tables for end in edge} | {end.rpartition(":")[0] for edge in columns for end in edge}
    ends |= {node(one) for one in case.get("datasets", ())}
    up, down = [(set(), set()), (set(), set())]  # type: ignore[var-annotated]
    v1: tuple[Edges, Edges] = set(), set()
    for name in ends:
        for found, kind in ((told_by_v2(client, name, "upstream"), up), (told_by_v2(client, name, "downstream"), down), (told_by_v1(client, name), v1)):  # fmt: skip
            for place, some in enumerate(found):
                kind[place].update(some)
    for kind, wanted, which in ((0, tables, "tables"), (1, columns, "columns")):
        assert shown(up[kind]) == shown(wanted), f"{which} upstream, v2"
        assert shown(down[kind]) == shown(wanted), f"{which} downstream, v2"
        there = tables_of(case["in_v1"]) if which == "tables" and "in_v1" in case else wanted
        assert shown(v1[kind]) == shown(there), f"{which}, v1"
