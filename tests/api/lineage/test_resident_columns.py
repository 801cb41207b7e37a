"""Columns in the graph in memory: answered as PostgreSQL's walk does after events that change them. Random worlds are in `test_resident.py`."""

import json
import random
from typing import Any

import msgspec
import pytest
from tests.api.lineage.test_resident import compared, compared_columns, of_job, reference, runs
from tests.events import columns, dataset, encoded, facet, run_event, schema

from headwater.answer.lineage import lineage, resident_lineage
from headwater.answer.lineage.resident import ResidentGraph
from headwater.answer.marquez import column_lineage, resident_columns
from headwater.errors import NotFound
from headwater.intake.events.accept import Intake
from headwater.intake.events.touched import TouchedNodes
from headwater.intake.people import manual
from headwater.model.manual import ColumnPair, DrawEdge, Target
from headwater.store.database import Database

WAY = "DIRECT:IDENTITY"


@pytest.fixture
def graph(database: Database) -> ResidentGraph:
    return ResidentGraph(database, TouchedNodes(), 1 << 24)


def step(number: int, source: str, target: str, fields: dict[str, str], at: int = 1, **facets: Any) -> bytes:
    """A run that fills columns of the target from columns of the source."""
    told = columns({name: [(source, of, WAY)] for name, of in fields.items()})
    return encoded(
        run_event(
            "COMPLETE",
            number,
            f"to_{target}",
            [source],
            [dataset(target, **told, **facets)],
            at=f"2026-02-{at:02}T00:00:00Z",
        )
    )


def edges_of(body: bytes | None) -> set[tuple[str, str]]:
    assert body is not None
    return {(edge["source_field"], edge["target_field"]) for edge in json.loads(body)["column_edges"]}


def test_columns_that_nothing_changed_cost_one_statement(
    database: Database, run: Any, graph: ResidentGraph, statements: Any
) -> None:
    """Both APIs answer so, and an event of another process is in the next answer."""
    question = lineage.Question("dataset:file:c", depth=20, field="y")
    field = ("datasetField:file:c:y", 20, True)

    async def live() -> None:
        intake = Intake(database)
        await intake.accept_each([step(1, "a", "b", {"y": "x", "q": "p"}), step(2, "b", "c", {"y": "y", "q": "q"})])
        for _ in range(2):
            assert edges_of(await resident_lineage.lineage(graph, question)) == {("x", "y"), ("y", "y")}
            assert await resident_columns.get(graph, *field)
        with statements() as counted:
            assert await resident_lineage.lineage(graph, question)
            assert await resident_columns.get(graph, *field)
        assert counted == ["position", "position"]
        await intake.accept_each([step(3, "a", "b", {"y": "z"}, at=2)])
        assert edges_of(await resident_lineage.lineage(graph, question)) == {("z", "y"), ("y", "y")}
        assert await compared(graph, database, question)
        body = await resident_columns.get(graph, *field)
        assert body is not None
        assert json.loads(body) == json.loads(msgspec.json.encode(await column_lineage.get(database, *field)))
        assert b"datasetField:file:a:z" in body

    run(live())


def test_a_node_shown_again_has_the_edges_of_its_own_answer(database: Database, run: Any, graph: ResidentGraph) -> None:
    """A column's encoded node is shown again only where its inputs and outputs are the same."""
    asked = [
        ("dataset:file:b", depth, below)
        for depth, below in ((20, True), (1, False), (20, False), (1, True), (20, True))
    ]
    asked += [("datasetField:file:c:y", 20, below) for below in (True, False)]

    async def live() -> None:
        intake = Intake(database)
        await intake.accept_each([step(1, "a", "b", {"y": "x", "q": "p"}), step(2, "b", "c", {"y": "y", "q": "q"})])
        for _ in range(2):
            for one in asked:
                body = await resident_columns.get(graph, *one)
                assert body is not None
                assert json.loads(body) == json.loads(msgspec.json.encode(await column_lineage.get(database, *one))), (
                    one
                )
        # The node of a, which has inputs now, and what shows its version.
        await intake.accept_each([step(3, "0", "a", {"x": "k"}, at=2, **schema("x"))])
        for one in asked:
            body = await resident_columns.get(graph, *one)
            assert body is not None
            assert json.loads(body) == json.loads(msgspec.json.encode(await column_lineage.get(database, *one))), one

    run(live())


