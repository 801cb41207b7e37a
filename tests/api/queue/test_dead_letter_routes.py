"""Dead letters over HTTP, from a real RabbitMQ: listed, read, tried again, thrown away, and who may."""

import json
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.queues import letters
from tests.fixtures.servers import inner

from headwater.intake.queue.amqp import Bad, Queues, bury, connected, declared
from headwater.settings import AmqpSettings

PATH = "/api/v2/admin/dead-letters"
GOOD = encoded(run_event("COMPLETE", 1, "late", [], ["/late"]))


@pytest.fixture
def with_broker(app: Any, queues: Queues, run: Any, monkeypatch: pytest.MonkeyPatch) -> Queues:
    """A server that is given the broker, and three letters: one that can be accepted now, two that never can."""
    settings = AmqpSettings(url=queues.url, queue=queues.events, dead_letters=queues.dead_letters)
    monkeypatch.setattr(inner(app).state.settings, "amqp", settings)

    async def fill() -> None:
        async with connected(queues, "test") as connection:
            await declared(connection, queues.dead_letters, {"x-queue-type": "quorum"})
            channel = await connection.channel()
            bad = [(GOOD, "database_refused"), (b"no json", "invalid_event"), (b'{"a": 1}', "invalid_event")]
            for number, (body, code) in enumerate(bad):
                await bury(channel, queues.dead_letters, [Bad(body, code, f"reason {number}", f"m{number}", 0)])

    run(fill())
    return queues


def post(client: Any, what: str, **chosen: Any) -> Any:
    return client.post(f"{PATH}/{what}", json.dumps(chosen).encode(), content_type="application/json")


def codes(client: Any) -> list[str]:
    return [one["code"] for one in client.get(PATH).json()["letters"]]


def test_a_list_moves_nothing_and_says_what_a_code_means(client: Any, with_broker: Queues, run: Any) -> None:
    found = client.get(PATH).json()
    assert (found["configured"], found["queue"], found["more"]) == (True, with_broker.dead_letters, False)
    first = found["letters"][0]
    assert (first["code"], first["job"], first["event_type"]) == ("database_refused", "test/late", "COMPLETE")
    assert first["explanation"].startswith("PostgreSQL refused the event")
    some = client.get(PATH, limit=2).json()
    assert (len(some["letters"]), some["more"]) == (2, True)
    assert len(run(letters(with_broker))) == 3


def test_a_letter_is_read_whole_as_json_or_as_text(client: Any, with_broker: Queues) -> None:
    listed = client.get(PATH).json()["letters"]
    assert client.get(f"{PATH}/{listed[0]['id']}").json()["body"] == json.loads(GOOD)
    assert client.get(f"{PATH}/{listed[1]['id']}").json()["body"] == "no json"
    assert client.get(f"{PATH}/nowhere").status_code == 404


def test_replayed_is_in_the_log_the_rest_stays_and_both_are_audited(client: Any, with_broker: Queues) -> None:
    done = post(client, "replay", all=True).json()
    assert done["counts"] == {"replayed": 1, "left": 2}
    assert codes(client) == ["invalid_event", "invalid_event"]
    assert client.get("/api/v2/lineage", node="job:test:late").json()["edges"] != []
    row = client.get("/api/v2/admin/audit").json()["entries"][0]
    assert (row["action"], row["target"], row["detail"]["replayed"]) == (
        "replay_dead_letters",
        with_broker.dead_letters,
        1,
    )
    assert post(client, "replay", all=True).json()["counts"] == {"left": 2}


def test_discarded_is_gone_and_nothing_else(client: Any, with_broker: Queues) -> None:
    (_, one, _) = client.get(PATH).json()["letters"]
    assert post(client, "discard", ids=[one["id"]]).json()["counts"] == {"discarded": 1}
    assert codes(client) == ["database_refused", "invalid_event"]
    assert post(client, "discard", codes=["invalid_event"]).json()["counts"] == {"discarded": 1}
    assert codes(client) == ["database_refused"]


def test_nothing_chosen_is_refused(client: Any, with_broker: Queues) -> None:
    for what in ("replay", "discard"):
        reply = post(client, what)
        assert (reply.status_code, reply.json()["code"]) == (400, "invalid_question")
    assert len(codes(client)) == 3


def test_without_a_broker_no_connection_is_opened(client: Any) -> None:
    assert client.get(PATH).json() == {
        "configured": False,
        "queue": "headwater.dead-letters",
        "letters": [],
        "more": False,
    }
    assert "HEADWATER_AMQP__URL" in post(client, "replay", all=True).json()["message"]


def test_a_broker_that_is_down_is_said(client: Any, app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner(app).state.settings, "amqp", AmqpSettings(url="amqp://guest:secret@127.0.0.1:1/"))
    reply = client.get(PATH)
    assert (reply.status_code, reply.json()["code"]) == (503, "broker_unavailable")
    assert "secret" not in reply.text
