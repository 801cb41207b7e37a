"""The graph in memory answers as PostgreSQL's walk does, whatever arrives in which order, and by whichever process."""

import asyncio
import contextlib
import datetime as dt
import itertools
import json
import random
from typing import Any

import msgspec
import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.scale import full

from headwater.answer.lineage import catalog, lineage, resident_jobs, resident_lineage
from headwater.answer.lineage.lineage_answer import FoundObject
from headwater.answer.lineage.resident import ResidentGraph
from headwater.answer.marquez import column_lineage
from headwater.answer.marquez import jobs as marquez_jobs
from headwater.answer.marquez import lineage as marquez_lineage
from headwater.answer.marquez import resident_columns as marquez_resident_columns
from headwater.answer.marquez import resident_jobs as marquez_resident_jobs
from headwater.answer.marquez import resident_lineage as marquez_resident
from headwater.errors import Ambiguous, InvalidChange, NotFound
from headwater.intake.events.accept import Intake
from headwater.intake.events.touched import TouchedNodes
from headwater.intake.people import manual
from headwater.intake.upkeep import retention
from headwater.model.manual import Change, ColumnPair, Describe, DrawEdge, Hide, Link, Tag, Target
from headwater.model.run import RunState
from headwater.store.database import Database

NAMES = [f"t{number}" for number in range(7)]
JOBS = [f"job{number}" for number in range(6)]
STATES = ("START", "RUNNING", "COMPLETE", "COMPLETE", "COMPLETE", "FAIL", None)
BEGAN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class World:
    """Events made at random over few names, so that they meet. `calm`: without those whose columns the reference answers for."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.calm = seed % 2 == 1
        self.runs = 0

    def at(self) -> str:
        """A time of the last days, in no order; of runs that go on, some lately."""
        now = (
            dt.datetime.now(dt.UTC) if self.draw.random() < 0.2 else BEGAN + dt.timedelta(days=self.draw.randrange(20))
        )
        return (now - dt.timedelta(minutes=self.draw.randrange(60))).isoformat()

    def some(self, most: int = 3) -> list[str]:
        return self.draw.sample(NAMES, self.draw.randint(0, most))

    def run(self) -> int:
        if self.runs == 0 or self.draw.random() < 0.5:
            self.runs += 1
        return self.draw.randint(max(1, self.runs - 3), self.runs)

    def table(self, name: str) -> dict[str, Any]:
        facets: dict[str, Any] = {}
        if self.draw.random() < 0.3:
            facets |= schema(*self.draw.sample(["a", "b", "c"], 2))
        if self.draw.random() < 0.1:
            other = self.draw.choice(NAMES)
            facets["symlinks"] = facet(identifiers=[{"namespace": "file", "name": other, "type": "TABLE"}])
        if self.draw.random() < 0.4:
            facets |= self.column_facet()
        if self.draw.random() < 0.1:
            facets["documentation"] = facet(description=self.draw.choice(["one", "two"]))
        return dataset(name, **facets)

    def column_facet(self) -> dict[str, Any]:
        def inputs() -> list[tuple[str, str, str]]:
            how = "DIRECT:IDENTITY", "DIRECT:TRANSFORMATION", "INDIRECT:JOIN"
            return [
                (name, self.draw.choice(["a", "b", "c"]), self.draw.choice(how))
                for name in self.draw.choices(NAMES, k=self.draw.randint(0, 2))
            ]

        fields = {name: inputs() for name in self.draw.sample(["a", "b", "c"], self.draw.randint(0, 2))}
        return columns(fields, inputs() if self.draw.random() < 0.3 else [])

    def lineage_facet(self) -> dict[str, Any]:
        entry = {"type": "DATASET", "namespace": "file", "name": self.draw.choice(NAMES)}
        if self.draw.random() < 0.3 and not self.calm:
            entry = {"type": "JOB", "namespace": "test", "name": self.draw.choice(JOBS)}
        sources = [{"type": "DATASET", "namespace": "file", "name": name} for name in self.some(2)]
        made: dict[str, Any] = {**entry, "inputs": sources}
        if self.draw.random() < 0.5:
            of_field = [{**source, "field": self.draw.choice(["a", "b"])} for source in sources]
            made["inputs" if entry["type"] == "JOB" else "fields"] = (
                of_field if entry["type"] == "JOB" else {"a": {"inputs": of_field}}
            )
        return {"lineage": facet(entries=[made])}

    def event(self) -> dict[str, Any]:
        kind, job = self.draw.random(), self.draw.choice(JOBS)
        if kind < 0.1:
            own: dict[str, Any] = {}
            if self.draw.random() < 0.5 and not self.calm:
                own["lineage"] = facet(
                    inputs=[{"type": "DATASET", "namespace": "file", "name": n} for n in self.some(2)]
                )
            body = self.table(self.draw.choice(NAMES))
            body["facets"] |= own
            return {"eventTime": self.at(), "producer": "p", "dataset": body}
        run_facets: dict[str, Any] = {}
        if self.draw.random() < 0.3:
            run_facets |= parent(self.run(), self.draw.choice(JOBS))
        job_facets: dict[str, Any] = {}
        if self.draw.random() < 0.15:
            job_facets |= self.lineage_facet()
        if self.draw.random() < 0.1:
            job_facets["ownership"] = facet(owners=[{"name": self.draw.choice(["ann", "bob"])}])
        if self.draw.random() < 0.1 and not self.calm:
            job_facets["sql"] = facet(
                query=f"insert into db.{self.draw.choice(NAMES)} select * from db.u", dialect="postgres"
            )
        made = run_event(
            self.draw.choice(STATES), self.run(), job,
            [self.table(name) for name in self.some()], [self.table(name) for name in self.some()],
            at=self.at(), run_facets=run_facets, job_facets=job_facets,
        )  # fmt: skip
        if kind < 0.2:
            del made["run"]
            made.pop("eventType", None)
        return made

    def change(self) -> Change:
        """Draw a change by a person."""
        table = Target("dataset", self.draw.choice(NAMES), "file")
        job = Target("job", self.draw.choice(JOBS), "test")
        other = Target("dataset", self.draw.choice([name for name in NAMES if name != table.name]), "file")
        return self.draw.choice(
            [
                Describe(table, f"said {self.draw.random()}"),
                Tag(job, "gold"),
                Hide(table),
                DrawEdge(table, job),
                DrawEdge(table, other, (ColumnPair("a", "b"),)),
                Link(table, other),
            ]
        )

    def question(self) -> lineage.Question:
        name = self.draw.choice(NAMES)
        node = self.draw.choice(
            [f"dataset:file:{name}", f"dataset:mysql://h:3306:db.{name}", f"job:test:{self.draw.choice(JOBS)}"]
        )
        direction = self.draw.choice(["both", "both", "upstream", "downstream"])
        field = self.draw.choice([None, None, "a", "b", "A", "z"])
        depth, most, shows_columns = (
            self.draw.choice([0, 1, 2, 20]),
            self.draw.choice([4, 2000]),
            self.draw.random() < 0.5,
        )
        return lineage.Question(node, direction, depth, shows_columns, field, max_nodes=most)

    def listing(self) -> catalog.Listing:
        parent = self.draw.choice([None, None, "none", f"job:test:{self.draw.choice(JOBS)}"])
        return catalog.Listing(
            namespace=self.draw.choice([None, "test"]), sort=self.draw.choice(["updated", "name"]), parent=parent,
            children=self.draw.random() < 0.5, limit=self.draw.choice([2, 100]), offset=self.draw.choice([0, 0, 1]),
        )  # fmt: skip


async def reference(database: Database, question: lineage.Question) -> dict[str, Any] | None:
    try:
        found = await lineage.lineage(database, question)
    except NotFound:
        return None
    kind = "DATASET" if question.node.startswith("dataset:") else "JOB"
    found.subject = FoundObject(kind, question.node, question.node)
    return without_time(msgspec.json.encode(found))


def without_time(body: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(body)
    del told["as_of"]
    # Column edges and their transformations are in no order.
    for edge in told["column_edges"]:
        edge["transformations"].sort(key=json.dumps)
    told["column_edges"].sort(key=json.dumps)
    return told


async def compared(graph: ResidentGraph, database: Database, question: lineage.Question) -> bool:
    """Hold the graph's answer equal to the reference; whether it gave one."""
    wanted = await reference(database, question)
    try:
        body = await resident_lineage.lineage(graph, question)
    except NotFound:
        assert wanted is None, question
        return False
    assert body is None or without_time(body) == wanted, question
    await compared_as_marquez(graph, database, question)
    return body is not None


