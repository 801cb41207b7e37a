"""Names that mean one dataset: links told at any time, rules that change, partitions and who wrote them."""

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.events import RUN, dataset, facet, run_event
from tests.fixtures.postgres import empty
from tests.scale import full

from headwater.answer.lineage import catalog, lineage, runs
from headwater.answer.people import identity as answers
from headwater.intake.events.accept import Intake
from headwater.intake.people import identity as writes
from headwater.intake.people.audit import by_command
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model.identity import Rule
from headwater.store.database import Database


def linked(name: str, *others: str, namespace: str = "file") -> dict[str, Any]:
    """A dataset with other names, `namespace name` each."""
    told = [dict(zip(("namespace", "name"), other.split(" "), strict=True)) | {"type": "TABLE"} for other in others]
    return dataset(name, namespace, symlinks=facet(identifiers=told))


def send(database: Database, run: Any, *events: dict[str, Any]) -> None:
    """Each in a transaction of its own."""

    async def work() -> None:
        intake = Intake(database)
        for event in events:
            await intake.accept(json.dumps(event).encode())

    run(work())


def keep(database: Database, run: Any, *rules: Rule, dry_run: bool = False) -> writes.StoredRules:
    by = by_command("identity set", "set_identity", "identity")
    return run(writes.store_rules(database, tuple(rules), by=by, dry_run=dry_run))


def nodes(database: Database, run: Any, root: str) -> set[str]:
    question = lineage.Question(root, "both", 5, False, None, 100, None)
    return {node.id for node in run(lineage.lineage(database, question)).nodes}


def all_names(database: Database, run: Any) -> set[str]:
    told = run(catalog.datasets(database, catalog.Listing()))
    return {one.id for one in told.datasets}


WRITTEN = run_event("COMPLETE", 1, "writer", ["/in"], ["/warehouse/t"], at="2026-01-01T00:00:00Z")
READ = run_event("COMPLETE", 2, "reader", [dataset("db.t", "hive")], ["/out"], at="2026-01-02T00:00:00Z")
LINK = {"eventTime": "2026-01-03T00:00:00Z", "producer": "p", "dataset": linked("/warehouse/t", "hive db.t")}


def test_a_link_told_late_joins_what_both_names_have(database: Database, run: Any) -> None:
    send(database, run, WRITTEN, READ)
    assert "dataset:file:/out" not in nodes(database, run, "dataset:file:/in")
    send(database, run, LINK)
    whole = {"dataset:file:/in", "job:test:writer", "dataset:file:/warehouse/t", "job:test:reader", "dataset:file:/out"}
    assert nodes(database, run, "dataset:file:/in") == whole
    assert nodes(database, run, "dataset:hive:db.t") == whole
    found = run(runs.run(database, RUN.format(2)))
    assert [(one.dataset, one.written_by.run_id) for one in found.inputs] == [
        ("dataset:file:/warehouse/t", RUN.format(1))
    ]
    assert all_names(database, run) == {"dataset:file:/in", "dataset:file:/warehouse/t", "dataset:file:/out"}


def test_chains_of_links_are_one_dataset(database: Database, run: Any) -> None:
    """a is b, c is d, then b is c: four names, one dataset, whichever link came last; so are circles."""
    chain = [linked("/a", "x b"), linked("c", "y d", namespace="x"), linked("b", "x c", namespace="x")]
    events = [
        {"eventTime": f"2026-01-0{i + 1}T00:00:00Z", "producer": "p", "dataset": one} for i, one in enumerate(chain)
    ]
    circle = {"eventTime": "2026-01-05T00:00:00Z", "producer": "p", "dataset": linked("d", "file /a", namespace="y")}
    prints = []
    for order in (events, events[::-1], [events[1], events[2], events[0]]):
        run(empty(database))
        send(database, run, *order)
        assert all_names(database, run) == {"dataset:file:/a"}
        prints.append(run(fingerprints(database)))
    assert prints[0] == prints[1] == prints[2]
    send(database, run, circle)
    assert len(all_names(database, run)) == 1


places = st.sampled_from(["file /a", "file /b", "file /c", "hive a", "hive b", "s3a://x c/", "file /a/2026-01-01"])


@st.composite
def told(draw: Any) -> dict[str, Any]:
    def one() -> dict[str, Any]:
        namespace, name = draw(places).split(" ")
        others = draw(st.lists(places, max_size=2))
        return linked(name, *others, namespace=namespace) if others else dataset(name, namespace)

    at = draw(st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]))
    if draw(st.booleans()):
        return {"eventTime": at, "producer": "p", "dataset": one()}
    job, number = draw(st.sampled_from(["one", "two"])), draw(st.integers(1, 3))
    return run_event("COMPLETE", number, job, [one()], [one()], at=at)


@settings(
    max_examples=full(40, 15),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=st.lists(told(), min_size=1, max_size=8), data=st.data())
