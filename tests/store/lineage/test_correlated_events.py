"""The correlation in events becomes items, edges and paths."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from tests.events import RUN, dataset, facet, run_event
from tests.fixtures.postgres import empty
from tests.store.lineage.correlated import kept, node, tell, told_in

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model import version
from headwater.model.names import DatasetName, JobName
from headwater.store import sqlfile
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.lineage import correlation

X, Y = "xxh3-128:" + "1" * 32, "xxh3-128:" + "2" * 32
ITEM = "0199c0de-1111-7000-8000-{:012d}"


def run_node(run: int, job: str) -> uuid.UUID:
    return version.correlated_run_id(uuid.UUID(RUN.format(run)), version.job_id(JobName("test", job)))


def content(name: str, told: str) -> uuid.UUID:
    return version.correlated_content_id(version.dataset_id(DatasetName("file", name)), told)


def item(number: int) -> uuid.UUID:
    return uuid.UUID(ITEM.format(number))


def spoken(name: str, here: str, number: int | None = None, print: str | None = None, **more: Any) -> dict[str, Any]:
    """A dataset with our facet; `here` is inputFacets or outputFacets."""
    told: dict[str, Any] = {**({} if number is None else {"id": ITEM.format(number)}), **more}
    if print:
        told["fingerprint"] = print
    made = dataset(name, **({"version": facet(datasetVersion=print)} if print else {}))
    return {**made, here: {"headwater_item": facet(**told)}}


def read(name: str, number: int | None = None, print: str | None = None, **more: Any) -> dict[str, Any]:
    return spoken(name, "inputFacets", number, print, **more)


def wrote(name: str, number: int | None = None, print: str | None = None, **more: Any) -> dict[str, Any]:
    return spoken(name, "outputFacets", number, print, **more)


async def send(database: Database, *batches: list[Any]) -> Any:
    intake = Intake(database)
    for batch in batches:
        accepted = await intake.accept_batch(json.dumps(batch).encode())
        assert not accepted.refused
    return accepted


async def rows(database: Database, sql: str) -> list[Any]:
    async with database.connection() as connection:
        return await (await connection.execute(sql)).fetchall()  # type: ignore[arg-type]


async def edges(database: Database) -> dict[tuple[uuid.UUID, uuid.UUID], tuple[int, int, bool]]:
    found = await rows(database, "select parent_id, child_id, role, weight, refused from correlation_edges")
    return {(row[0], row[1]): row[2:] for row in found}


async def below(database: Database, id_: uuid.UUID, depth: int | None = None) -> dict[uuid.UUID, int]:
    async with database.connection() as connection:
        return dict(await correlation.related(connection, [id_], "descendants", depth, 1000))


def test_a_step_reads_an_item_and_a_file_and_writes(database: Database, run: Any) -> None:
    told = run_event(
        "COMPLETE",
        2,
        "split",
        [read("/in", 1, X), read("/other", print=Y)],
        [wrote("/out", 2, Y, bytes=7), wrote("/log", 3)],
    )
    run(send(database, [run_event("COMPLETE", 1, "download", [], [wrote("/in", 1, X, bytes=5)])], [told]))
    first, second = run_node(1, "download"), run_node(2, "split")
    assert run(edges(database)) == {
        (first, item(1)): (2, 1, False),
        (item(1), content("/in", X)): (3, 0, False),
        (item(1), second): (1, 1, False),
        (content("/other", Y), second): (1, 1, False),
        (second, item(2)): (2, 1, False),
        (second, item(3)): (2, 1, False),
        (item(2), content("/out", Y)): (3, 0, False),
    }
    assert run(below(database, first)) == {
        item(1): 1, content("/in", X): 1, second: 2, item(2): 3, item(3): 3, content("/out", Y): 3,
    }  # fmt: skip

    async def nodes() -> list[correlation.Node]:
        async with database.connection() as connection:
            return await correlation.nodes(connection, [item(2), content("/out", Y), second])

    known = {one.id: one for one in run(nodes())}
    writer = (uuid.UUID(RUN.format(2)), version.job_id(JobName("test", "split")))
    place = version.dataset_id(DatasetName("file", "/out"))
    assert [
        (one.kind, one.dataset_id, one.run_id, one.job_id, one.external_version, one.bytes, one.collided)
        for one in (known[item(2)], known[content("/out", Y)], known[second])
    ] == [
        ("ITEM", place, *writer, Y, 7, False),
        ("CONTENT", place, None, None, Y, 7, False),
        ("RUN", None, *writer, None, None, False),
    ]

    async def found() -> Any:
        async with database.connection() as connection:
            return await correlation.of_version(connection, Y), await correlation.of_run(connection, writer[0])

    versions, of_run = run(found())
    assert (set(versions), of_run) == ({content("/out", Y), content("/other", Y), item(2)}, [second])


def test_only_events_that_tell_of_it_are_correlated(database: Database, run: Any) -> None:
    """Version numbers of a storage are not enough, unless a step reports them or the version is a fingerprint."""

    def table(told: str) -> dict[str, Any]:
        return dataset("/t", version=facet(datasetVersion=told))

    step = {"headwater_step": facet(version="1")}
    events = [
        run_event("COMPLETE", 1, "append", [], [table("1")]),
        run_event("COMPLETE", 2, "append", [table("1")], [table("2")], run_facets=step),
        run_event("COMPLETE", 3, "report", [table("2")], ["/r"]),
        run_event("COMPLETE", 4, "check", [table(X), table("2")], []),
    ]
    run(send(database, events))
    two, four = run_node(2, "append"), run_node(4, "check")
    assert set(run(edges(database))) == {
        (content("/t", "1"), two),
        (two, content("/t", "2")),
        (content("/t", X), four),
        (content("/t", "2"), four),
    }
    assert run(below(database, content("/t", "1"))) == {two: 1, content("/t", "2"): 2, four: 3}


def test_parents_of_a_step(database: Database, run: Any) -> None:
    """Runs and items; a run that names itself is kept as refused."""
    parents = [
        {"runId": RUN.format(1), "job": {"namespace": "test", "name": "one"}},
        {"item": ITEM.format(5)},
        {"runId": RUN.format(2), "job": {"namespace": "test", "name": "two"}},
    ]
    told = run_event("START", 2, "two", run_facets={"headwater_step": facet(parents=parents)})
    run(send(database, [told]))
    one, two = run_node(1, "one"), run_node(2, "two")
    assert run(edges(database)) == {
        (one, two): (0, 1, False),
        (item(5), two): (0, 1, False),
        (two, two): (0, 1, True),
    }
    assert run(below(database, one)) == {two: 1}
    assert run(rows(database, "select name from jobs order by 1")) == [("one",), ("two",)]
    assert run(rows(database, "select count(*) from runs where state = 0")) == [(1,)]


@pytest.mark.parametrize(
    ("facets", "place"),
    [
        ({"headwater_step": {"parents": [{"runId": "x"}]}}, "run.facets.headwater_step"),
        ({"headwater_step": {"parents": "all"}}, "run.facets.headwater_step"),
    ],
)
def test_parents_of_another_shape_are_kept_and_warned_of(database: Database, run: Any, facets: Any, place: str) -> None:
    accepted = run(send(database, [run_event("START", 1, "one", run_facets=facets)]))
    assert [w.where for w in accepted.receipts[0].warnings] == [place]
    assert run(edges(database)) == {}


@pytest.mark.parametrize("id_", ["no uuid", str(uuid.uuid5(uuid.NAMESPACE_DNS, "a"))])
def test_an_id_that_is_none_costs_no_more_than_the_item(database: Database, run: Any, id_: str) -> None:
    """Also one that is derived: it could be the id of another node."""
    out = wrote("/out", print=X, id=id_)
    accepted = run(send(database, [run_event("COMPLETE", 1, "one", [], [out])]))
    assert [w.where for w in accepted.receipts[0].warnings] == ["outputs.outputFacets.headwater_item"]
    assert run(edges(database)) == {(run_node(1, "one"), content("/out", X)): (2, 1, False)}


def test_two_writers_of_one_item_are_a_collision(database: Database, run: Any) -> None:
    def told(number: int, name: str, print: str, at: str) -> Any:
        return run_event("COMPLETE", number, "one", [], [wrote(name, 1, print)], at=at)

    first, second = told(1, "/a", X, "2026-01-01T00:00:00Z"), told(2, "/a", X, "2026-01-02T00:00:00Z")
    other = told(1, "/a", Y, "2026-01-03T00:00:00Z")
    reader = run_event("COMPLETE", 3, "one", [read("/elsewhere", 1, Y)], at="2025-01-01T00:00:00Z")
    query = "select run_id, external_version, collided from correlation_items where kind = 'ITEM'"
    writer = uuid.UUID(RUN.format(1))
    run(send(database, [reader], [first]))
    assert run(rows(database, query)) == [(writer, X, False)]
    run(send(database, [second]))
    assert run(rows(database, query)) == [(writer, X, True)]
    for order in ([first, other], [other, first]):
        run(empty(database))
        run(send(database, *([one] for one in order)))
        assert run(rows(database, query)) == [(writer, X, True)]


def test_a_file_written_as_it_was_read_closes_no_loop(database: Database, run: Any) -> None:
    """The last thing to believe is that the new item is the old content; nothing else is refused."""
    told = run_event("COMPLETE", 1, "touch", [read("/f", print=X)], [wrote("/f", 1, X)])
    run(send(database, [told]))
    same, one = content("/f", X), run_node(1, "touch")
    assert run(edges(database)) == {
        (same, one): (1, 1, False),
        (one, item(1)): (2, 1, False),
        (item(1), same): (3, 0, True),
    }
    assert run(below(database, same)) == {one: 1, item(1): 2}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_which_edge_of_a_loop_is_refused_does_not_depend_on_arrival(
    database: Database, run: Any, order: list[int]
) -> None:
    told = [(0, 1, 2, 0, b""), (1, 2, 2, 1, b""), (2, 0, 2, 2, b"")]
    for place in order:
        run(tell(database, [told[place]]))
    assert run(kept(database)) == ({(0, 1): False, (1, 2): False, (2, 0): True}, {(0, 1): 1, (1, 2): 1, (0, 2): 2})


def test_a_loop_longer_than_the_bound_is_seen(database: Database, run: Any) -> None:
    chain = [(at, at + 1, 2, at, b"") for at in range(10)]
    run(tell(database, chain, 3))
    run(tell(database, [(10, 0, 2, 99, b"")], 3))
    refused, paths = run(kept(database))
    assert [pair for pair, no in refused.items() if no] == [(10, 0)]
    assert max(paths.values()) == 3
    assert len(paths) == 10 + 9 + 8


def test_an_edge_told_earlier_than_before_is_taken_instead_of_another(database: Database, run: Any) -> None:
    run(tell(database, [(0, 1, 2, 5, b""), (1, 0, 2, 9, b"")]))
    assert run(kept(database)) == ({(0, 1): False, (1, 0): True}, {(0, 1): 1})
    run(tell(database, [(1, 0, 2, 1, b"")]))
    assert run(kept(database)) == ({(0, 1): True, (1, 0): False}, {(1, 0): 1})


def test_told_again_no_row_changes(database: Database, run: Any) -> None:
    """Neither its place nor who wrote it."""
    events = [
        run_event("START", 1, "one", [read("/a", 1, X)]),
        run_event("COMPLETE", 1, "one", [read("/a", 1, X)], [wrote("/b", 2, Y, bytes=4)], at="2026-01-01T00:01:00Z"),
        run_event("COMPLETE", 2, "two", [read("/b", 2, Y)], [wrote("/a", 3, X)], at="2026-01-01T00:02:00Z"),
    ]
    run(send(database, events))
    query = " union all ".join(
        f"select '{table}', t.ctid::text, t.xmin::text, t::text from {table} t"
        for table in ("correlation_items", "correlation_edges", "correlation_paths")
    )
    before = run(rows(database, f"{query} order by 1, 2"))
    assert {row[0] for row in before} == {"correlation_items", "correlation_edges", "correlation_paths"}
    run(send(database, events, events[::-1], events[:1]))
    assert run(rows(database, f"{query} order by 1, 2")) == before
    told = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == told


def test_two_transactions_at_once_close_the_way_over_both(
    postgres: EmbeddedPostgres, database: Database, run: Any
) -> None:
    """A→B and B→C, neither seeing the other's edge when it begins: A→C is in the closure when both have ended."""

    async def at_once() -> None:
        both = asyncio.Barrier(2)

        async def one(parent: int, child: int) -> None:
            async with Database(postgres.url, pool_size=1) as mine, mine.transaction() as connection:
                await connection.execute("select 1")
                await both.wait()
                await told_in(connection, [(parent, child, 2, 0, b"")])
                await asyncio.sleep(0.05)

        await asyncio.gather(one(0, 1), one(1, 2))

    for _ in range(3):
        run(at_once())
        assert run(kept(database))[1] == {(0, 1): 1, (1, 2): 1, (0, 2): 2}
        run(empty(database))


