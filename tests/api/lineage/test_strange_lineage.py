"""Small situations with every reachable pair of datasets worked out by hand, in several orders of arrival, and from both ends in each API."""

import random
from typing import Any

import pytest
from tests.api.lineage.test_both_ends import send
from tests.api.lineage.test_both_ends_everywhere import (
    Asked,
    asked,
    by_command,
    by_lineage,
    by_lineage_in_sql,
    by_paths,
    commands,
    pairs,
)
from tests.events import columns, dataset, facet, parent, run_event
from tests.fixtures.app import Client

from headwater.mcp.budget import LARGEST
from headwater.mcp.tools import call

__all__ = ["commands"]
Event = dict[str, Any]
IDENTITY = "DIRECT:IDENTITY"
WAREHOUSE = "postgres://db:5432"
STRANGE = [
    "/a b",
    "/quo'te\"",
    "/a:b:c",
    "s3://x/y",
    "/100%2F",
    "/日本/ü",
    "/h#q?k=v&w",
    "/../..",
    "/tab\tnew",
    "/x@2024-01-01",
]


def source(text: str) -> Event:
    """Return the input of an entry: `/a`, `/a.x` (a column), `job` (the event's own) or `job:NAME`."""
    if text.startswith("job"):
        named = {"namespace": "test", "name": text[4:]} if text[4:] else {}
        return {"type": "JOB", **named}
    name, _, field = text.partition(".")
    return {"type": "DATASET", "namespace": "file", "name": name, **({"field": field} if field else {})}


def entry(target: str, *inputs: str, **fields: list[str]) -> Event:
    told: Event = {**source(target), "inputs": [source(one) for one in inputs]}
    if fields:
        told["fields"] = {name: {"inputs": [source(one) for one in some]} for name, some in fields.items()}
    if fields and not inputs:
        del told["inputs"]
    return told


def explicit(*entries: Any) -> Event:
    return {"lineage": facet(entries=list(entries))}


def ran(run: int, job: str, inputs: list[Any], outputs: list[Any], *entries: Any, day: int = 0, state: str = "COMPLETE", **more: Any) -> Event:  # fmt: skip
    job_facets = {**(explicit(*entries) if entries else {}), **more.pop("job_facets", {})}
    at = f"2026-01-{day or run:02}T00:00:00Z"
    return run_event(state, run, job, inputs, outputs, at=at, job_facets=job_facets, **more)


def declared(day: int, job: str, inputs: list[Any], outputs: list[Any], *entries: Any, **more: Any) -> Event:
    event = ran(day, job, inputs, outputs, *entries, **more)
    del event["run"], event["eventType"]
    return event


def described(day: int, name: str, **facets: Any) -> Event:
    return {"eventTime": f"2026-01-{day:02}T00:00:00Z", "producer": "p", "dataset": dataset(name, **facets)}


def renamed(day: int, old: str, new: str) -> Event:
    before = {"namespace": "file", "name": old}
    return described(day, new, lifecycleStateChange=facet(lifecycleStateChange="RENAME", previousIdentifier=before))


def linked(day: int, name: str, *others: str) -> Event:
    other = [{"namespace": "file", "name": one, "type": "TABLE"} for one in others]
    return described(day, name, symlinks=facet(identifiers=other))


def queried(run: int, job: str, query: str, **more: Any) -> Event:
    external = {"externalQuery": facet(externalQueryId="1", source=WAREHOUSE)}
    return ran(
        run, job, [], [], job_facets={"sql": facet(query=query, dialect="postgres")}, run_facets=external, **more
    )


def read_of(name: str, **facets: Any) -> Event:
    return {"namespace": "file", "name": name, "facets": {}, "inputFacets": facets}


def chain(names: list[str], job: str = "step {}") -> list[Event]:
    return [ran(n + 1, job.format(n), [names[n]], [names[n + 1]]) for n in range(len(names) - 1)]


def above(names: list[str]) -> list[str]:
    return [f"{one}>{other}" for n, one in enumerate(names) for other in names[n + 1 :]]


FROM_A = columns({"x": [("/a", "x", IDENTITY)]})

