"""Check answers: one function for each shape of answer. Pure; each returns a judge for a `Question`.

An answer in an undocumented shape is `wrong_reply`, never an exception: the watcher must survive a broken server.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headwater.client.watch.expected import ColumnEdge, Name, Run, dataset_id, job_id, run_uuid
from headwater.client.watch.scene import Finding, Judge, Kind

Edge = tuple[str, str]


def _guarded(look: Callable[[Any], Iterator[Finding]]) -> Judge:
    def judge(answer: Any) -> list[Finding]:
        try:
            return list(look(answer))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            return [("wrong_reply", f"the answer is not of its documented shape: {type(error).__name__}: {error}")]

    return judge


def _sets(missing: Kind, extra: Kind, expected: set[Any], found: Sequence[Any]) -> Iterator[Finding]:
    for item in sorted(expected - set(found)):
        yield missing, f"{_words(item)} is missing"
    for item, count in sorted(Counter(found).items()):
        if item not in expected:
            yield extra, f"{_words(item)} should not exist"
        elif count > 1:
            yield extra, f"{_words(item)} is there {count} times"


def _words(item: Any) -> str:
    return " → ".join(map(str, item)) if isinstance(item, tuple) else str(item)


def lineage(root: str, edges: set[Edge]) -> Judge:
    """`/api/v2/lineage` has exactly these edges, and exactly the nodes they join."""

    def look(answer: Any) -> Iterator[Finding]:
        nodes = {node for edge in edges for node in edge} | {root}
        yield from _sets("missing_node", "extra_edge", nodes, [node["id"] for node in answer["nodes"]])
        found = [(edge["source"], edge["target"]) for edge in answer["edges"]]
        yield from _sets("missing_edge", "extra_edge", edges, found)
        if answer["hidden"]["nodes"]:
            yield "missing_node", f"{answer['hidden']['nodes']} nodes are hidden: {answer['hidden']['reason']}"

    return _guarded(look)


def connected(other: Name, direction: str) -> Judge:
    """The job `other` is on the way, under any present name of the dataset between."""

    def look(answer: Any) -> Iterator[Finding]:
        if job_id(other) not in {node["id"] for node in answer["nodes"]}:
            yield "unmerged_alias", f"{job_id(other)} is not {direction} of {answer['root']}"

    return _guarded(look)


def columns(edges: set[ColumnEdge]) -> Judge:
    """`/api/v2/lineage?columns=true` has exactly these column edges."""

    def look(answer: Any) -> Iterator[Finding]:
        wanted = {
            (dataset_id(edge.source), edge.source_field, dataset_id(edge.target), edge.target_field) for edge in edges
        }
        found = [
            (edge["source"], edge["source_field"] or "", edge["target"], edge["target_field"] or "")
            for edge in answer["column_edges"]
        ]
        yield from _sets("missing_column_edge", "extra_column_edge", wanted, found)

    return _guarded(look)


def marquez(edges: set[Edge]) -> Judge:
    """`/api/v1/lineage`: the whole connected graph; every edge is listed at both of its ends."""

    def look(answer: Any) -> Iterator[Finding]:
        nodes = {node for edge in edges for node in edge}
        yield from _sets("missing_node", "extra_edge", nodes, [node["id"] for node in answer["graph"]])
        for side in ("inEdges", "outEdges"):
            found = [(edge["origin"], edge["destination"]) for node in answer["graph"] for edge in node[side]]
            yield from _sets("missing_edge", "extra_edge", edges, found)

    return _guarded(look)


def run(text: str, expected: Run, *, datasets: bool = True) -> Judge:
    """`/api/v2/runs/{id}`: id, state, start, end, inputs and outputs. `datasets=False` if another check covers their names."""

    def look(answer: Any) -> Iterator[Finding]:
        if answer["id"] != run_uuid(text):
            yield "wrong_id", f"run {text} is {answer['id']}, not {run_uuid(text)}"
        if answer["id"] != text and answer["external_id"] != text:
            yield "wrong_id", f"run {text} has the external id {answer['external_id']!r}"
        if answer["job"] != job_id(expected.job):
            yield "wrong_id", f"run {text} is of {answer['job']}, not of {job_id(expected.job)}"
        if answer["state"] != expected.state:
            yield "wrong_state", f"run {text} is {answer['state']}, not {expected.state}"
        for key, wanted in (("started_at", expected.started), ("ended_at", expected.ended)):
            if moment(answer[key]) != wanted:
                yield "wrong_time", f"run {text}: {key} is {answer[key]}, not {wanted and wanted.isoformat()}"
        for key, names in (("inputs", expected.inputs), ("outputs", expected.outputs)) if datasets else ():
            told = [item["dataset"] for item in answer[key]]
            for _, words in _sets("wrong_datasets", "wrong_datasets", {dataset_id(name) for name in names}, told):
                yield "wrong_datasets", f"run {text}, {key}: {words}"

    return _guarded(look)


def runs(ids: set[str], total: int) -> Judge:
    """`/api/v2/runs` of a job: this many in all, and these among the latest, each once."""

    def look(answer: Any) -> Iterator[Finding]:
        told = Counter(item["id"] for item in answer["runs"])
        for id_ in sorted(map(run_uuid, ids)):
            if told[id_] == 0:
                yield "lost_run", f"run {id_} is not listed"
            elif told[id_] > 1:
                yield "doubled_run", f"run {id_} is listed {told[id_]} times"
        if answer["total"] != total:
            kind: Kind = "lost_run" if answer["total"] < total else "doubled_run"
            yield kind, f"the job has {answer['total']} runs, not {total}"

    return _guarded(look)


def runs_of_job(ids: set[str]) -> Judge:
    """A job's page lists these among its latest runs, each once."""

    def look(answer: Any) -> Iterator[Finding]:
        told = Counter(item["id"] for item in answer["runs"])
        for id_ in sorted(ids):
            if told[id_] != 1:
                yield "lost_run", f"run {id_} is listed {told[id_]} times at {answer['id']}"

    return _guarded(look)


