"""The stories: each is one way in which lineage reaches a server, with questions that must then have known answers.

A story is played in rounds in one slot, under names of that slot only. Rounds differ in runs and times, never in which job reads what, so
an answer does not depend on the number of runs behind an edge.
"""

import datetime as dt
import random
import uuid
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from headwater.client import event
from headwater.client.watch import judges
from headwater.client.watch.expected import Alias, ColumnEdge, Draft, Name, dataset_id, job_id, run_uuid
from headwater.client.watch.scene import Check, Question

DEPTH = 50


class Stage(msgspec.Struct, frozen=True):
    """The slot and time of a round. `first` and `previous`: the times of the slot's first and latest earlier round."""

    namespace: str
    prefix: str
    round: int
    at: dt.datetime
    first: dt.datetime
    previous: dt.datetime | None

    def table(self, word: str) -> Name:
        return self.namespace, f"{self.prefix}/{word}"

    def job(self, word: str) -> Name:
        return self.namespace, f"{self.prefix}.{word}"

    def path(self, word: str) -> Name:
        return f"file://{self.namespace}", f"/{self.prefix}/{word}"

    def run_id(self, word: str, round: int | None = None) -> str:
        """Return the run id of this word in this (or that) round: derived, so a repetition is the same run."""
        number = self.round if round is None else round
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.namespace}/{self.prefix}/{word}/{number}"))


Story = Callable[[Stage, random.Random, Draft], list[Question]]