async def compared_as_marquez(graph: ResidentGraph, database: Database, question: lineage.Question) -> None:
    """Hold the graph around the same node at /api/v1 equal to its reference."""
    body = await marquez_resident.get(graph, question.node, question.depth)
    wanted = json.loads(msgspec.json.encode(await marquez_lineage.get(database, question.node, question.depth)))
    found = wanted if body is None else json.loads(body)
    for one, other in itertools.zip_longest(found["graph"], wanted["graph"]):
        assert one == other, question
    assert found == wanted


async def compared_columns(
    graph: ResidentGraph, database: Database, draw: random.Random, question: lineage.Question
) -> None:
    """Hold the graph of columns around the same node, or one of its columns, at /api/v1 equal to its reference."""
    node = question.node
    if question.field and node.startswith("dataset:"):
        node = node.replace("dataset:", "datasetField:", 1) + f":{question.field}"
    asked = node, question.depth, draw.random() < 0.6
    try:
        wanted = json.loads(msgspec.json.encode(await column_lineage.get(database, *asked)))
    except NotFound:
        wanted = None
    try:
        body = await marquez_resident_columns.get(graph, *asked)
    except NotFound:
        assert wanted is None, asked
        return
    if wanted is None:
        assert body is None, asked
        return
    found = wanted if body is None else json.loads(body)
    for one, other in itertools.zip_longest(found["graph"], wanted["graph"]):
        assert one == other, asked


