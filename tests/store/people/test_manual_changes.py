"""People's changes and events, in any order: the tables follow from the two logs alone."""

import contextlib
import datetime as dt
import json
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.events import dataset, facet, run_event, schema
from tests.fixtures.postgres import empty
from tests.scale import full

from headwater.client import event as event_builders
from headwater.errors import HeadwaterError, InvalidChange, NotFound
from headwater.intake.events.accept import Intake
from headwater.intake.people import manual_rows
from headwater.intake.people.manual import record
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model import manual, version
from headwater.model.identity import Identity
from headwater.model.manual import Target
from headwater.model.names import DatasetName
from headwater.model.tags import TagSchema
from headwater.store.database import Database
from headwater.store.events import projections, server_state
from headwater.store.events.rows import merge_rows
from headwater.store.lineage import names
from headwater.store.people import annotations, changes

NAMES = ["/a", "/b", "/c"]


def of(name: str, field: str | None = None) -> Target:
    return Target("dataset", name, "file", field)


def job(name: str) -> Target:
    return Target("job", name, "test")


def id_of(name: str) -> Any:
    return version.dataset_id(DatasetName("file", name))


datasets = st.sampled_from(NAMES).map(of)
jobs = st.sampled_from(["one", "two"]).map(job)
nodes = datasets | jobs
hideable = nodes | st.just(Target("namespace", "file"))
texts = st.sampled_from(["x", "y"])


@st.composite
def edges(draw: Any) -> Any:
    source = draw(nodes)
    target = draw(jobs if source.kind == "dataset" and draw(st.booleans()) else datasets)
    if source == target:
        target = job("one") if source.kind == "dataset" else of("/a")
    columns = () if "job" in {source.kind, target.kind} else draw(st.sampled_from([(), (manual.ColumnPair("x", "y"),)]))
    return manual.DrawEdge(source, target, columns) if draw(st.booleans()) else manual.RemoveEdge(source, target)


said = st.one_of(
    st.builds(manual.Describe, nodes, texts | st.none()),
    st.builds(manual.Own, nodes, texts, texts | st.none()),
    st.builds(manual.Disown, nodes, texts),
    st.builds(manual.Tag, nodes | st.just(of("/a", "x")), st.sampled_from(["pii", "PII"]), texts | st.none()),
    st.builds(manual.Untag, nodes, st.just("Pii")),
    st.builds(manual.Hide, hideable),
    st.builds(manual.Unhide, hideable),
    st.builds(manual.Link, datasets, datasets),
    st.builds(manual.Unlink, datasets, datasets),
    st.builds(manual.NameNamespace, st.sampled_from(["file", "new"]), texts),
    edges(),
)
times = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])


@st.composite
def events(draw: Any) -> dict[str, Any]:
    symlinks = {}
    if draw(st.integers(0, 2)) == 0:
        symlinks["symlinks"] = facet(
            identifiers=[{"namespace": "file", "name": draw(st.sampled_from(NAMES)), "type": "TABLE"}]
        )
    inputs = [dataset(draw(st.sampled_from(NAMES)), **symlinks)] if draw(st.booleans()) else []
    outputs = [draw(st.sampled_from(NAMES))] if draw(st.booleans()) else []
    return run_event(
        "COMPLETE", draw(st.integers(1, 3)), draw(st.sampled_from(["one", "two"])), inputs, outputs, at=draw(times)
    )


async def _do(database: Database, intake: Intake, step: Any) -> None:
    if isinstance(step, dict):
        await intake.accept(json.dumps(step).encode())
        return
    # A change of an unknown node is refused; the property is about recorded changes.
    with contextlib.suppress(NotFound, InvalidChange):
        await record(database, step, "ada")


async def _all(database: Database, steps: list[Any]) -> None:
    intake = Intake(database)
    for step in steps:
        await _do(database, intake, step)


@settings(
    max_examples=full(80, 25),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(events() | said, min_size=1, max_size=14))
def test_a_rebuild_makes_the_same_tables(database: Database, run: Any, steps: list[Any]) -> None:
    run(empty(database))
    run(_all(database, steps))
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


