"""Dead letters over a real RabbitMQ and a real PostgreSQL: looked at, tried again, thrown away, reconciled."""

import asyncio
import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.queues import batch, letters, logged, measured, publish, received

from headwater import telemetry
from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Accepted, Intake
from headwater.intake.events.isolation import IsolatedIntake
from headwater.intake.events.tolerant import TolerantIntake
from headwater.intake.queue import reconciliation
from headwater.intake.queue.amqp import Bad, Queues, bury, connected, declared
from headwater.intake.queue.dead_letters import LetterFilter, discard, find_letter, listed, replay
from headwater.intake.queue.reconciliation import Reconciliation, Report
from headwater.store.database import Database

ITEM = uuid.UUID("0199c0de-0000-7000-8000-00000000abcd")


def wrote(run: int, name: str, item: uuid.UUID = ITEM) -> dict[str, Any]:
    """A run's event that says it made the item, in a dataset of this name."""
    event = run_event("COMPLETE", run, "job", [], [name])
    event["outputs"][0]["outputFacets"] = {"headwater_item": {"id": str(item)}}
    return event


async def written(queues: Queues, *bad: tuple[bytes, str]) -> None:
    async with connected(queues, "test") as connection:
        await declared(connection, queues.dead_letters, {"x-queue-type": "quorum"})
        channel = await connection.channel()
        for number, (body, code) in enumerate(bad):
            await bury(channel, queues.dead_letters, [Bad(body, code, f"reason {number}", f"m{number}", 0)])


async def reconciled(queues: Queues, database: Database, **how: Any) -> Report:
    return await Reconciliation(queues, database, TolerantIntake(database), IsolatedIntake(database.url)).run(**how)


def test_looking_moves_nothing(queues: Queues, run: Any) -> None:
    event = encoded(run_event("COMPLETE", 1, "job"))
    bad = [(b"1", "invalid_event"), (event, "database_refused"), (b"3", "invalid_event"), (b"4", "too_large")]

    async def scene() -> None:
        await written(queues, *bad)
        first = await listed(queues, LetterFilter())
        assert [(one.code, one.reason, one.origin) for one in first] == [
            (code, f"reason {number}", f"m{number}#0") for number, (_, code) in enumerate(bad)
        ]
        assert (first[1].job, first[1].event_type) == ("test/job", "COMPLETE")
        for _ in range(30):  # more than RabbitMQ 4 lets pass without being told
            again = await listed(queues, LetterFilter())
        assert again == first
        assert [one.origin for one in await listed(queues, LetterFilter(codes=frozenset({"invalid_event"})))] == [
            "m0#0",
            "m2#0",
        ]
        assert [one.origin for one in await listed(queues, LetterFilter(limit=2))] == ["m0#0", "m1#0"]
        assert first[2].at is not None
        assert [one.origin for one in await listed(queues, LetterFilter(before=first[2].at))] == ["m0#0", "m1#0"]
        assert [one.origin for one in await listed(queues, LetterFilter(after=first[2].at))] == ["m2#0", "m3#0"]
        held = await find_letter(queues, first[1].id)
        assert held is not None
        assert held.body == event
        assert await find_letter(queues, str(uuid.UUID(int=0))) is None
        assert [message.body for message in await letters(queues)] == [body for body, _ in bad]

    run(scene())


def test_discarded_is_gone_and_nothing_else(queues: Queues, run: Any) -> None:
    async def scene() -> None:
        await written(queues, (b"1", "invalid_event"), (b"2", "too_large"), (b"3", "invalid_event"))
        (one, _, three) = await listed(queues, LetterFilter())
        done = await discard(queues, LetterFilter(ids=frozenset({one.id, three.id})))
        assert [(o.id, o.outcome) for o in done] == [(one.id, "discarded"), (three.id, "discarded")]
        assert [message.body for message in await letters(queues)] == [b"2"]

    run(scene())


