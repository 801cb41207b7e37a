"""Reports by clocks that are hours off: an honest re-run repairs, whoever reports it and whatever that clock shows."""

import datetime as dt
import json
import random
from email.utils import format_datetime
from typing import Any

import pytest
from tests.api.status.test_entities import declare
from tests.fixtures.app import Client
from tests.scale import full

YAML = "entity: reads\nperiod: {every: day, from: 2024-01-01}\n"
DAYS = [f"2024-01-0{day}" for day in range(1, 6)]
HOUR = dt.timedelta(hours=1)


class Sender:
    """A machine whose clock is off."""

    def __init__(self, client: Client, off: dt.timedelta) -> None:
        self.client, self.off = client, off

    def say(self, day: str, what: str, ref: str, **more: Any) -> Any:
        clock = dt.datetime.now(dt.UTC) + self.off
        report = {"entity": "reads", "what": what, "instances": [day], "ref": ref, "at": clock.isoformat(), **more}
        reply = self.client.post(
            "/api/v2/instances",
            json.dumps({"reports": [report]}).encode(),
            content_type="application/json",
            date=format_datetime(clock, usegmt=True),
        )
        assert reply.status_code == 200, reply.text
        return reply.json()["results"][0]


@pytest.fixture
def reads(client: Client) -> Client:
    assert declare(client, YAML).status_code == 200
    return client


def current(client: Client, day: str) -> str:
    versions = client.get(f"/api/v2/entities/reads/instances/{day}").json()["versions"]
    return next(str(each["run"]) for each in versions if each["current"])


@pytest.mark.parametrize("seed", range(full(12, 4)))
def test_the_last_run_is_current_whatever_clocks_show(reads: Client, seed: int) -> None:
    chance = random.Random(seed)
    senders = [Sender(reads, chance.uniform(-6, 6) * HOUR) for _ in range(4)]
    last: dict[str, str] = {}
    for number in range(30):
        day, sender, run = chance.choice(DAYS), chance.choice(senders), f"r{number}"
        if chance.random() < 0.5:
            sender.say(day, "started", run)
        if chance.random() < 0.2:
            sender.say(day, "failed", run)
        else:
            assert sender.say(day, "produced", run)["late"] == []
            last[day] = run
        if chance.random() < 0.3:
            chance.choice(senders).say(day, "doubted", f"check {number}")
    assert {day: current(reads, day) for day in last} == last
    for day in last:
        chance.choice(senders).say(day, "produced", "the repair")
    status = reads.get("/api/v2/entities/reads/status", instances=f"{DAYS[0]}..{DAYS[-1]}").json()["stretches"]
    assert {each["valid"] for each in status if each["states"]} == {True}


def test_what_a_clock_that_is_off_is_answered(reads: Client) -> None:
    corrected = Sender(reads, -3 * HOUR).say(DAYS[0], "produced", "r1")["corrected_at"]
    off = abs(dt.datetime.fromisoformat(corrected) - dt.datetime.now(dt.UTC))
    assert off < dt.timedelta(minutes=1)
    for offset in (dt.timedelta(), dt.timedelta(seconds=-20), dt.timedelta(seconds=20)):
        assert Sender(reads, offset).say(DAYS[0], "produced", f"r{offset}")["corrected_at"] is None


def test_a_report_that_waited_was_late_by_the_same_clock(reads: Client) -> None:
    """It was written down three hours ago, by a clock that is two hours ahead, and is sent now: the time since then is kept."""
    Sender(reads, dt.timedelta()).say(DAYS[0], "produced", "newer")
    written_down = (dt.datetime.now(dt.UTC) - 3 * HOUR + 2 * HOUR).isoformat()
    assert Sender(reads, 2 * HOUR).say(DAYS[0], "produced", "older", at=written_down)["late"] == [DAYS[0]]
    assert current(reads, DAYS[0]) == "newer"


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "x" * 5000]
)
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", None])
def test_any_date_is_taken(reads: Client, date: str, at: str | None) -> None:
    report = {"entity": "reads", "what": "produced", "instances": [DAYS[0]], "at": at}
    body = json.dumps({"reports": [report]}).encode()
    reply = reads.post("/api/v2/instances", body, content_type="application/json", date=date)
    assert reply.status_code == 200
    assert reply.json()["results"][0]["seq"] == 1


def test_our_own_requests_say_what_their_clock_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.client.ask import ask
    from headwater.client.connection import Connection
    from headwater.errors import ServerUnavailable

    seen = list[dict[str, str]]()

    def refuses(_self: Connection, _method: str, _target: str, _body: bytes | None, headers: dict[str, str]) -> None:
        seen.append(headers)
        raise ConnectionRefusedError

    monkeypatch.setattr(Connection, "exchange", refuses)
    for body in (None, b"{}"):
        with pytest.raises(ServerUnavailable):
            ask("http://localhost:1", "/api/v2/instances", method="POST", body=body)
    assert ["Date" in each for each in seen] == [False, True]
