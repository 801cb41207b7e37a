"""The event "dead letters" of rules, from a real RabbitMQ: one alert for each code and day, told once."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from headwater.answer.alerts import live
from headwater.api.alerting import dead_letters
from headwater.entities.alerts.deciding import ActiveRule
from headwater.entities.alerts.rules import RuleFile, read_rules
from headwater.intake.queue.amqp import Bad, Queues, bury, connected, declared
from headwater.model.alerts import AlertHistory
from headwater.model.troubles import Window
from headwater.settings import AmqpSettings, Settings
from headwater.store.database import Database

RULES = "rules:\n  - {name: letters, when: dead letters, to: ops@example.com}\n"


async def put_letters(queues: Queues, *codes: str) -> None:
    async with connected(queues, "test") as connection:
        await declared(connection, queues.dead_letters, {"x-queue-type": "quorum"})
        channel = await connection.channel()
        for number, code in enumerate(codes):
            await bury(channel, queues.dead_letters, [Bad(b"no json", code, "a reason", f"m{number}", 0)])


@pytest.fixture
def settings(queues: Queues) -> Settings:
    amqp = AmqpSettings(url=queues.url, queue=queues.events, dead_letters=queues.dead_letters)
    return Settings(amqp=amqp)


def test_letters_are_told_by_code_and_once(
    database: Database, queues: Queues, settings: Settings, run: Any, tmp_path: Path
) -> None:
    began = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5)
    (rule,) = read_rules([RuleFile("a.yaml", RULES)]).rules

    def told(known: AlertHistory) -> list[Any]:
        others = run(dead_letters(settings))
        window = Window(began, dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5))
        return run(
            live.look(
                database, [ActiveRule(rule, began)], {}, window, known, late_since=began, measured=False, others=others
            )
        )

    assert told(AlertHistory()) == []
    run(put_letters(queues, "invalid_event", "invalid_event", "database_refused"))
    alerts = told(AlertHistory())
    texts = {alert.cause.text for alert in alerts}
    assert texts == {
        "2 events could not be accepted: invalid_event",
        "1 events could not be accepted: database_refused",
    }
    assert {alert.cause.look for alert in alerts} == {"headwater events dead-letters list"}
    assert {one.address for alert in alerts for one in alert.planned} == {"ops@example.com"}
    known = AlertHistory(frozenset(member.trouble.id for alert in alerts for member in alert.members))
    # Another letter of the same code and day is the same trouble.
    run(put_letters(queues, "invalid_event"))
    assert told(known) == []
