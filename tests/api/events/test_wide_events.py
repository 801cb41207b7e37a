"""Events with thousands of datasets: accepted in a process of their own, or refused for good; other requests are answered meanwhile."""

import asyncio
import json
import time
import uuid
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, run_event, schema
from tests.fixtures.postgres import empty

from headwater.errors import InvalidEvent, Overloaded, TooLarge
from headwater.intake.events import wide
from headwater.intake.events.accept import Accepted, Arrival, Intake
from headwater.intake.events.wide import WideEvents
from headwater.intake.events.width import Limits
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.store import search
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

LIMITS = Limits(datasets=3000, correlated=100)


class Elsewhere(WideEvents):
    """Counts what it accepts."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.accepted = 0

    async def accept(self, body: bytes, arrival: Arrival | None = None) -> Accepted:
        self.accepted += 1
        return await super().accept(body, arrival)


@pytest.fixture
def elsewhere(postgres: EmbeddedPostgres, database: Database) -> Elsewhere:
    return Elsewhere(postgres.url, LIMITS)


@pytest.fixture
def intake(database: Database, elsewhere: Elsewhere) -> Intake:
    return Intake(database, limits=LIMITS, wide=elsewhere)


def event(inputs: int, number: int = 1, name: str = "wide", outputs: int = 1) -> bytes:
    return encoded(
        run_event("COMPLETE", number, name, [f"/in/{i}" for i in range(inputs)], [f"/out/{i}" for i in range(outputs)])
    )


def test_a_wide_event_is_stored_as_any_other(
    database: Database, run: Any, intake: Intake, elsewhere: Elsewhere
) -> None:
    body = event(2500)
    run(Intake(database, limits=LIMITS).accept(body))
    expected = run(fingerprints(database))
    run(empty(database))
    receipt = run(intake.accept(body))
    assert elsewhere.accepted == 1
    assert (receipt.kind, receipt.duplicate, len(receipt.created)) == ("run", False, 2503)
    assert run(fingerprints(database)) == expected
    again = run(intake.accept(body))
    assert (again.duplicate, again.created) == (True, [])


def test_documents_of_new_datasets_are_those_that_a_rebuild_makes(database: Database, run: Any) -> None:
    """Most are made from the names alone; not those that have facets, other names, or descriptions from before they were reported."""
    inputs: list[Any] = [f"/in/{i}" for i in range(1200)]
    inputs[3] = dataset("/in/3", symlinks=facet(identifiers=[{"namespace": "hive", "name": "t", "type": "TABLE"}]))
    inputs[4] = dataset("/in/4", documentation=facet(description="orders of today"), **schema("amount"))
    body = encoded(run_event("COMPLETE", 1, "first", inputs, ["/out"]))

    async def store() -> None:
        async with database.transaction() as connection:
            for target in ("dataset:file:/in/5", "dataset:file:/in/6#amount"):
                await connection.execute(
                    "insert into annotations values (%s, 'description', '', '{\"text\": \"said before\"}', false, 'me', now(), gen_random_uuid())",
                    (target,),
                )
        await Intake(database, limits=LIMITS).accept(body)

    async def make_again() -> None:
        async with database.transaction() as connection:
            await connection.execute("update search_documents set source = gen_random_uuid(), words = ''")
            await search.refresh_all(connection)

    run(store())
    stored = run(fingerprints(database))
    run(make_again())
    assert run(fingerprints(database)) == stored


def test_a_batch_keeps_its_order_and_each_event_stands_alone(run: Any, intake: Intake, elsewhere: Elsewhere) -> None:
    bodies = [
        event(1, 1, "a"),
        event(2500, 2, "b"),
        b'{"no": "run"}',
        event(4000, 3, "c"),
        event(1, 4, "d"),
        event(2600, 5, "e"),
    ]
    accepted = run(intake.accept_batch(b"[" + b",".join(bodies) + b"]"))
    names = [next(node for node in receipt.created if node.startswith("job:"))[-1] for receipt in accepted.receipts]
    assert names == ["a", "b", "d", "e"]
    assert [(refusal.index, refusal.code) for refusal in accepted.refused] == [(2, "invalid_event"), (3, "too_large")]
    assert elsewhere.accepted == 3


@pytest.mark.parametrize(
    ("inputs", "outputs", "where"),
    [(3001, 1, "inputs has 3,001"), (1, 3001, "outputs has 3,001"), (2990, 3001, "outputs")],
)
def test_too_wide_is_refused_for_good_with_the_way_out(
    run: Any, intake: Intake, inputs: int, outputs: int, where: str
) -> None:
    with pytest.raises(TooLarge, match=where) as refused:
        run(intake.accept(event(inputs, outputs=outputs)))
    assert "several events of the same run" in refused.value.message
    assert "HEADWATER_SERVER__MAX_DATASETS_PER_EVENT" in refused.value.message
    run(intake.accept(event(3000)))


def test_in_disguise_it_is_refused_too(run: Any, database: Database) -> None:
    """The guess from the bytes can be wrong; the limit is of what was read."""
    body = event(3001).replace(b'"namespace"', b'"\\u006eamespace"')
    elsewhere = Elsewhere("postgresql:///none", 10, LIMITS)
    with pytest.raises(TooLarge):
        run(Intake(database, limits=LIMITS, wide=elsewhere).accept(body))
    assert elsewhere.accepted == 0


def test_correlated_pairs_have_a_limit(run: Any, intake: Intake) -> None:
    def correlated(inputs: int, outputs: int) -> bytes:
        told = run_event("COMPLETE", 1, "c", [f"/in/{i}" for i in range(inputs)], [f"/out/{i}" for i in range(outputs)])
        told["run"]["facets"] = {"headwater_step": {"_producer": "p", "_schemaURL": "s", "parents": []}}
        return encoded(told)

    with pytest.raises(TooLarge, match="11 inputs with 10 outputs, 110 pairs"):
        run(intake.accept(correlated(11, 10)))
    assert run(intake.accept(correlated(10, 10))).created
    assert run(intake.accept(event(11, outputs=10))).created


def test_errors_are_the_same_as_here(run: Any, intake: Intake) -> None:
    with pytest.raises(InvalidEvent, match="run"):
        run(intake.accept(event(2500).replace(b'"runId"', b'"noId"')))
    with pytest.raises(InvalidEvent):
        run(intake.accept(b'{"a": "' + b"x" * (9 << 20) + b'"}'))


def test_a_process_that_ends_early_stores_nothing(
    run: Any, database: Database, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run(fingerprints(database))
    monkeypatch.setattr(wide.sys, "executable", "/bin/false")
    with pytest.raises(Overloaded, match="not stored"):
        run(intake.accept(event(2500)))
    assert run(fingerprints(database)) == before


def test_a_request_that_is_given_up_ends_its_process(run: Any, database: Database, intake: Intake) -> None:
    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(intake.accept(event(3000)), 0.2)

    before = run(fingerprints(database))
    run(give_up())
    time.sleep(1)
    assert run(fingerprints(database)) == before


def test_wide_events_go_one_at_a_time(run: Any, intake: Intake, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0
    start = wide._run

    async def counted(request: bytes) -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await start(request)
        finally:
            running -= 1

    async def all_at_once() -> None:
        await asyncio.gather(*(intake.accept(event(2100, number, f"job-{number}")) for number in range(4)))

    monkeypatch.setattr(wide, "_run", counted)
    run(all_at_once())
    assert most == 1


def test_over_http(client: Any) -> None:
    name = uuid.uuid4().hex
    body = event(2500, name=name)
    reply = client.post("/api/v1/lineage", body, content_type="application/json")
    assert reply.status_code == 201, reply.text
    told = client.get("/api/v2/lineage", node=f"job:{json.loads(body)['job']['namespace']}:{name}", max_nodes=5000)
    assert len(told.json()["nodes"]) > 2000
    refused = client.post("/api/v1/lineage", event(50_001), content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


def test_an_event_that_cannot_be_read_does_not_refuse_its_batch(client: Any) -> None:
    bodies = [
        event(1, 1, "good"),
        event(1, 2, "bad").replace(b'"wide"', b"NaN").replace(b'"bad"', b"NaN"),
        event(1, 3, "deep"),
    ]
    bodies[2] = bodies[2][:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    reply = client.post("/api/v1/lineage/batch", b"[" + b",".join(bodies) + b"]", content_type="application/json")
    told = reply.json()
    assert told["summary"]["received"] == 3
    assert told["summary"]["successful"] == 1
    assert [failed["index"] for failed in told["failed_events"]] == [1, 2]