def children(of: str, ids: set[str], effective: str) -> Judge:
    """A parent run has exactly these children, and a state no better than their worst."""

    def look(answer: Any) -> Iterator[Finding]:
        told = [item["id"] for item in answer["children"]]
        for _, words in _sets("wrong_family", "wrong_family", ids, told):
            yield "wrong_family", f"children of run {of}: {words}"
        for child in answer["children"]:
            if (child["parent"] or {}).get("run_id") != of:
                yield "wrong_family", f"run {child['id']} has parent {child['parent']}, not {of}"
        if answer["effective_state"] != effective:
            yield "wrong_state", f"run {of} is in effect {answer['effective_state']}, not {effective}"

    return _guarded(look)


Fields = Sequence[tuple[str, str]]


def schema(fields: Fields, *, version_run: str | None = None, changed: bool | None = None) -> Judge:
    """A dataset has these columns, in this order; its latest version is `version_run`'s, has them, too, and reports whether they changed."""

    def look(answer: Any) -> Iterator[Finding]:
        told = [(field["name"], field["type"]) for field in answer["fields"]]
        if told != list(fields):
            yield "stale_schema", f"{answer['id']} has columns {told}, not {list(fields)}"
        if version_run is None:
            return
        latest = answer["versions"][0]
        if latest["run_id"] != version_run:
            yield "wrong_versions", f"the latest version of {answer['id']} is by {latest['run_id']}, not {version_run}"
        elif [(field["name"], field["type"]) for field in latest["fields"]] != list(fields):
            yield "stale_schema", f"the latest version of {answer['id']} has columns {latest['fields']}"
        elif changed is not None and latest["schema_changed"] is not changed:
            yield "stale_schema", f"the latest version of {answer['id']} says schema_changed={latest['schema_changed']}"

    return _guarded(look)


def versions(count: int) -> Judge:
    """A dataset has this many versions: one for each run that wrote it."""

    def look(answer: Any) -> Iterator[Finding]:
        if answer["version_count"] != count:
            yield "wrong_versions", f"{answer['id']} has {answer['version_count']} versions, not {count}"

    return _guarded(look)


def judge_search(ids: set[str]) -> Judge:
    """Search lists these, each once."""

    def look(answer: Any) -> Iterator[Finding]:
        told = Counter(item["id"] for item in answer["results"])
        for id_ in sorted(ids):
            if told[id_] != 1:
                yield "not_searchable", f"{id_} is found {told[id_]} times"

    return _guarded(look)


def total(key: str, ids: set[str]) -> Judge:
    """A list has exactly these nodes, and counts them."""

    def look(answer: Any) -> Iterator[Finding]:
        told = [item["id"] for item in answer[key]]
        for _, words in _sets("wrong_total", "wrong_total", ids, told):
            yield "wrong_total", f"{key}: {words}"
        if answer["total"] != len(ids):
            yield "wrong_total", f"{answer['total']} {key} are counted, not {len(ids)}"

    return _guarded(look)


def moment(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)