async def compared_pages(
    graph: ResidentGraph, database: Database, draw: random.Random, listing: catalog.Listing
) -> int:
    """Hold pages of jobs of both APIs equal to their references; how many the graph answered."""
    page = (
        draw.choice([None, "test"]),
        draw.choice([(), (RunState.COMPLETED,), (RunState.RUNNING, RunState.FAILED)]),
        listing.limit,
        listing.offset,
    )
    body = await marquez_resident_jobs.page(graph, *page)
    expected = json.loads(msgspec.json.encode(await marquez_jobs.page(database, *page)))
    found = expected if body is None else json.loads(body)
    for one, other in itertools.zip_longest(found["jobs"], expected["jobs"]):
        assert one == other, page
    assert found == expected
    try:
        wanted = json.loads(msgspec.json.encode(await catalog.jobs(database, listing)))
    except NotFound:
        with pytest.raises(NotFound):
            await resident_jobs.jobs(graph, listing)
        return body is not None
    answer = await resident_jobs.jobs(graph, listing)
    assert answer is None or json.loads(answer) == wanted, listing
    return (body is not None) + (answer is not None)


@pytest.mark.parametrize("seed", range(full(400, 15)))
def test_the_graph_answers_as_the_reference_does(seed: int, database: Database, run: Any) -> None:
    world = World(seed)
    touched = TouchedNodes()
    ours, others = Intake(database, touched=touched), Intake(database)
    graph = ResidentGraph(database, touched, 1 << 24)
    answered = pages = 0

    async def live() -> None:
        nonlocal answered, pages
        for _ in range(25):
            if world.draw.random() < 0.1:
                # Nothing of that name yet, or two names of one dataset.
                with contextlib.suppress(NotFound, InvalidChange):
                    await manual.record(database, world.change(), "ann")
            batch = [encoded(world.event()) for _ in range(world.draw.randint(1, 3))]
            await (ours if world.draw.random() < 0.5 else others).accept_each(batch)
            for _ in range(world.draw.randint(0, 3)):
                question = world.question()
                answered += await compared(graph, database, question)
                await compared_columns(graph, database, world.draw, question)
            pages += await compared_pages(graph, database, world.draw, world.listing())

    run(live())
    assert answered or not world.calm
    assert pages