def test_replayed_is_in_the_log_and_the_rest_stays(queues: Queues, database: Database, run: Any) -> None:
    good, known = (encoded(run_event("COMPLETE", n, "job")) for n in range(2))
    whole = batch(run_event("COMPLETE", 7, "job"), {"no": "identity"})

    async def scene() -> None:
        await Intake(database).accept_each([known])
        await written(
            queues, (good, "database_refused"), (b"no", "invalid_event"), (known, "redelivered"), (whole, "too_large")
        )
        accept, trial = TolerantIntake(database), IsolatedIntake(database.url)
        done = await replay(queues, LetterFilter(), accept, trial)
        assert [o.outcome for o in done] == ["replayed", "left", "delivered", "replayed"]
        assert await logged(database) == 3
        left = await listed(queues, LetterFilter())
        assert [(one.code, one.origin) for one in left] == [("invalid_event", "m1#0"), ("invalid_event", "m3#0#1")]
        again = await replay(queues, LetterFilter(), accept, trial)
        assert [o.outcome for o in again] == ["left", "left"]
        assert len(await letters(queues)) == 2

    run(scene())


def test_an_interrupted_replay_loses_nothing(queues: Queues, database: Database, run: Any) -> None:
    bodies = [encoded(run_event("COMPLETE", n, "job")) for n in range(450)]
    accept, calls = TolerantIntake(database), 0

    async def away_in_the_middle(some: Sequence[bytes]) -> Accepted:
        nonlocal calls
        calls += 1
        if calls == 2:
            await accept(some)  # committed, and the answer is lost
            raise DatabaseUnavailable("away")
        return await accept(some)

    async def scene() -> None:
        await written(queues, *((body, "database_refused") for body in bodies))
        with pytest.raises(DatabaseUnavailable):
            await replay(queues, LetterFilter(), away_in_the_middle, accept)
        assert len(await listed(queues, LetterFilter())) == 250
        done = await replay(queues, LetterFilter(), accept, accept)
        assert [o.outcome for o in done] == ["delivered"] * 200 + ["replayed"] * 50
        # Acknowledgements may be lost with their channel: a busy broker gives those letters once more, and they are known.
        again = await replay(queues, LetterFilter(), accept, accept)
        assert {o.outcome for o in again} <= {"delivered"}
        assert await logged(database) == 450
        assert await letters(queues) == []

    run(scene())


def test_reconciliation_explains_accepts_and_leaves(queues: Queues, database: Database, run: Any) -> None:
    good, known, other = (encoded(run_event("COMPLETE", n, "job")) for n in range(3))

    async def scene() -> None:
        await Intake(database).accept_each([known])
        before = await reconciliation.last(database)  # the audit log is never emptied
        await written(
            queues,
            (good, "database_refused"), (good, "database_refused"), (b"{}", "invalid_event"),
            (known, "unexpected_error"), (other, "redelivered"),
        )  # fmt: skip
        foreseen = await reconciled(queues, database, dry_run=True)
        assert foreseen.outcomes == {"replayed": 2, "resolved": 0, "delivered": 1, "doubled": 1, "left": 1}
        assert await logged(database) == 1
        assert len(await listed(queues, LetterFilter())) == 5
        assert await reconciliation.last(database) == before, "a dry run is no reconciliation"

        report = await reconciled(queues, database)
        assert report.outcomes == foreseen.outcomes
        assert report.letters == 5
        assert await logged(database) == 3
        groups = {group.code: group for group in report.groups}
        assert groups["database_refused"].outcomes == {"replayed": 1, "doubled": 1}
        assert groups["invalid_event"].outcomes == {"left": 1}
        assert "producer" in groups["invalid_event"].explanation
        assert len(groups["invalid_event"].left) == len(groups["invalid_event"].reasons) == 1
        told = await reconciliation.last(database)
        assert told is not None
        assert told != before
        assert told.outcomes == report.outcomes

        again = await reconciled(queues, database)
        assert again.outcomes == {"replayed": 0, "resolved": 0, "delivered": 0, "doubled": 0, "left": 1}
        assert await logged(database) == 3

    run(scene())