def test_links_in_any_order_make_the_same_tables(database: Database, run: Any, events: list[Any], data: Any) -> None:
    run(empty(database))
    send(database, run, *events)
    expected = run(fingerprints(database))
    run(empty(database))
    send(database, run, *data.draw(st.permutations(events)))
    assert run(fingerprints(database)) == expected
    run(rebuild(database))
    assert run(fingerprints(database)) == expected


def test_rules_hold_from_now_and_for_the_past_after_a_rebuild(database: Database, run: Any) -> None:
    send(database, run, run_event("COMPLETE", 1, "one", ["/mnt/lake/raw"], ["/mnt/lake/clean"]))
    rules = (Rule("name", "/mnt/lake/", "/lake/", "file"),)
    tried = keep(database, run, *rules, dry_run=True)
    assert (tried.names, tried.moving, tried.at_least, tried.dry_run) == (2, 2, False, True)
    assert run(answers.rules(database)) == answers.Rules((), False)
    kept = keep(database, run, *rules)
    assert (kept.names, kept.moving) == (2, 2)
    assert "headwater server rebuild" in kept.next
    assert run(answers.rules(database)) == answers.Rules(rules, True)
    send(database, run, run_event("COMPLETE", 2, "two", ["/mnt/lake/clean"], ["/report"]))
    assert "dataset:file:/mnt/lake/clean" in all_names(database, run)
    assert nodes(database, run, "dataset:file:/lake/clean") == {
        "dataset:file:/lake/clean",
        "job:test:two",
        "dataset:file:/report",
    }
    run(rebuild(database))
    assert run(answers.rules(database)) == answers.Rules(rules, False)
    assert all_names(database, run) == {"dataset:file:/lake/raw", "dataset:file:/lake/clean", "dataset:file:/report"}
    assert "dataset:file:/lake/raw" in nodes(database, run, "dataset:file:/report")
    parting = keep(database, run)
    assert parting.at_least
    run(rebuild(database))
    assert "dataset:file:/mnt/lake/raw" in all_names(database, run)


def test_a_process_that_remembers_old_rules_follows_the_new(database: Database, run: Any) -> None:
    async def work() -> None:
        intake = Intake(database)
        await intake.accept(json.dumps(run_event("COMPLETE", 1, "one", [], ["/a/x"])).encode())
        by = by_command("identity set", "set_identity", "identity")
        await writes.store_rules(database, (Rule("name", "/a/", "/b/"),), by=by)
        await intake.accept(json.dumps(run_event("COMPLETE", 2, "one", [], ["/a/y"])).encode())

    run(work())
    assert all_names(database, run) == {"dataset:file:/a/x", "dataset:file:/b/y"}


def test_partitions_are_parts_of_their_dataset(database: Database, run: Any) -> None:
    send(
        database,
        run,
        run_event("COMPLETE", 1, "daily", ["/raw/2026-01-01"], ["/t/day=1/country=de", "/t/day=1/country=fr"]),
    )
    assert all_names(database, run) == {"dataset:file:/raw", "dataset:file:/t"}
    found = run(runs.run(database, RUN.format(1)))
    assert [one.parts for one in found.inputs] == [[{"date": "2026-01-01"}]]
    assert [one.parts for one in found.outputs] == [[{"country": "de", "day": "1"}, {"country": "fr", "day": "1"}]]


def written(number: int, at: str, *outputs: str) -> dict[str, Any]:
    return run_event("COMPLETE", number, "daily", [], list(outputs), at=at)


def writer_of(database: Database, run: Any, number: int) -> str | None:
    (one,) = run(runs.run(database, RUN.format(number))).inputs
    return None if one.written_by is None else one.written_by.run_id


def test_a_reader_of_a_partition_is_told_who_wrote_that_partition(database: Database, run: Any) -> None:
    send(
        database,
        run,
        written(1, "2026-01-01T00:00:00Z", "/t/day=1/country=de"),
        written(2, "2026-01-02T00:00:00Z", "/t/day=2/country=de"),
        written(3, "2026-01-03T00:00:00Z", "/t/day=3/country=fr"),
        run_event("COMPLETE", 11, "exact", ["/t/day=1/country=de"], [], at="2026-01-09T00:00:00Z"),
        run_event("COMPLETE", 12, "wider", ["/t/day=2"], [], at="2026-01-09T00:00:00Z"),
        run_event("COMPLETE", 13, "whole", ["/t"], [], at="2026-01-09T00:00:00Z"),
        run_event("COMPLETE", 14, "never", ["/t/day=4"], [], at="2026-01-09T00:00:00Z"),
        run_event("COMPLETE", 15, "several", ["/t/day=1", "/t/day=2"], [], at="2026-01-09T00:00:00Z"),
    )
    assert [writer_of(database, run, number) for number in (11, 12, 13, 15)] == [RUN.format(n) for n in (1, 2, 3, 2)]
    assert writer_of(database, run, 14) is None
    send(
        database,
        run,
        written(4, "2026-01-10T00:00:00Z", "/t"),
        run_event("COMPLETE", 16, "after", ["/t/day=1"], [], at="2026-01-11T00:00:00Z"),
    )
    assert writer_of(database, run, 16) == RUN.format(4), "who said no part wrote them all"