def chain(first: int, tables: list[str]) -> list[bytes]:
    return [
        encoded(run_event("COMPLETE", first + n, f"to_{b}", [a], [b]))
        for n, (a, b) in enumerate(itertools.pairwise(tables))
    ]


@pytest.fixture
def touched() -> TouchedNodes:
    return TouchedNodes()


@pytest.fixture
def graph(database: Database, touched: TouchedNodes) -> ResidentGraph:
    return ResidentGraph(database, touched, 1 << 24)


def test_an_event_of_another_process_is_in_the_next_answer(
    database: Database, run: Any, graph: ResidentGraph, statements: Any
) -> None:
    question = lineage.Question("dataset:file:c", depth=20)

    async def live() -> None:
        await Intake(database).accept_each(chain(1, ["a", "b", "c"]))
        assert await compared(graph, database, question)
        with statements() as counted:
            assert await resident_lineage.lineage(graph, question)
        assert counted == ["position"]
        await Intake(database).accept_each(chain(9, ["x", "a"]))
        assert await compared(graph, database, question)
        body = await resident_lineage.lineage(graph, question)
        assert body is not None
        assert "dataset:file:x" in {one["id"] for one in json.loads(body)["nodes"]}

    run(live())


def test_a_page_of_jobs_that_nothing_changed_costs_one_statement(
    database: Database, run: Any, graph: ResidentGraph, statements: Any
) -> None:
    """Also where runs of its jobs have runs below them, two steps down."""
    below = [
        encoded(run_event("START", 4, "low", at="2026-02-01T00:00:00Z", run_facets=parent(2, "middle"))),
        encoded(run_event("START", 2, "middle", at="2026-02-01T00:00:00Z", run_facets=parent(1, "top"))),
        encoded(run_event("COMPLETE", 1, "top", ["a"], ["b"], at="2026-02-01T00:00:00Z")),
    ]

    async def live() -> None:
        await Intake(database).accept_each(below)
        await resident_jobs.jobs(graph, catalog.Listing())
        await marquez_resident_jobs.page(graph, None, (), 100, 0)
        # A run that goes on for months is lost or stalled, by the clock; these have ended.
        ends = [
            encoded(run_event(state, number, job, at="2026-02-01T01:00:00Z"))
            for state, number, job in (("FAIL", 4, "low"), ("COMPLETE", 2, "middle"))
        ]
        await Intake(database).accept_each(ends)
        draw = random.Random(1)
        assert await compared_pages(graph, database, draw, catalog.Listing()) == 2
        with statements() as counted:
            body = await resident_jobs.jobs(graph, catalog.Listing())
        assert counted == ["position"]
        assert body is not None
        states = {job["name"]: job["last_run"]["state"] for job in json.loads(body)["jobs"]}
        assert states["top"] == "FAILED"
        await marquez_resident_jobs.page(graph, None, (), 100, 0)
        with statements() as counted:
            assert await marquez_resident_jobs.page(graph, None, (), 100, 0)
        assert counted == ["position"]

    run(live())


def declared(job: str, outputs: list[str]) -> bytes:
    made = run_event(None, 1, job, [], outputs, at="2026-01-02T00:00:00Z")
    del made["run"]
    return encoded(made)


def of_job(name: str, source: str) -> dict[str, Any]:
    """Explicit lineage that a job reports of another job: it reads the source."""
    entry = {
        "type": "JOB",
        "namespace": "test",
        "name": name,
        "inputs": [{"type": "DATASET", "namespace": "file", "name": source}],
    }
    return {"lineage": facet(entries=[entry])}


def runs(number: int, job: str, outputs: list[Any], at: int, **facets: Any) -> bytes:
    return encoded(run_event("COMPLETE", number, job, [], outputs, at=f"2026-02-{at:02}T00:00:00Z", **facets))


