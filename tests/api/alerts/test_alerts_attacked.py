"""Alerts attacked: a diamond of failures, clocks that are set, rules that change between decision and sending."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from tests.api.alerts.test_alert_messages import BY, RULES, Server, add, apply, execute, shown
from tests.events import dataset, encoded, facet, run_event
from tests.mailbox import Mailbox, mailbox
from tests.receiver import Receiver, receiving

from headwater.intake.alerts import rules
from headwater.intake.events.accept import Intake
from headwater.store.database import Database

MAIL = RULES.replace(', "channel:{channel}", "team"', "").replace(
    "    escalate: {{after: 1h, to: boss@example.com}}\n", ""
)
NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def mail() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


def run_job(
    database: Database, run: Any, number: int, job: str, reads: list[str], writes: list[str], end: str, minutes: int
) -> None:
    owned = [dataset(name, "db", ownership=facet(owners=[{"name": "ana@example.com"}])) for name in writes]
    at = (NOW - dt.timedelta(minutes=minutes)).isoformat()
    run(
        Intake(database).accept(
            encoded(run_event(end, number, job, [dataset(name, "db") for name in reads], owned, at=at))
        )
    )


def test_one_failure_reaches_its_reader_by_two_ways_as_one_message(database: Database, run: Any, mail: Mailbox) -> None:
    apply(database, run, MAIL.format())
    server = Server(database, run, mail.url)
    ways = [
        ("load", ["src"], ["raw"]),
        ("left", ["raw"], ["one"]),
        ("right", ["raw"], ["two"]),
        ("join", ["one", "two"], ["end"]),
    ]
    for number, (job, reads, writes) in enumerate(ways):
        run_job(database, run, number, job, reads, writes, "COMPLETE", 50 - number)
    for number, (job, reads, writes) in enumerate(ways, 10):
        run_job(database, run, number, job, reads, writes, "FAIL", 30 - number)
    server.look()
    assert server.look() == 0
    server.send()
    (told,) = shown(database, run).alerts
    assert told.label == "load"
    assert sorted(each.label for each in told.members) == ["join", "left", "load", "right"]
    assert mail.to() == ["ana@example.com"]


def test_clocks_that_are_set_back_delay_neither_looks_nor_messages(
    database: Database, run: Any, receiver: Receiver
) -> None:
    """Times that were written while the clock was a day ahead hold nothing up."""
    add(database, run, "slack", f"{receiver.url}/services/T/B")
    apply(database, run, RULES.format(channel="ops").replace('owner, "channel:ops", "team"', '"channel:ops"'))
    server = Server(database, run, None)
    run(
        execute(
            database,
            "update alert_state set looked_at = now() + interval '1 day', seen_until = now() + interval '1 day'",
        )
    )
    run_job(database, run, 1, "nightly", ["in"], ["out"], "FAIL", 5)
    run(server.alerter._look())
    assert len(shown(database, run).alerts) == 1
    ahead = "lease_owner = gen_random_uuid(), lease_until = now() + interval '1 day'"
    run(execute(database, f"update alert_messages set {ahead} where stage = 0"))
    assert server.send() == 1
    assert len(receiver.requests) == 1
    # One that failed while the clock was ahead, and is to be tried again in some minutes of then.
    run_job(database, run, 2, "weekly", ["in"], ["out2"], "FAIL", 4)
    assert server.look() > 0
    run(
        execute(
            database,
            "update alert_messages set last_error = 'HTTP 503', due_at = now() + interval '1 day' where state = 'waiting' and stage = 0",
        )
    )
    assert server.send() == 1
    assert len(receiver.requests) == 2
    assert server.send() == 0


def test_a_rule_that_changes_between_decision_and_sending_sends_what_was_decided_once(
    database: Database, run: Any, mail: Mailbox
) -> None:
    apply(database, run, MAIL.format())
    server = Server(database, run, mail.url)
    run_job(database, run, 1, "nightly", ["in"], ["out"], "FAIL", 5)
    assert server.look() == 1
    run(rules.apply_rules(database, [], by=BY))
    assert server.look() == 0
    for text in (MAIL.format().replace("failures", "failures-renamed"), MAIL.format()):
        apply(database, run, text)
        assert server.look() == 0
    assert server.send() == 1
    apply(database, run, MAIL.format())
    assert (server.look(), server.send()) == (0, 0)
    assert mail.to() == ["ana@example.com"]