def test_nodes_are_shown_without_being_held_where_there_is_no_room(
    database: Database, run: Any, graph: ResidentGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("dataset:file:b", 20, True)

    async def live() -> None:
        await Intake(database).accept_each([step(1, "a", "b", {"y": "x"}), step(2, "b", "c", {"y": "y"})])
        held = await resident_columns.get(graph, *asked)
        assert held is not None
        size = graph.size
        assert await resident_columns.get(graph, *asked) == held
        assert graph.size == size, "the same answer is counted once"
        without_room = ResidentGraph(database, TouchedNodes(), 1 << 24)
        monkeypatch.setattr(ResidentGraph, "room", 0)
        assert await resident_columns.get(without_room, *asked) == held
        assert without_room.size < size

    run(live())


CHANGES: dict[str, tuple[list[bytes], list[bytes]]] = {
    "a run no longer reports a column": (
        [step(1, "a", "b", {"y": "x", "q": "p"})],
        [step(2, "a", "b", {"y": "x"}, at=2)],
    ),
    "a dataset comes to stand under another name": (
        [step(1, "a", "b", {"y": "x"}), step(2, "b", "c", {"y": "y"})],
        [runs(3, "other", [dataset("a", symlinks=facet(identifiers=[{"namespace": "file", "name": "A", "type": "TABLE"}]))], 2)],
    ),
    "explicit lineage leaves an input out": (
        [step(1, "a", "b", {"y": "x"}), step(2, "b", "c", {"y": "y"})],
        [
            runs(
                3, "to_c", ["c"], 2,
                job_facets={"lineage": facet(entries=[{
                    "type": "DATASET", "namespace": "file", "name": "c", "inputs": [{"type": "DATASET", "namespace": "file", "name": "z"}]}])},
            )
        ],
    ),
    "another job reports what feeds the job": (
        [step(1, "a", "b", {"y": "x"}), step(2, "b", "c", {"y": "y"})],
        [runs(3, "reporter", ["r"], 2, job_facets=of_job("to_c", "k"))],
    ),
    "the target's schema has a column that no report is about, and there is SQL": (
        [
            encoded(
                run_event(
                    "COMPLETE", 1, "to_c", [dataset("db.b", "postgres://h:5432", **schema("y", "q"))],
                    [dataset("db.c", "postgres://h:5432", **schema("y"), **columns({"y": [("b", "y", WAY)]}))],
                    at="2026-02-01T00:00:00Z", job_facets={"sql": facet(query="insert into db.c select y, q from db.b", dialect="postgres")},
                )
            ),
            step(2, "b", "c", {"y": "y"}),
        ],
        [
            encoded({
                "eventTime": "2026-02-03T00:00:00Z", "producer": "p", "dataset": dataset("db.c", "postgres://h:5432", **schema("y", "q")),
            })
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_an_event_changes_columns(name: str, database: Database, run: Any, graph: ResidentGraph) -> None:
    before, after = CHANGES[name]
    table = "dataset:postgres://h:5432:db.c" if "SQL" in name else "dataset:file:b"
    question = lineage.Question(table, depth=20, columns=True)

    async def live() -> None:
        intake = Intake(database)
        for body in before:
            await intake.accept_each([body])
        assert await compared(graph, database, question)
        was = await reference(database, question)
        for body in after:
            await intake.accept_each([body])
            for one in (
                question,
                lineage.Question(table, depth=20, field="y"),
                lineage.Question(table, depth=20, field="Y"),
            ):
                await compared(graph, database, one)
                await compared_columns(graph, database, random.Random(1), one)
        assert await reference(database, question) != was, "the case shows nothing"

    run(live())


def test_columns_that_a_person_drew_are_in_the_next_answer(database: Database, run: Any, graph: ResidentGraph) -> None:
    question = lineage.Question("dataset:file:b", depth=20, columns=True)

    async def live() -> None:
        await Intake(database).accept_each([step(1, "a", "b", {"y": "x"})])
        assert edges_of(await resident_lineage.lineage(graph, question)) == {("x", "y")}
        drawn = DrawEdge(Target("dataset", "a", "file"), Target("dataset", "b", "file"), (ColumnPair("k", "m"),))
        await manual.record(database, drawn, "ann")
        assert edges_of(await resident_lineage.lineage(graph, question)) == {("x", "y"), ("k", "m")}
        assert await compared(graph, database, question)

    run(live())


def test_an_unknown_column_is_refused_with_what_is_near(database: Database, run: Any, graph: ResidentGraph) -> None:
    """By the reference, which also looks for what no report of the dataset names."""

    async def live() -> None:
        await Intake(database).accept_each([step(1, "a", "b", {"total": "x"})])
        unknown = lineage.Question("dataset:file:b", field="totel")
        assert await resident_lineage.lineage(graph, unknown) is None
        with pytest.raises(NotFound, match="did you mean total"):
            await lineage.lineage(database, unknown)
        body = await resident_lineage.lineage(graph, lineage.Question("dataset:file:b", field="TOTAL"))
        assert edges_of(body) == {("x", "total")}

    run(live())


def test_columns_are_dropped_with_a_graph_that_is_full(database: Database, run: Any) -> None:
    question = lineage.Question("dataset:file:b", depth=20, columns=True)

    async def live() -> None:
        await Intake(database).accept_each([step(1, "a", "b", {f"y{n}": f"x{n}" for n in range(20)})])
        large, small = (ResidentGraph(database, TouchedNodes(), most) for most in (1 << 24, 5000))
        assert await compared(large, database, question)
        assert large.columns.size > 20 * 200
        assert await compared(small, database, question)
        assert small.size == small.columns.size == 0

    run(live())