BESIDE: dict[str, tuple[str, list[bytes], list[bytes]]] = {
    "a child writes what its parent declares": (
        "dataset:file:t",
        [declared("above", ["t"]), runs(1, "below", [], 1, run_facets=parent(9, "above"))],
        [runs(2, "below", ["t"], 2)],
    ),
    "a reporter of another job's edge no longer reports it": (
        "job:test:reader",
        [runs(1, "reporter", ["x"], 1, job_facets=of_job("reader", "a"))],
        [runs(2, "reporter", ["x"], 2)],
    ),
    "a parent touches a dataset, so its child's SQL counts no more": (
        "dataset:mysql://h:3306:db.t",
        [
            encoded(
                run_event(
                    "COMPLETE",
                    1,
                    "task",
                    at="2026-02-01T00:00:00Z",
                    run_facets=parent(9, "dag")
                    | {"externalQuery": facet(externalQueryId="q", source="mysql://h:3306")},
                    job_facets={"sql": facet(query="insert into db.t select a from db.u")},
                )
            ),
        ],
        [runs(3, "dag", ["z"], 2)],
    ),
    "a grandchild's run goes on": (
        "dataset:file:t",
        [
            runs(1, "top", ["t"], 1),
            encoded(run_event("START", 4, "low", at="2026-02-01T00:00:00Z", run_facets=parent(2, "middle"))),
            encoded(run_event("START", 2, "middle", at="2026-02-01T00:00:00Z", run_facets=parent(1, "top"))),
        ],
        [encoded(run_event("FAIL", 3, "lowest", at="2026-02-02T00:00:00Z", run_facets=parent(4, "low")))],
    ),
    "a run is the parent under another job's name": (
        "dataset:file:t",
        [runs(1, "top", ["t"], 1)],
        [encoded(run_event("FAIL", 3, "low", at="2026-02-02T00:00:00Z", run_facets=parent(1, "other")))],
    ),
    "a version is no longer the declared one's only proof": (
        "dataset:file:t",
        [
            runs(1, "above", [dataset("t", headwater_declared=facet())], 1),
            encoded(run_event("START", 2, "below", [], ["t"], at="2026-02-02T00:00:00Z")),
        ],
        [runs(2, "below", [], 3, run_facets=parent(1, "above"))],
    ),
    "a job gets another below it": (
        "job:test:above",
        [runs(1, "above", ["t"], 1)],
        [runs(2, "below", ["u"], 2, run_facets=parent(8, "above"))],
    ),
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("own", [True, False])
def test_an_event_changes_what_is_beside_it(
    name: str, own: bool, database: Database, run: Any, graph: ResidentGraph, touched: TouchedNodes
) -> None:
    node, before, after = BESIDE[name]
    question = lineage.Question(node, depth=20)

    async def live() -> None:
        intake = Intake(database, touched=touched if own else None)
        for body in before:
            await intake.accept_each([body])
        assert await compared(graph, database, question)
        was = await reference(database, question)
        for body in after:
            await intake.accept_each([body])
            assert await compared(graph, database, question)
        assert await reference(database, question) != was, "the case shows nothing"

    run(live())


def test_an_id_that_another_node_comes_to_have_is_refused(
    database: Database, run: Any, graph: ResidentGraph, touched: TouchedNodes
) -> None:
    question = lineage.Question("dataset:a:b:c", depth=20)

    async def live() -> None:
        intake = Intake(database, touched=touched)
        await intake.accept_each([runs(1, "one", [dataset("b:c", "a")], 1)])
        assert await compared(graph, database, question)
        await intake.accept_each([runs(2, "two", [dataset("c", "a:b")], 2)])
        with pytest.raises(Ambiguous):
            await resident_lineage.lineage(graph, question)
        for own in ("dataset:a:b%3Ac", "dataset:a%3Ab:c"):
            await compared(graph, database, lineage.Question(own, depth=20))

    run(live())


def test_a_transaction_that_commits_late_is_in_the_next_answer(
    database: Database, run: Any, graph: ResidentGraph, touched: TouchedNodes
) -> None:
    """It drew its number of arrival before one whose event has been answered with."""
    question = lineage.Question("dataset:file:c", depth=20)

    async def live() -> None:
        intake = Intake(database, touched=touched)
        await intake.accept_each(chain(1, ["a", "b", "c"]))
        assert await compared(graph, database, question)
        arrived, go_on = asyncio.Event(), asyncio.Event()

        async def late() -> None:
            async with database.transaction() as connection:
                await connection.execute("select pg_advisory_xact_lock_shared(1751474532, 2), nextval('arrivals')")
                number = (await (await connection.execute("select last_value from arrivals")).fetchone() or (0,))[0]
                arrived.set()
                await go_on.wait()
                # As the late writer's event: its rows are there once it commits.
                await connection.execute("update datasets set last_seen = now() where name = 'a'")
                await connection.execute(
                    "insert into events (event_time, digest, kind, producer, body, received_at, arrived)"
                    " values ('2026-01-01T00:00:00Z', 'late', 'dataset', 'p', %s, now(), %s)",
                    (encoded({"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": dataset("a")}), number),
                )

        writing = asyncio.create_task(late())
        await arrived.wait()
        await intake.accept_each(chain(5, ["w", "b"]))
        assert await compared(graph, database, question)
        assert await compared(graph, database, question)
        go_on.set()
        await writing
        assert await compared(graph, database, question)
        assert await compared(graph, database, question)

    run(live())


def test_two_questions_at_once_and_one_that_is_given_up(database: Database, run: Any, graph: ResidentGraph) -> None:
    question = lineage.Question("dataset:file:c", depth=20)

    async def live() -> None:
        await Intake(database).accept_each(chain(1, ["a", "b", "c"]))
        first = asyncio.create_task(resident_lineage.lineage(graph, question))
        bodies = [await resident_lineage.lineage(graph, question) for _ in range(5)]
        told = [without_time(body) for body in [await first, *bodies] if body is not None]
        assert told
        assert all(one == told[0] for one in told)
        for wait in (0.0, 0.001, 0.003, 0.006):
            await Intake(database).accept_each(chain(20 + int(wait * 1000), [f"n{wait}", "a"]))
            cut = asyncio.create_task(resident_lineage.lineage(graph, question))
            await asyncio.sleep(wait)
            cut.cancel()
            await asyncio.gather(cut, return_exceptions=True)
            assert await compared(graph, database, question)

    run(live())


def test_a_small_graph_is_emptied_when_it_is_full(database: Database, run: Any, touched: TouchedNodes) -> None:
    question = lineage.Question("dataset:file:c", depth=20)

    async def live() -> None:
        await Intake(database).accept_each(chain(1, ["a", "b", "c"]))
        small, none = ResidentGraph(database, touched, 1000), ResidentGraph(database, touched, 0)
        assert await compared(small, database, question)
        assert small.size == 0
        assert await resident_lineage.lineage(none, question) is None

    run(live())


def test_an_answer_that_is_cut_is_walked_for_once(
    database: Database, run: Any, graph: ResidentGraph, statements: Any
) -> None:
    question = lineage.Question("dataset:file:c", depth=20, max_nodes=2)

    async def live() -> None:
        await Intake(database).accept_each(chain(1, ["a", "b", "c"]))
        assert await resident_lineage.lineage(graph, question) is None
        with statements() as counted:
            assert await resident_lineage.lineage(graph, question) is None
        assert counted == []

    run(live())


def test_what_retention_deleted_is_in_no_answer(
    database: Database, run: Any, graph: ResidentGraph, touched: TouchedNodes
) -> None:
    question = lineage.Question("dataset:file:b", depth=20)

    async def live() -> None:
        intake = Intake(database, touched=touched)
        old = [run_event("COMPLETE", n, "job", ["a"], ["b"], at=f"2020-01-01T00:{n:02}:00Z") for n in range(1, 30)]
        await intake.accept_each([encoded(event) for event in old])
        assert await compared(graph, database, question)
        before = await resident_lineage.lineage(graph, question)
        await retention.run(database, retention.Policy(runs=30))
        assert await compared(graph, database, question)
        assert before is not None
        after = await resident_lineage.lineage(graph, question)
        assert after is not None
        assert without_time(after) != without_time(before)

    run(live())
