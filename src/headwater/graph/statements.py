"""Jobs that are one statement of another, drawn as that other: a dbt model or a task is one job, as in the lists of jobs.

Pure, over an answer of `/api/v2/lineage` as JSON.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from headwater.model.statement_jobs import is_named_after


def find_parents(nodes: Iterable[Mapping[str, Any]], kept: Collection[str] = ()) -> dict[str, str]:
    """Return the job that each statement among these nodes stands below, by the statement's id; without those in `kept`."""
    return {
        node["id"]: node["parent"]
        for node in nodes
        if node["type"] == "JOB"
        and node["parent"]
        and node["id"] not in kept
        and is_named_after(node["id"], node["parent"])
    }


def fold_ways(ways: Iterable[Collection[str]], parents: Mapping[str, str]) -> list[list[str]]:
    """Return the ways over the jobs above their statements, each once: those that differ in statements alone are one."""
    folded = (tuple(parents.get(id_, id_) for id_ in way) for way in ways)
    return [list(way) for way in dict.fromkeys(folded)]


def fold_statements(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer with each statement's edges at the job above it, which is added if the answer lacks it; roots are not folded.

    Where edges become one, an edge that every run has stands for those that some have, with the `parts` and `claims` of all. A job that is added has
    the last run of the statement that ran last.
    """
    jobs = {node["id"]: node for node in answer["nodes"] if node["type"] == "JOB"}
    stands = find_parents(jobs.values(), answer["roots"])
    if not stands:
        return dict(answer)
    nodes = {node["id"]: node for node in answer["nodes"] if node["id"] not in stands}
    for id_ in sorted(stands, key=lambda id_: (jobs[id_]["last_run"] or {}).get("started_at") or "", reverse=True):
        parent = stands[id_]
        end = id_.removeprefix(parent)
        name, label = (jobs[id_][key].removesuffix(end) for key in ("name", "label"))
        nodes.setdefault(parent, jobs[id_] | {"id": parent, "name": name, "label": label, "parent": None})
    edges: dict[tuple[str, str], dict[str, Any]] = {}
    for edge in answer["edges"]:
        source, target = (stands.get(edge[end], edge[end]) for end in ("source", "target"))
        before = edges.get((source, target))
        if before is None:
            edges[source, target] = edge | {"source": source, "target": target}
            continue
        before["intermittent"] = bool(before.get("intermittent") and edge.get("intermittent"))
        for key in ("parts", "claims"):
            before[key] = [*before[key], *(one for one in edge[key] if one not in before[key])]
    columns = [edge | {"job": stands.get(edge["job"], edge["job"])} for edge in answer["column_edges"]]
    return dict(answer) | {"nodes": list(nodes.values()), "edges": list(edges.values()), "column_edges": columns}