def pipeline(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """Jobs in layers; inputs reported at START, outputs at COMPLETE."""
    shape = random.Random(stage.prefix)  # noqa: S311 - the same graph in every round
    layers = [[stage.table(f"raw-{i}") for i in range(shape.randint(1, 3))]]
    for number in range(shape.randint(2, 3)):
        job, run = stage.job(f"step-{number}"), stage.run_id(f"step-{number}")
        made = [stage.table(f"layer-{number}-{i}") for i in range(shape.randint(1, 2))]
        sources = shape.sample(layers[-1], shape.randint(1, len(layers[-1])))
        begin = 100 * number
        draft.run("START", run, job, begin, inputs=sources)
        for beat in range(rng.randint(0, 2)):
            draft.run("RUNNING", run, job, begin + 10 + beat)
        draft.run("COMPLETE", run, job, begin + 90, outputs=made)
        layers.append(made)
    questions = [*_runs(stage, draft, "runs"), *_listed(stage, draft, stage.round + 1)]
    for dataset in sorted(draft.datasets):
        questions += _lineage(draft, dataset, "lineage")
    for dataset in sorted({dataset for _, dataset in draft.writes}):
        questions.append(Question("versions", _dataset(dataset), {}, judges.versions(stage.round + 1)))
    questions += _totals(stage, draft)
    component = _component(draft, layers[-1][0])
    questions.append(
        Question(
            "marquez",
            "/api/v1/lineage",
            {"nodeId": dataset_id(layers[-1][0]), "depth": 20},
            judges.marquez(component),
        )
    )
    sought = {dataset_id(name) for name in draft.datasets}
    questions.append(
        Question("search", "/api/v2/search", {"q": f"{stage.prefix}/", "limit": 100}, judges.judge_search(sought))
    )
    return questions


def disorder(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """One job, many runs: contradictory states, ends before starts, runs with a single event."""
    job, source, target = stage.job("churn"), stage.table("in"), stage.table("out")
    plots = (
        ("START", "RUNNING", "COMPLETE"),
        ("START", "FAIL", "COMPLETE"),
        ("START", "COMPLETE", "ABORT"),
        ("COMPLETE",),
        ("START",),
        ("OTHER", "COMPLETE", "START"),
        ("FAIL", "RUNNING", "START"),
    )
    told = rng.sample(plots, 4)
    for number, plot in enumerate(told):
        for step, type_ in enumerate(plot):
            draft.run(
                type_, stage.run_id(f"run-{number}"), job, 100 * number + 10 * step, inputs=[source], outputs=[target]
            )
    return [*_runs(stage, draft, "order"), *_listed(stage, draft, 4 * (stage.round + 1), "order")]


def schemas(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """A table whose columns change from round to round, with its history."""
    job, run, table = stage.job("load"), stage.run_id("load"), stage.table("events")

    def fields(round: int) -> list[tuple[str, str]]:
        return [
            ("id", "bigint" if round % 3 else "int"),
            ("at", "timestamp"),
            *((f"value_{i}", "double") for i in range(round % 4)),
        ]

    now = fields(stage.round)
    facet = event.schema({"name": name, "type": kind} for name, kind in now)
    draft.run("START", run, job, 0, inputs=[stage.table("feed")])
    draft.run("COMPLETE", run, job, 500, outputs=[table], facets={table: {"schema": facet}})
    changed = None if stage.round == 0 else now != fields(stage.round - 1)
    questions = [
        *_runs(stage, draft, "runs"),
        Question("schema", _dataset(table), {}, judges.schema(now, version_run=run, changed=changed)),
        Question("versions", _dataset(table), {}, judges.versions(stage.round + 1)),
    ]
    if stage.previous is not None:
        then: dict[str, object] = {"as_of": event.timestamp(stage.previous + dt.timedelta(milliseconds=900))}
        questions += [
            Question("schema", _dataset(table), then, judges.schema(fields(stage.round - 1))),
            Question("versions", _dataset(table), then, judges.versions(stage.round)),
        ]
    return questions


def columns(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """Three tables in a row, with column lineage."""
    tables = [stage.table(word) for word in ("orders", "cleaned", "report")]
    shape = random.Random(stage.prefix)  # noqa: S311 - the same columns in every round
    names = ["a", "b", "c"]
    for source, target, word in zip(tables, tables[1:], ("clean", "sum"), strict=False):
        fed = {name: sorted(shape.sample(names, shape.randint(1, 2))) for name in names}
        facet = event.facet(
            "ColumnLineageDatasetFacet",
            fields={
                name: {
                    "inputFields": [
                        {
                            "namespace": source[0],
                            "name": source[1],
                            "field": field,
                            "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION"}],
                        }
                        for field in fields
                    ]
                }
                for name, fields in fed.items()
            },
        )
        run, job = stage.run_id(word), stage.job(word)
        draft.run("START", run, job, 0, inputs=[source])
        draft.run("COMPLETE", run, job, 300, outputs=[target], facets={target: {"columnLineage": facet}})
        draft.column_edges |= {
            ColumnEdge(source, field, target, name) for name, fields in fed.items() for field in fields
        }
    wanted, into = set[ColumnEdge](), {(tables[2], "b")}
    while into:  # every way into one column
        step = {edge for edge in draft.column_edges if (edge.target, edge.target_field) in into} - wanted
        wanted |= step
        into = {(edge.source, edge.source_field) for edge in step}
    node: dict[str, object] = {"node": dataset_id(tables[2]), "depth": DEPTH, "direction": "upstream"}
    return [
        *_runs(stage, draft, "runs"),
        Question("columns", "/api/v2/lineage", node | {"columns": True}, judges.columns(draft.column_edges)),
        Question("columns", "/api/v2/lineage", node | {"columns": True, "field": "b"}, judges.columns(wanted)),
    ]


def family(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """A run with children, one of which fails in every other round; children may come before their parent."""
    above, run = stage.job("dag"), stage.run_id("dag")
    draft.run("START", run, above, 0)
    ids = set()
    failed = stage.round % 2 == 1
    for number in range(3):
        child, job = stage.run_id(f"task-{number}"), stage.job(f"dag.task-{number}")
        facets = {"parent": event.parent(run, above)}
        ends = "FAIL" if failed and number == 1 else "COMPLETE"
        draft.run("START", child, job, 50 * number, inputs=[stage.table(f"part-{number}")], run_facets=facets)
        draft.run(ends, child, job, 50 * number + 400, outputs=[stage.table(f"part-{number + 1}")], run_facets=facets)
        ids.add(child)
    draft.run("COMPLETE", run, above, 800)
    judge = judges.children(run, ids, "FAILED" if failed else "COMPLETED")
    return [
        *_runs(stage, draft, "runs"),
        *_lineage(draft, stage.table("part-3"), "family"),
        Question("family", _run(run), {}, judge, "lost_run"),
        Question("family", "/api/v2/runs", {"parent": run, "limit": 100}, judges.runs(ids, 3)),
    ]


def names(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """Run ids that are not UUIDs, and names with characters that are special in paths and query strings."""
    source, target = stage.table("α/β:1 & 50%?#x+y"), stage.table('"quoted" \\ table.{b}')
    job = stage.job("load it: a/b?c=d&e%2F")
    run = f"{stage.prefix}:manual__{stage.round} +00:00"
    draft.run("START", run, job, 0, inputs=[source])
    draft.run("COMPLETE", run, job, 500, outputs=[target])
    path = f"/api/v2/jobs/{quote(job[0], safe='')}/{quote(job[1], safe='')}"
    return [
        *_runs(stage, draft, "names"),
        *_listed(stage, draft, stage.round + 1, "names"),
        *_lineage(draft, target, "names"),
        *_lineage(draft, source, "names"),
        Question("names", path, {}, judges.runs_of_job({run_uuid(run)})),
    ]


def stream(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """A run without an end: in the graph from its first event on, always RUNNING, with one version for any number of reports."""
    job, run = stage.job("consume"), stage.run_id("consume", 0)
    topic, table = stage.table("topic"), stage.table("sink")
    facets = {"processing_engine": event.processing_engine("watch", "1")}
    if stage.round == 0:
        draft.run("START", run, job, 0, inputs=[topic], outputs=[table], run_facets=facets)
    for beat in range(rng.randint(1, 3)):
        draft.run("RUNNING", run, job, 100 + beat, inputs=[topic], outputs=[table])
    draft.runs[run].start = stage.first
    return [
        *_runs(stage, draft, "stream"),
        *_listed(stage, draft, 1, "stream"),
        *_lineage(draft, table, "stream"),
        Question("versions", _dataset(table), {}, judges.versions(1)),
    ]


def aliases(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """One job writes a path, another reads the table there; the event that equates them comes last."""
    place, table = stage.path("warehouse/orders"), stage.table("db.orders")
    writer, reader = stage.job("write"), stage.job("read")
    draft.run("START", stage.run_id("write"), writer, 0, inputs=[stage.table("source")])
    draft.run("COMPLETE", stage.run_id("write"), writer, 200, outputs=[place])
    draft.run("START", stage.run_id("read"), reader, 300, inputs=[table])
    draft.run("COMPLETE", stage.run_id("read"), reader, 500, outputs=[stage.table("result")])
    identifiers = [{"namespace": table[0], "name": table[1], "type": "TABLE"}]
    draft.dataset(place, {"symlinks": event.facet("SymlinksDatasetFacet", identifiers=identifiers)}, 600)
    questions = _runs(stage, draft, "aliases", datasets=False)
    for name in (place, table):
        for other, direction in ((writer, "upstream"), (reader, "downstream")):
            params: dict[str, object] = {"node": dataset_id(name), "direction": direction, "depth": DEPTH}
            questions.append(
                Question("aliases", "/api/v2/lineage", params, judges.connected(other, direction), "unmerged_alias")
            )
    params = {"node": dataset_id(stage.table("result")), "direction": "upstream", "depth": DEPTH}
    questions.append(Question("aliases", "/api/v2/lineage", params, judges.connected(writer, "upstream")))
    return questions


def partitions(stage: Stage, rng: random.Random, draft: Draft) -> list[Question]:
    """Daily folders are one dataset, in any spelling of the day."""
    table = stage.path("t")
    day = f"2026-01-{1 + stage.round % 28:02d}"
    dated, keyed = Alias((table[0], f"{table[1]}/{day}"), table), Alias((table[0], f"{table[1]}/day={day}"), table)
    draft.run("START", stage.run_id("write"), stage.job("write"), 0, inputs=[stage.table("source")])
    draft.run("COMPLETE", stage.run_id("write"), stage.job("write"), 200, outputs=[dated])
    draft.run("START", stage.run_id("read"), stage.job("read"), 300, inputs=[keyed])
    draft.run("COMPLETE", stage.run_id("read"), stage.job("read"), 500, outputs=[stage.table("result")])
    return [
        *_runs(stage, draft, "partitions"),
        *_lineage(draft, table, "partitions"),
        *_lineage(draft, stage.table("result"), "partitions"),
    ]


STORIES: dict[str, Story] = {
    "pipeline": pipeline,
    "disorder": disorder,
    "schemas": schemas,
    "columns": columns,
    "family": family,
    "names": names,
    "stream": stream,
    "aliases": aliases,
    "partitions": partitions,
}


# -- questions that several stories ask --


def _runs(stage: Stage, draft: Draft, check: Check, *, datasets: bool = True) -> list[Question]:
    return [
        Question(check, _run(run), {}, judges.run(run, model, datasets=datasets), "lost_run")
        for run, model in draft.runs.items()
    ]


def _listed(stage: Stage, draft: Draft, total: int, check: Check = "runs") -> list[Question]:
    """Ask for the runs of each job: their total, and this round's among them."""
    return [
        Question(
            check,
            "/api/v2/runs",
            {"job": job_id(job), "limit": 20},
            judges.runs({run for run, model in draft.runs.items() if model.job == job}, total),
        )
        for job in sorted(draft.jobs)
    ]


def _lineage(draft: Draft, name: Name, check: Check) -> list[Question]:
    up, down = draft.walk(name, "upstream"), draft.walk(name, "downstream")
    return [
        Question(
            check,
            "/api/v2/lineage",
            {"node": dataset_id(name), "direction": direction, "depth": DEPTH},
            judges.lineage(dataset_id(name), edges),
        )
        for direction, edges in (("upstream", up), ("downstream", down), ("both", up | down))
    ]


def _totals(stage: Stage, draft: Draft) -> list[Question]:
    datasets, jobs = {dataset_id(name) for name in draft.datasets}, {job_id(name) for name in draft.jobs}
    return [
        Question(
            "totals",
            f"/api/v2/{key}",
            {"namespace": stage.namespace, "q": stage.prefix, "limit": 100},
            judges.total(key, ids),
        )
        for key, ids in (("datasets", datasets), ("jobs", jobs))
    ]


def _component(draft: Draft, start: Name) -> set[tuple[str, str]]:
    """Return everything connected with a dataset, in either direction."""
    every, met = draft.edges(), {dataset_id(start)}
    while grown := {node for edge in every if met & set(edge) for node in edge} - met:
        met |= grown
    return {edge for edge in every if met & set(edge)}


def _dataset(name: Name) -> str:
    return f"/api/v2/datasets/{quote(name[0], safe='')}/{quote(name[1], safe='')}"


def _run(text: str) -> str:
    return f"/api/v2/runs/{quote(text, safe='')}"