@settings(
    max_examples=full(40, 15),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(told=st.lists(said, min_size=1, max_size=8), data=st.data())
def test_changes_fold_in_any_order_and_split(database: Database, run: Any, told: list[Any], data: Any) -> None:
    """Each change with its time and id, as the log has it; the tables are those of the log's order, for any order of application."""
    identity = Identity()
    ids = sorted(uuid.UUID(event_builders.run_id()) for _ in told)
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = [
        manual_rows.project_change(change, moment, id_, "ada", identity) for change, id_ in zip(told, ids, strict=True)
    ]

    async def apply(order: list[Any], cut: int) -> dict[str, str]:
        await empty(database)
        await Intake(database).accept(json.dumps(run_event("START", 1, "one", NAMES, ["/b"])).encode())
        for part in (order[:cut], order[cut:]):
            async with database.transaction() as connection:
                await projections.alone(connection)
                async with connection.pipeline() as pipeline:
                    await projections.write(connection, pipeline, merge_rows(part))
                await annotations.settle(connection, None, None)
        return await fingerprints(database)

    expected = run(apply(rows, len(rows)))
    other = data.draw(st.permutations(rows))
    again = data.draw(st.lists(st.sampled_from(rows), max_size=3))
    assert run(apply(other + again, data.draw(st.integers(0, len(other))))) == expected


async def _column(database: Database, sql: str) -> list[Any]:
    async with database.connection() as connection:
        return [row[0] for row in await (await connection.execute(sql)).fetchall()]  # type: ignore[call-overload]


def test_what_is_taken_back_leaves_what_events_said(database: Database, run: Any) -> None:
    run(_all(database, [run_event("COMPLETE", 1, "one", ["/a"], ["/b"])]))
    before = run(fingerprints(database))
    run(_all(database, [manual.Link(of("/a"), of("/b")), manual.Unlink(of("/b"), of("/a"))]))
    after = run(fingerprints(database))
    assert {table for table in after if after[table] != before[table]} <= {"annotations", "datasets"}
    assert run(_column(database, "select count(*) from dataset_canonical")) == [0]


def test_unlinking_splits_a_group_where_people_joined_it(database: Database, run: Any) -> None:
    """a–b by an event, b–c by a person: without the person a–b stay one."""
    told = dataset("/a", symlinks=facet(identifiers=[{"namespace": "file", "name": "/b", "type": "TABLE"}]))
    run(_all(database, [run_event("COMPLETE", 1, "one", [told], ["/c"]), manual.Link(of("/b"), of("/c"))]))

    async def canonical() -> Any:
        async with database.connection() as connection:
            return await names.canonical(connection, [id_of("/b"), id_of("/c")])

    assert run(canonical()) == {id_of("/b"): id_of("/a"), id_of("/c"): id_of("/a")}
    run(record(database, manual.Unlink(of("/b"), of("/c")), "ada"))
    assert run(canonical()) == {id_of("/b"): id_of("/a")}


def test_an_event_shows_again_what_it_speaks_of(database: Database, run: Any) -> None:
    intake = Intake(database)
    first = run_event("COMPLETE", 1, "one", ["/a"], ["/b"])

    async def told() -> list[Any]:
        await intake.accept(json.dumps(first).encode())
        await record(database, manual.Hide(Target("namespace", "file")), "ada")
        hidden = await _column(database, "select name from datasets where hidden order by name")
        # The same event again is no news, and neither is what speaks of another namespace.
        await intake.accept(json.dumps(first).encode())
        await intake.accept(json.dumps(run_event("COMPLETE", 3, "two")).encode())
        still = await _column(database, "select name from datasets where hidden order by name")
        await intake.accept(json.dumps(run_event("COMPLETE", 2, "one", ["/a"], ["/new"])).encode())
        left = await _column(database, "select name from datasets where hidden order by name")
        spaces = await _column(database, "select name from namespaces where hidden")
        return [hidden, still, left, spaces]

    assert run(told()) == [["/a", "/b"], ["/a", "/b"], ["/b"], []]

    async def authors() -> list[Any]:
        async with database.connection() as connection:
            found, total = await changes.search(
                connection,
                target=None,
                author=None,
                action="unhide",
                since="-infinity",
                until="infinity",
                limit=9,
                offset=0,
            )
        assert total == 2
        return sorted((one.target, one.author) for one in found)

    assert run(authors()) == [("dataset:file:/a", "https://example.test"), ("namespace:file", "https://example.test")]
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_hiding_one_name_hides_all_and_speaking_of_one_shows_all(database: Database, run: Any) -> None:
    intake = Intake(database)
    told = dataset("/a", symlinks=facet(identifiers=[{"namespace": "file", "name": "/b", "type": "TABLE"}]))

    async def story() -> list[Any]:
        await intake.accept(json.dumps(run_event("COMPLETE", 1, "one", [told])).encode())
        await record(database, manual.Hide(of("/b")), "ada")
        hidden = await _column(database, "select name from datasets where hidden order by name")
        await intake.accept(json.dumps(run_event("COMPLETE", 2, "one", ["/b"])).encode())
        return [hidden, await _column(database, "select name from datasets where hidden")]

    assert run(story()) == [["/a", "/b"], []]


def test_hiding_a_namespace_moves_the_generation(database: Database, run: Any) -> None:
    async def generation() -> int:
        async with database.connection() as connection:
            return (await server_state.read(connection)).generation

    run(_all(database, [run_event("COMPLETE", 1, "one", ["/a"])]))
    before = run(generation())
    run(record(database, manual.Describe(of("/a"), "x"), "ada"))
    assert run(generation()) == before
    run(record(database, manual.Hide(Target("namespace", "file")), "ada"))
    assert run(generation()) == before + 1


def test_what_is_so_already_is_not_said_again(database: Database, run: Any) -> None:
    run(_all(database, [run_event("COMPLETE", 1, "one", ["/a"])]))
    first = run(record(database, manual.Describe(of("/a"), "x"), "ada"))
    again = run(record(database, manual.Describe(of("/a"), "x"), "bob"))
    other = run(record(database, manual.Describe(of("/a"), "y"), "bob"))
    assert (first.changed, again.changed, other.changed) == (True, False, True)
    assert (other.before, other.after) == ({"description": {"text": "x"}}, {"description": {"text": "y"}})
    assert run(_column(database, "select author from changes order by at")) == ["ada", "bob"]


def test_later_wins_even_when_the_clock_goes_back(database: Database, run: Any) -> None:
    run(_all(database, [run_event("COMPLETE", 1, "one", ["/a"])]))
    run(record(database, manual.Describe(of("/a"), "x"), "ada"))

    async def ahead() -> None:
        async with database.connection() as connection:
            await connection.execute("update changes set at = at + interval '1 hour'")
            await connection.execute("update annotations set at = at + interval '1 hour'")

    run(ahead())
    run(record(database, manual.Describe(of("/a"), "y"), "ada"))
    assert run(_column(database, "select value->>'text' from annotations")) == ["y"]


@pytest.mark.parametrize(
    "change",
    [
        manual.Describe(of("/nothing"), "x"),
        manual.Describe(of("/a", "nothing"), "x"),
        manual.Hide(Target("namespace", "nothing")),
        manual.Unlink(of("/a"), of("/b")),
    ],
    ids=lambda change: type(change).__name__ + change.target.text,
)
def test_what_is_not_known_cannot_be_spoken_of(database: Database, run: Any, change: Any) -> None:
    run(_all(database, [run_event("COMPLETE", 1, "one", [dataset("/a", **schema("x"))], ["/b"])]))
    with pytest.raises(NotFound):
        run(record(database, change, "ada"))
    assert run(_column(database, "select count(*) from changes")) == [0]


def test_values_fit_their_schema(database: Database, run: Any) -> None:
    run(_all(database, [run_event("COMPLETE", 1, "one", [dataset("/a", **schema("X"))])]))
    run(
        record(
            database,
            manual.DefineTag("Tier", TagSchema("enum", values=("Gold", "Silver"), applies_to=("column",))),
            "ada",
        )
    )
    kept = run(record(database, manual.Tag(of("/a", "x"), "TIER", "gold"), "ada"))
    assert kept.target == "dataset:file:/a#X"
    assert kept.after == {"tag:tier": {"name": "Tier", "value": "Gold"}}
    for change in (
        manual.Tag(of("/a", "x"), "tier", "bronze"),
        manual.Tag(of("/a", "x"), "tier"),
        manual.Tag(of("/a"), "tier", "gold"),
    ):
        with pytest.raises(InvalidChange, match=r"one of Gold, Silver|for column"):
            run(record(database, change, "ada"))
    with pytest.raises(InvalidChange, match="not defined"):
        run(record(database, manual.Tag(of("/a"), "other"), "ada", strict_tags=True))
    run(record(database, manual.RemoveTag("tier"), "ada"))
    assert run(record(database, manual.Tag(of("/a"), "tier", 3), "ada")).changed


def test_errors_are_ours() -> None:
    assert issubclass(InvalidChange, HeadwaterError)
    assert InvalidChange.permanent
