"""`rules test` on a month with planted incidents: exactly their alerts, and none else; what is sent once is not sent again."""

import datetime as dt
import itertools
import json
from typing import Any

import pytest
from tests.api.alerts.planted import CHILDREN, DAY, Warehouse, month

from headwater.intake.events.accept import Intake
from headwater.store.database import Database

END = dt.datetime(2026, 11, 27, 6, tzinfo=dt.UTC)
RULES = """
rules:
  - name: gold is late
    when: [late, failed]
    of: tag:tier:gold
    to: [owner, channel:ops]
  - name: others
    when: late
    of: lake.other
    to: owner
"""


def send(database: Database, run: Any, made: Warehouse) -> None:
    intake = Intake(database)
    bodies = made.bodies()

    async def work() -> None:
        for start in range(0, len(bodies), 500):
            told = await intake.accept_each(bodies[start : start + 500])
            assert not told.refused

    run(work())


def replayed(client: Any, rules: str, since: dt.datetime, until: dt.datetime) -> Any:

    body = {"files": [{"name": "rules.yaml", "text": rules}], "since": since.isoformat(), "until": until.isoformat()}
    reply = client.post("/api/v2/rules/test", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_planted_incidents_give_exactly_their_alerts(client: Any, database: Database, run: Any) -> None:
    made = month(END)
    send(database, run, made)
    found = replayed(client, RULES, END - 28 * DAY, END)
    told = [(one["event"], one["label"], one["since"][:13], len(one["members"])) for one in found["alerts"]]
    assert told == [
        ("late", "other", (made.day(20) + dt.timedelta(hours=2)).isoformat()[:13], 1),
        ("failed", "raw.load", (made.day(10)).isoformat()[:13], 1 + 1 + CHILDREN),
    ]
    failed = found["alerts"][1]
    assert sorted({(one["stage"], one["address"]) for one in failed["messages"]}) == [
        (0, "ana@example.com"), (0, "bob@example.com"), (0, "channel:ops"),
    ]  # fmt: skip
    assert [one["address"] for one in found["alerts"][0]["messages"]] == ["eve@example.com"]
    assert found["messages"] == 4


def test_a_month_without_incidents_gives_none(client: Any, database: Database, run: Any) -> None:
    send(database, run, month(END, incidents=False))
    assert replayed(client, RULES, END - 28 * DAY, END)["alerts"] == []


@pytest.mark.parametrize("hour", [0, 7, 12, 23])
def test_looks_in_pieces_tell_the_same_as_one(client: Any, database: Database, run: Any, hour: int) -> None:
    send(database, run, month(END))
    whole = replayed(client, RULES, END - 28 * DAY, END)["alerts"]
    pieces: dict[str, set[str]] = {}
    edges = [END - 28 * DAY, *(END - before * DAY + dt.timedelta(hours=hour) for before in range(27, 0, -1)), END]
    for since, until in itertools.pairwise(edges):
        for one in replayed(client, RULES, since, until)["alerts"]:
            pieces.setdefault(one["id"], set()).update(each["subject"] for each in one["members"])
    assert pieces == {one["id"]: {each["subject"] for each in one["members"]} for one in whole}