CASES: dict[str, tuple[list[Event], list[str]]] = {
    "a dataset from a dataset": ([ran(1, "j", ["/a", "/b"], ["/c", "/d"], entry("/c", "/a"))], ["/a>/c", "/b>/d"]),
    "a dataset from a column": ([ran(1, "j", ["/a"], ["/c"], entry("/c", "/a.x"))], ["/a>/c"]),
    "a column from a column": ([ran(1, "j", ["/a", "/b"], ["/c"], entry("/c", x=["/a.x"]))], ["/a>/c"]),
    "a column from a dataset": ([ran(1, "j", ["/b"], ["/c"], entry("/c", x=["/a"]))], ["/a>/c"]),
    "its own job made it": ([ran(1, "j", ["/a"], ["/c"], entry("/c", "job"), entry("job", "/a"))], []),
    "its own job made it, by name": ([ran(1, "j", ["/a"], ["/c"], entry("/c", "job:j"), entry("job:j", "/a"))], []),
    "from another job": ([ran(1, "o", ["/a"], ["/b"]), ran(2, "j", [], ["/c"], entry("/c", "job:o"))], ["/a>/b", "/a>/c"]),
    "another job reads": ([ran(1, "p", [], [], entry("job:o", "/a"), entry("/c", "job:o"))], ["/a>/c"]),
    "a job from a job": ([ran(1, "s", ["/a"], []), ran(2, "t", [], ["/b"]), ran(3, "p", [], [], entry("job:t", "job:s"))], ["/a>/b"]),
    "a dataset and a job": ([ran(1, "o", ["/z"], []), ran(2, "j", ["/a"], ["/c"], entry("/c", "/a", "job:o"))], ["/a>/c", "/z>/c"]),
    "no upstream": ([ran(1, "j", ["/a"], ["/c"], {**source("/c"), "inputs": []})], []),
    "split over a run": ([ran(1, "j", ["/a", "/b"], ["/c", "/d"], entry("/c", "/a"), state="START"), ran(1, "j", [], [], entry("/d", "/b"), day=2)], ["/a>/c", "/b>/d"]),
    "a target split over a run": ([ran(1, "j", [], [], entry("/c", "/a"), state="START"), ran(1, "j", [], [], entry("/c", "/b"), day=2)], ["/a>/c", "/b>/c"]),
    "a declaration is replaced": ([declared(1, "j", [], [], entry("/c", "/a")), declared(2, "j", [], [], entry("/c", "/b"))], ["/b>/c"]),
    "a dataset's is replaced": ([described(1, "/c", lineage=facet(inputs=[source("/a")])), described(2, "/c", lineage=facet(inputs=[source("/b")]))], ["/b>/c"]),
    "a dataset's columns": ([described(1, "/c", lineage=facet(fields={"x": {"inputs": [source("/a.y")]}}))], ["/a>/c"]),
    "a dataset from itself": ([described(1, "/c", lineage=facet(inputs=[source("/c"), source("/a")]))], ["/a>/c"]),
    "a dataset from a job": ([ran(1, "o", ["/a"], []), described(2, "/c", lineage=facet(inputs=[source("job:o")]))], ["/a>/c"]),
    "a run and a declaration": ([ran(1, "j", [], [], entry("/c", "/a")), declared(2, "j", [], [], entry("/c", "/b"))], ["/a>/c", "/b>/c"]),
    "over column lineage": ([ran(1, "j", ["/a", "/b"], [dataset("/c", **FROM_A)], entry("/c", "/b"))], ["/b>/c"]),
    "one run without it": ([ran(1, "j", ["/a", "/b"], ["/c"], entry("/c", "/a")), ran(2, "j", ["/a", "/b"], ["/c"])], ["/a>/c", "/b>/c"]),
    "odd entries of a run that lists nothing": ([ran(1, "j", [], [], 5, {}, entry("/c", "/a"), {"type": "DATASET", "namespace": "file"})], ["/a>/c"]),
    "odd inputs of a run that lists nothing": ([ran(1, "j", [], [], {**source("/c"), "inputs": [None, 3, source("/a"), {"type": "DATASET"}]})], ["/a>/c"]),
    "inputs of which none is right": ([ran(1, "j", ["/a"], ["/c"], {**source("/c"), "inputs": [None, {"type": "DATASET"}]}, entry("/d", "/b"))], ["/a>/c", "/b>/d"]),
    "an odd column beside": ([ran(1, "j", [], [], {**entry("/c", x=["/a.x"]), "fields": {**entry("/c", x=["/a.x"])["fields"], "y": 7}}, entry("/d", "/b"))], ["/a>/c", "/b>/d"]),
    "half a job's name": ([ran(1, "o", ["/z"], []), ran(2, "j", ["/a"], ["/c"], {**source("/c"), "inputs": [{"type": "JOB", "name": "o"}, source("/a")]})], ["/a>/c"]),
    "an odd input of a dataset's": ([described(1, "/c", lineage=facet(inputs=[7, source("/a")]))], ["/a>/c"]),
    "odd entries beside": ([ran(1, "j", ["/a"], ["/c"], 5, None, [], {}, entry("/c", "/a"), {"type": "DATASET", "namespace": "file"})], ["/a>/c"]),
    "fields of null": ([ran(1, "j", [], [], {**entry("/c", "/a"), "fields": None})], ["/a>/c"]),
    "odd inputs beside": ([ran(1, "j", ["/a"], ["/c"], {**source("/c"), "inputs": [None, 3, source("/a"), {"type": "DATASET"}]})], ["/a>/c"]),
    "transformations of null": ([ran(1, "j", [], [], {**source("/c"), "inputs": [{**source("/a.x"), "transformations": None}]})], ["/a>/c"]),
    "an odd transformation": ([ran(1, "j", ["/a"], ["/c"], {**source("/c"), "inputs": [{**source("/a.x"), "transformations": [{"type": 5, "subtype": []}]}]})], ["/a>/c"]),
    "entries of another type": ([ran(1, "j", ["/a"], ["/c"], job_facets={"lineage": facet(entries="x")})], ["/a>/c"]),
    "entries of null": ([ran(1, "j", ["/a"], ["/c"], job_facets={"lineage": facet(entries=None)})], ["/a>/c"]),
    "the facet is null": ([ran(1, "j", ["/a"], ["/c"], job_facets={"lineage": None})], ["/a>/c"]),
    "jobs in an order": ([ran(1, "s", [], ["/a"]), ran(2, "t", ["/b"], ["/c"], run_facets={"jobDependencies": facet(upstream=[{"job": {"namespace": "test", "name": "s"}}])})], ["/b>/c"]),
    "odd dependencies": ([ran(1, "t", ["/b"], ["/c"], run_facets={"jobDependencies": facet(upstream=[None, {"job": 5}, {"job": {"name": "s"}}], downstream="x")})], ["/b>/c"]),
    "a chain of renames": ([ran(1, "w", ["/x"], ["/r1"]), renamed(2, "/r1", "/r2"), renamed(3, "/r2", "/r3"), ran(4, "r", ["/r3"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "renamed there and back": ([ran(1, "w", ["/x"], ["/r1"]), renamed(2, "/r1", "/r2"), renamed(3, "/r2", "/r1"), ran(4, "r", ["/r2"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "renamed to itself": ([ran(1, "w", ["/x"], ["/r1"]), renamed(2, "/r1", "/r1"), ran(4, "r", ["/r1"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "a circle of renames": ([ran(1, "w", ["/x"], ["/r1"]), renamed(2, "/r1", "/r2"), renamed(3, "/r2", "/r3"), renamed(4, "/r3", "/r1"), ran(5, "r", ["/r2"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "a rename with a link": ([ran(1, "w", ["/x"], ["/r1"]), renamed(2, "/r1", "/r2"), linked(3, "/r3", "/r2"), ran(4, "r", ["/r3"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "odd renames": ([ran(1, "w", ["/x"], [dataset("/y", lifecycleStateChange=facet(lifecycleStateChange="RENAME", previousIdentifier=one)) for one in (None, 5, {"name": "/q"})])], ["/x>/y"]),
    "links both ways": ([ran(1, "w", ["/x"], ["/r1"]), linked(2, "/r1", "/r2"), linked(3, "/r2", "/r1"), ran(4, "r", ["/r2"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "an odd link beside": ([ran(1, "w", ["/x"], ["/r1"]), described(2, "/r1", symlinks=facet(identifiers=[None, {"namespace": "file", "name": "/r2", "type": 5}, {"name": "/q"}])), ran(4, "r", ["/r2"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "linked to itself": ([ran(1, "w", ["/x"], ["/r1"]), linked(2, "/r1", "/r1"), ran(4, "r", ["/r1"], ["/y"])], ["/x>/y", "/x>/r", "/r>/y"]),
    "a merge": ([queried(1, "m", "merge into db.public.t using db.public.s on t.id = s.id when matched then update set v = s.v")], ["db.public.s>db.public.t"]),
    "a merge of a query": ([queried(1, "m", "merge into db.public.t using (select id, max(v) v from db.public.s where v > 1 group by id) q on t.id = q.id when not matched then insert (id, v) values (q.id, q.v)")], ["db.public.s>db.public.t"]),
    "an update from": ([queried(1, "m", "update db.public.t set v = s.v from db.public.s where s.id = t.id")], ["db.public.s>db.public.t"]),
    "a delete by": ([queried(1, "m", "delete from db.public.t using db.public.s where s.id = t.id")], ["db.public.s>db.public.t"]),
    "a script through a temporary table": ([queried(1, "m", "create temp table q as select * from db.public.s; insert into db.public.t select * from q; drop table q")], ["db.public.s>db.public.t"]),
    "quoted names in SQL": ([queried(1, "m", 'insert into db.public."T x" select * from db.public."S.y"')], ['db.public.S.y>db.public.T x']),
    "in turns": ([ran(n, "j", [("/a", "/b")[n % 2]], ["/c"]) for n in range(1, 7)], ["/a>/c", "/b>/c"]),
    "another input since": ([ran(1, "j", ["/a"], ["/c"]), ran(2, "j", ["/b"], ["/c"])], ["/b>/c"]),
    "a failed run": ([ran(1, "j", ["/a"], ["/c"]), ran(2, "j", ["/b"], ["/c"], state="FAIL")], ["/a>/c", "/b>/c"]),
    "an aborted run alone": ([ran(1, "j", ["/a"], ["/c"], state="ABORT")], ["/a>/c"]),
    "of no type": ([ran(1, "j", ["/a"], ["/c"]) | {"eventType": None}], ["/a>/c"]),
    "inputs at the start alone": ([ran(1, "j", ["/a"], [], state="START"), ran(1, "j", [], ["/c"], day=2)], ["/a>/c"]),
    "one run id, two jobs": ([ran(1, "j", ["/a"], ["/b"]), ran(1, "k", ["/c"], ["/d"])], ["/a>/b", "/c>/d"]),
    "a run id that is none": ([ran(1, "j", ["/a"], ["/c"]) | {"run": {"runId": "run '1'"}}], ["/a>/c"]),
    "its own parent": ([ran(1, "j", ["/a"], ["/c"], run_facets=parent(1, "j"))], ["/a>/c"]),
    "parents in a circle": ([ran(1, "j", ["/a"], ["/b"], run_facets=parent(2, "k")), ran(2, "k", ["/b"], ["/c"], run_facets=parent(1, "j"))], ["/a>/b", "/a>/c", "/b>/c"]),
    "siblings read and write": ([ran(1, "p.r", ["/a"], [], run_facets=parent(9, "p")), ran(2, "p.w", [], ["/c"], run_facets=parent(9, "p"))], []),
    "columns of what is not listed": ([ran(1, "j", [], [dataset("/c", **FROM_A)])], ["/a>/c"]),
    "columns of one input": ([ran(1, "j", ["/a", "/b"], [dataset("/c", **FROM_A)])], ["/a>/c", "/b>/c"]),
    "rows of what is not listed": ([ran(1, "j", [], [dataset("/c", **columns({}, [("/a", "x", "INDIRECT:FILTER")]))])], ["/a>/c"]),
    "odd columns beside": ([ran(1, "j", ["/b"], [dataset("/c", columnLineage=facet(fields={"x": {"inputFields": [None, 4, {"namespace": "file", "name": "/a", "field": "x"}]}, "y": 7, "z": {"inputFields": None}}))])], ["/b>/c", "/a>/c"]),
    "facets of null": ([ran(1, "j", [dataset("/a", schema=None, symlinks=None)], [dataset("/c", columnLineage=None, ownership=None, tags=None)])], ["/a>/c"]),
    "facets of other types": ([ran(1, "j", [dataset("/a", schema=[], symlinks="x", tags=facet(tags=[None, 5, {"key": None}]))], [dataset("/c", columnLineage="x", hierarchy=7, catalog=[], storage="s", datasetType=3)])], ["/a>/c"]),
    "run facets of other types": ([ran(1, "j", ["/a"], ["/c"], run_facets={name: value for name in ("tags", "parent", "nominalTime", "externalQuery", "errorMessage", "extractionError", "test", "environmentVariables", "processing_engine") for value in ([7],)})], ["/a>/c"]),
    "odd tags of a run": ([ran(1, "j", ["/a"], ["/c"], run_facets={"tags": facet(tags=[{"key": "k", "value": None}, {"key": 5, "value": True}, None, {"key": "日本", "value": "x" * 5000}])})], ["/a>/c"]),
    "odd severities": ([ran(1, "j", [read_of("/a", dataQualityAssertions=facet(assertions=[{"assertion": "u", "success": one, "severity": two} for one in (True, False, "true", None) for two in ("BLOCKER", 5, None, "warn")]))], ["/c"])], ["/a>/c"]),
    "subsets of every kind": ([ran(1, "j", [read_of("/a", subset=facet(inputCondition=one)) for one in ({"type": "binary", "left": {"type": "compare", "left": "x", "right": 5, "comparison": "EQUAL"}, "right": {"type": "odd"}, "operator": "AND"}, {"type": "partition", "partitions": [{"dimensions": {"d": None}}]}, {"type": "location", "locations": [None, "/a/b"]}, "x", None)], ["/c"])], ["/a>/c"]),
    "a long text": ([ran(1, "j", [dataset("/a", documentation=facet(description="x" * 300_000))], ["/c"])], ["/a>/c"]),
    "partitions of one table": ([ran(1, "w", ["/x"], ["/t/day=2026-01-01"]), ran(2, "r", ["/t/day=2026-01-02"], ["/y"])], ["/x>/y", "/x>/t", "/t>/y"]),
    "strange names of datasets": (chain(STRANGE), above(STRANGE)),
    "strange names of jobs": ([ran(n + 1, f"j{one}", [f"/n{n}"], [f"/n{n + 1}"]) for n, one in enumerate(STRANGE)], above([f"/n{n}" for n in range(len(STRANGE) + 1)])),
    "reads what it writes": ([ran(1, "j", ["/a", "/c"], ["/c"])], ["/a>/c"]),
    "a circle of jobs": ([ran(1, "j", ["/a"], ["/b"]), ran(2, "k", ["/b"], ["/a"])], ["/a>/b", "/b>/a"]),
    "a zone-less time": ([ran(1, "j", ["/a"], ["/c"]) | {"eventTime": "2026-01-01T00:00:00.123456789"}], ["/a>/c"]),
}  # fmt: skip


def shown(node: str) -> str:
    """Return a dataset's name; of one that has several, /r."""
    name = node.removeprefix("dataset:").partition(":" if "5432" not in node else ":5432:")[2]
    return "/r" if name in {"/r1", "/r2", "/r3"} else name


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("name", CASES)
def test_a_situation_is_the_same_from_both_ends(client: Client, name: str, order: int, run: Any) -> None:
    events, expected = CASES[name]
    arriving = list(events) if order == 0 else list(reversed(events)) if order == 1 else [*events, *events]
    if order == 2:
        random.Random(name).shuffle(arriving)
    for event in arriving:
        send(client, event)
    on = asked(client, None)

    async def ask(path: str, params: Any) -> bytes:
        given = {key: value for key, value in params.items() if value is not None}
        return (await client._http.get(path, params=given)).content

    def by_tool(on: Asked, node: str, direction: str) -> set[str]:
        answer = run(call(ask, "lineage", {"name": node, "direction": direction, "depth": 50, "budget": LARGEST}))
        return {one["id"] for one in answer["nodes"]} - {node}

    walks = [by_lineage] if order else [by_lineage, by_lineage_in_sql, by_paths, by_command, by_tool]
    for walk in walks:
        up, down = pairs(walk, on, on.datasets)
        assert up == down, walk.__name__
        between = {(shown(a), shown(b)) for a, b in up}
        assert sorted(f"{a}>{b}" for a, b in between - {("/r", "/r")}) == sorted(expected), walk.__name__