def test_statements_of_correlation_do_not_grow_and_are_none_without_it(
    database: Database, run: Any, statements: Any
) -> None:
    def batch(size: int, first: int, told: bool) -> list[Any]:
        return [
            run_event(
                "COMPLETE",
                first + i,
                "chain",
                [read("/a", first + i, X)] if told else ["/a"],
                [wrote(f"/b{i}", first + i + 1)] if told else ["/b"],
            )
            for i in range(size)
        ]

    counts = []
    for size, first, told in ((1, 1, False), (1, 1000, True), (200, 2000, True)):
        with statements() as counted:
            run(send(database, batch(size, first, told)))
        counts.append([one for one in counted if one in correlation_queries()])
    assert counts == [[], ["lock", "bridges", "extend"], ["lock", "bridges", "extend"]]
    with statements() as counted:
        run(send(database, batch(200, 2000, True)))
    assert not correlation_queries() & set(counted)


def correlation_queries() -> set[str]:
    return set(sqlfile.load("lineage/correlation"))


def test_a_node_is_found_as_its_own(database: Database, run: Any) -> None:
    run(tell(database, [(0, 1, 2, 0, b"")]))
    assert run(below(database, node(0))) == {node(1): 1}


def test_what_caused_a_run_and_was_read_by_it_is_one_edge_whatever_came_first(database: Database, run: Any) -> None:
    """Two events say the same edge in two ways: the earlier one's way stands; one event that says both says it in the lower."""

    def caused(at: str) -> dict[str, Any]:
        step = facet(parents=[{"item": ITEM.format(1)}])
        return run_event("RUNNING", 1, "one", at=at, run_facets={"headwater_step": step})

    async def role() -> Any:
        async with database.connection() as connection:
            return await (await connection.execute("select role from correlation_edges")).fetchall()

    reads = run_event("RUNNING", 1, "one", [read("/a", 1)], at="2026-01-01T00:00:02Z")
    both = caused("2026-01-01T00:00:03Z") | {"inputs": [read("/a", 1)]}
    for events, expected in (
        ([reads, caused("2026-01-01T00:00:01Z")], 0),
        ([reads, caused("2026-01-01T00:00:03Z")], 1),
        ([both], 0),
    ):
        for order in (events, events[::-1]):
            run(empty(database))
            run(send(database, *[[one] for one in order]))
            assert run(role()) == [(expected,)]