def test_a_collision_is_resolved_and_both_are_kept(queues: Queues, database: Database, run: Any) -> None:
    first, second, third = wrote(1, "/a"), wrote(2, "/b"), wrote(3, "/c")

    async def items() -> dict[str, tuple[Any, ...]]:
        async with database.connection() as connection:
            asked = await connection.execute(
                "select i.id::text, i.run_id::text, d.name, i.collided from correlation_items i join datasets d on d.id = i.dataset_id"
                " where i.kind = 'ITEM' and i.run_id is not null"
            )
            return {row[0]: row[1:] for row in await asked.fetchall()}

    async def scene() -> None:
        await publish(queues, encoded(first), encoded(first))
        await received(queues, database)
        await publish(queues, batch(second, third, wrote(1, "/a")))
        totals = await received(queues, database)
        assert (totals.accepted, totals.duplicate, totals.dead_lettered) == (0, 1, 2)
        found = await listed(queues, LetterFilter())
        assert [one.code for one in found] == ["id_collision", "id_collision"]
        assert [
            o.outcome for o in await replay(queues, LetterFilter(), TolerantIntake(database), TolerantIntake(database))
        ] == ["left"] * 2

        report = await reconciled(queues, database)
        assert report.outcomes["resolved"] == 2
        assert await listed(queues, LetterFilter()) == []
        kept = await items()
        assert sorted(row[1] for row in kept.values()) == ["/a", "/b", "/c"]
        assert kept[str(ITEM)][1:] == ("/a", False)
        assert all(uuid.UUID(item).version == 7 and not row[2] for item, row in kept.items())
        async with database.connection() as connection:
            asked = await connection.execute("select body from events order by received_at desc")
            facets = [
                json.loads(row[0])["outputs"][0]["outputFacets"]["headwater_item"] for row in await asked.fetchall()
            ]
        assert sorted(facet.get("collided_with", "") for facet in facets) == ["", str(ITEM), str(ITEM)]

        # The same events again: the same fresh ids, and so nothing new.
        await publish(queues, batch(second, third))
        await received(queues, database)
        assert (await reconciled(queues, database)).outcomes["delivered"] == 2
        assert await items() == kept

    run(scene())


def test_one_message_with_two_claims_keeps_the_first(queues: Queues, database: Database, run: Any) -> None:
    async def scene() -> None:
        answer = await TolerantIntake(database)(
            [encoded(wrote(1, "/a")), encoded(wrote(1, "/b")), b"no", encoded(wrote(1, "/a"))]
        )
        assert [(one.index, one.code) for one in answer.refused] == [(1, "id_collision"), (2, "invalid_event")]
        assert len(answer.receipts) == 2

    run(scene())


def test_the_last_reconciliation_is_told_to_prometheus(queues: Queues, database: Database, run: Any) -> None:
    from headwater.api.receiver_metrics import ReceiverMetrics

    async def scene() -> None:
        await written(queues, (b"no", "invalid_event"))
        await reconciled(queues, database)
        following = asyncio.create_task(reconciliation.follow(database))
        while not any(isinstance(figures, telemetry.LastReconciliation) for figures in told):
            await asyncio.sleep(0.01)
        following.cancel()

    metrics = ReceiverMetrics()
    with measured() as told:
        run(scene())
    for figures in told:
        metrics.measured(figures)
    value = metrics.registry.get_sample_value
    assert value("headwater_reconciliation_letters", {"outcome": "left"}) == 1
    assert (value("headwater_reconciliation_timestamp_seconds") or 0) > 1.7e9
    assert value("headwater_dead_letters_total", {"code": "invalid_event"}) == 1


def test_a_trial_that_takes_the_process_down_costs_only_its_event(
    database: Database, run: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python runs `sitecustomize` at its start: here one that dies of an event with a certain word."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "import headwater.model.event as event\n"
        "read = event.read\n"
        "event.read = lambda body: os.kill(os.getpid(), signal.SIGKILL) if b'poison' in body else read(body)\n"
    )
    import headwater

    source = str(Path(headwater.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{source}")
    bodies = [encoded(run_event("COMPLETE", n, "poison" if n == 1 else "job")) for n in range(3)]

    async def scene() -> None:
        answer = await IsolatedIntake(database.url)(bodies)
        assert [(one.index, one.code) for one in answer.refused] == [(1, "redelivered")]
        assert "signal 9" in answer.refused[0].reason
        assert len(answer.receipts) == 2
        assert await logged(database) == 2

    run(scene())
