"""Alerts as a server decides and sends them: by mail and to channels on real sockets, each message once."""

import asyncio
import datetime as dt
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.alerts.planted import CHILDREN, DAY, month
from tests.events import dataset, encoded, facet, run_event
from tests.mailbox import Mailbox, mailbox
from tests.receiver import Receiver, receiving

from headwater.answer.alerts import alerts as answers
from headwater.answer.alerts import live
from headwater.answer.alerts import rules as rule_answers
from headwater.answer.privacy.applied import find_violations
from headwater.entities.alerts.rules import RuleFile
from headwater.errors import DatabaseUnavailable
from headwater.intake.alerts import acknowledging, channels, rules
from headwater.intake.alerts.alerter import Alerter, Answers, Question
from headwater.intake.alerts.sender import Sender
from headwater.intake.alerts.sending import MailServer
from headwater.intake.alerts.sending import Receiver as MessageReceiver
from headwater.intake.events.accept import Intake
from headwater.intake.listeners.networks import Networks, Outbound
from headwater.intake.people.audit import by_command
from headwater.store.database import Database
from headwater.store.people.secrets import load_key

OUTBOUND = Outbound(load_key(os.environ["HEADWATER_ACCESS__SECRET_KEY"], Path()), Networks("127.0.0.0/8"))
BY = by_command("rules apply", "apply_rules", "rules")
NOW = dt.datetime.now(dt.UTC)
RULES = """
rules:
  - name: failures
    when: failed
    to: [owner, "channel:{channel}", "team"]
    settle: 0
    escalate: {{after: 1h, to: boss@example.com}}
people:
  team web: web@example.com
"""


@pytest.fixture
def mail() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


class Server:
    """The background work of a server, a step at a time."""

    def __init__(self, database: Database, run: Any, mail: str | None) -> None:
        self.database, self.run, book = database, run, live.Rulebook()

        async def decide(question: Question) -> Any:
            async with database.snapshot() as connection:
                held = await book.load(connection)
            return await live.look(
                database, held.rules, held.people, question.window, question.known, late_since=question.late_since,
                measured=question.measured, others=(),
            )  # fmt: skip

        server = MailServer(mail, "headwater@example.org") if mail else None
        self.sender = Sender(
            database,
            MessageReceiver(OUTBOUND, server, 5.0),
            public_url="https://lineage.example.org",
            lease_seconds=60.0,
        )
        self.alerter = Alerter(
            database, Answers(decide, lambda: find_violations(database), live.find_ended), self.sender, every=30.0
        )

    def look(self) -> int:
        now = dt.datetime.now(dt.UTC)
        return self.run(self.alerter.look_since(now, now - dt.timedelta(hours=1)))

    def send(self) -> int:
        return self.run(self.sender.send_due())


def apply(database: Database, run: Any, text: str) -> None:
    # Rules tell what begins after them: these were applied an hour ago.
    run(rules.apply_rules(database, [RuleFile("alerts.yaml", text)], by=BY))
    run(execute(database, "update applied_rules set applied_at = applied_at - interval '1 hour'"))


async def execute(database: Database, sql: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(sql)


def fail(
    database: Database, run: Any, job: str = "nightly", number: int = 1, end: str = "FAIL", minutes: int = 5
) -> None:
    at = (NOW - dt.timedelta(minutes=minutes)).isoformat()
    tags = facet(tags=[{"key": "team", "value": "web"}])
    out = dataset("mart.orders", "db", ownership=facet(owners=[{"name": "ana@example.com"}]), tags=tags)
    error = {"errorMessage": facet(message="disk full", programmingLanguage="sql")}
    event = run_event(end, number, job, ["/in"], [out], at=at, run_facets=error if end == "FAIL" else {})
    run(Intake(database).accept(encoded(event)))


def shown(database: Database, run: Any) -> answers.Alerts:
    return run(answers.alerts(database))


def add(database: Database, run: Any, kind: str, url: str, name: str = "ops", secret: str | None = None) -> str | None:
    wanted = channels.ChannelRequest(name, kind, url, secret)
    return run(channels.add_channel(database, wanted, OUTBOUND, by=by_command("channels add", "add", name))).secret


def test_a_failure_is_told_once_to_owner_team_and_channel(
    database: Database, run: Any, mail: Mailbox, receiver: Receiver
) -> None:
    add(database, run, "slack", f"{receiver.url}/services/T/B")
    apply(database, run, RULES.format(channel="ops"))
    server = Server(database, run, mail.url)
    assert server.look() == 0
    fail(database, run)
    assert server.look() == 4
    assert server.look() == 0
    assert server.send() == 3, "the escalation is due in an hour"
    assert server.send() == 0
    assert sorted(mail.to()) == ["ana@example.com", "web@example.com"]
    (posted,) = receiver.requests
    assert posted.path == "/services/T/B"
    body = json.loads(posted.body)
    assert body["text"] == "[warning] nightly fails"
    assert "disk full" in json.dumps(body["blocks"])
    number = mail.to().index("ana@example.com")
    message, text = mail.mails[number][1], mail.text(number)
    assert message["Subject"] == "[warning] nightly fails"
    for words in (
        "disk full",
        "job:test:nightly",
        "headwater run show",
        "https://lineage.example.org/alerts/",
        "failures",
    ):
        assert words in text
    (one,) = shown(database, run).alerts
    assert sorted(each.state for each in one.messages) == ["sent", "sent", "sent", "waiting"]


def test_one_cause_with_forty_late_children_is_one_message(database: Database, run: Any, mail: Mailbox) -> None:
    now = dt.datetime.now(dt.UTC)
    made = month(now.replace(minute=0, second=0, microsecond=0) + 6 * DAY + dt.timedelta(hours=21))
    made.events = [event for event in made.events if dt.datetime.fromisoformat(event["eventTime"]) <= now]
    text = "rules:\n  - {name: late, when: [late, failed], to: [owner, ops@example.com], settle: 0}\n"
    run(rules.apply_rules(database, [RuleFile("alerts.yaml", text)], by=BY))
    run(execute(database, "update applied_rules set applied_at = applied_at - interval '30 days'"))
    run(Intake(database).accept_each(made.bodies()))
    server = Server(database, run, mail.url)
    since = now - 5 * DAY
    run(server.alerter.look_since(since, now))
    while server.send():
        pass
    told = [(one.event, one.label, len(one.members)) for one in shown(database, run).alerts]
    assert told == [("failed", "raw.load", CHILDREN + 2)]
    assert sorted(mail.to()) == ["ana@example.com", "bob@example.com", "ops@example.com"]
    assert f"and {CHILDREN + 1} more because of it" in " ".join(mail.mails[0][1]["Subject"].split())


def test_a_channel_that_is_down_is_tried_again_and_shown(database: Database, run: Any, receiver: Receiver) -> None:
    receiver.answer = lambda _path, _body: (503, b"away")
    secret = add(database, run, "webhook", f"{receiver.url}/hook")
    assert secret is not None
    text = "rules:\n  - {name: failures, when: failed, to: 'channel:ops', settle: 0}\n"
    apply(database, run, text)
    server = Server(database, run, None)
    fail(database, run)
    server.look()
    assert server.send() == 1
    found = shown(database, run)
    assert found.failing == 1
    assert found.alerts[0].messages[0].last_error == "HTTP 503: away"
    assert run(answers.channels(database)).channels[0].failing_since is not None
    assert server.send() == 0, "it waits before it is tried again"
    receiver.answer = lambda _path, _body: (204, b"")
    run(execute(database, "update alert_messages set due_at = now()"))
    assert server.send() == 1
    assert run(answers.channels(database)).channels[0].failing_since is None
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_mail_that_is_refused_for_good_is_not_tried_again(database: Database, run: Any, mail: Mailbox) -> None:
    mail.refuse = {"gone@example.com": "550 no such user", "full@example.com": "452 mailbox full"}
    text = "rules:\n  - {name: failures, when: failed, to: [gone@example.com, full@example.com], settle: 0}\n"
    apply(database, run, text)
    server = Server(database, run, mail.url)
    fail(database, run)
    server.look()
    assert server.send() == 2
    states = {each.address: each.state for each in shown(database, run).alerts[0].messages}
    assert states == {"gone@example.com": "refused", "full@example.com": "waiting"}


@pytest.mark.parametrize("kind", ["teams", "pagerduty"])
def test_the_shape_of_each_kind_of_channel(database: Database, run: Any, receiver: Receiver, kind: str) -> None:
    add(database, run, kind, f"{receiver.url}/in", secret="routing-key" if kind == "pagerduty" else None)
    apply(database, run, "rules:\n  - {name: f, when: failed, to: 'channel:ops', settle: 0, severity: critical}\n")
    server = Server(database, run, None)
    fail(database, run)
    server.look()
    server.send()
    body = json.loads(receiver.requests[0].body)
    if kind == "teams":
        (attachment,) = body["attachments"]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert attachment["content"]["body"][0]["text"] == "nightly fails"
        return
    (one,) = shown(database, run).alerts
    assert (body["routing_key"], body["event_action"], body["dedup_key"]) == ("routing-key", "trigger", one.id)
    assert body["payload"]["severity"] == "critical"
    assert body["payload"]["summary"] == "nightly fails"


def test_an_escalation_is_sent_unless_somebody_acknowledges(database: Database, run: Any, mail: Mailbox) -> None:
    apply(database, run, RULES.format(channel="none").replace('"channel:none", ', ""))
    server = Server(database, run, mail.url)
    fail(database, run)
    fail(database, run, "hourly", 2)
    server.look()
    server.send()
    first, second = shown(database, run).alerts
    run(acknowledging.acknowledge(database, uuid.UUID(first.id), "on it", by=BY))
    run(execute(database, "update alert_messages set due_at = now() where stage > 0"))
    while server.send():
        pass
    assert mail.to().count("boss@example.com") == 1
    assert second.label in " ".join(mail.mails[-1][1]["Subject"].split())
    assert {each.state for each in run(answers.alert(database, first.id)).messages if each.stage} == {"dropped"}


def test_an_escalation_of_what_is_over_is_dropped(database: Database, run: Any, mail: Mailbox) -> None:
    apply(database, run, RULES.format(channel="none").replace('"channel:none", ', ""))
    server = Server(database, run, mail.url)
    fail(database, run)
    server.look()
    server.send()
    fail(database, run, number=7, end="COMPLETE", minutes=1)
    server.look()
    (one,) = shown(database, run).alerts
    assert one.until is not None
    run(execute(database, "update alert_messages set due_at = now() where stage > 0"))
    server.send()
    assert "boss@example.com" not in mail.to()


def test_a_muted_alert_waits(database: Database, run: Any, mail: Mailbox) -> None:
    apply(database, run, "rules:\n  - {name: f, when: failed, to: ops@example.com, settle: 0}\n")
    server = Server(database, run, mail.url)
    fail(database, run)
    server.look()
    (one,) = shown(database, run).alerts
    id_ = uuid.UUID(one.id)
    run(acknowledging.mute(database, id_, dt.datetime.now(dt.UTC) + DAY, by=BY))
    assert server.send() == 0
    run(acknowledging.mute(database, id_, None, by=BY))
    assert server.send() == 1


def test_rules_that_cannot_be_read_stop_neither_intake_nor_messages(
    database: Database, run: Any, mail: Mailbox
) -> None:
    apply(database, run, "rules:\n  - {name: f, when: failed, to: ops@example.com, settle: 0}\n")
    server = Server(database, run, mail.url)
    fail(database, run)
    server.look()
    run(
        execute(
            database,
            """insert into applied_rules (kind, files, applied_by) values ('rules', '[{"name": "x", "text": "rules: 3"}]', 't')""",
        )
    )
    server.look()
    fail(database, run, "other", 3)
    assert server.send() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        "rules: [{name: bad, when: failed, to: not@an@address, settle: 0}]",
        "rules: [{name: bad, when: fallen, to: owner}]",
        "rules: [{name: bad, when: late, sla: seven, to: owner}]\nslas: [{name: seven, of: 'tag:a', by: 25:99}]",
        "rules: [{name: bad, when: failed, of: 'tag:', to: bad@example.com}]",
        "people: {ana: not@an@address}",
        "rules: 3",
        "rules: [",
    ],
)
def test_a_stored_rule_that_is_wrong_stops_no_other(database: Database, run: Any, mail: Mailbox, wrong: str) -> None:
    """An earlier Headwater accepted it. It is shown with its place, and nothing is told by it."""
    good = "rules:\n  - {name: good, when: failed, to: [ops@example.com, ana], settle: 0}\npeople: {ana: ana@example.com}\n"
    files = json.dumps([{"name": "old.yaml", "text": wrong}, {"name": "good.yaml", "text": good}]).replace("'", "''")
    run(execute(database, f"insert into applied_rules (kind, files, applied_by) values ('rules', '{files}', 't')"))
    run(execute(database, "update applied_rules set applied_at = applied_at - interval '1 hour'"))
    server = Server(database, run, mail.url)
    fail(database, run)
    server.look()
    server.send()
    assert sorted(mail.to()) == ["ana@example.com", "ops@example.com"]
    held = run(rule_answers.rules(database))
    assert [one.name for one in held.rules] == ["good"]
    assert held.problems
    assert all(each.startswith("old.yaml:") for each in held.problems)


def test_it_stops_although_a_cancelled_query_raises_an_error(database: Database, run: Any) -> None:
    apply(database, run, "rules:\n  - {name: f, when: failed, to: ops@example.com}\n")

    async def decide(_question: Question) -> Any:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            raise DatabaseUnavailable("cancelled") from None

    async def work() -> None:
        alerter = Alerter(
            database, Answers(decide, lambda: find_violations(database), live.find_ended), None, every=0.1
        )
        alerter.start()
        await asyncio.sleep(0.3)
        async with asyncio.timeout(10):
            await alerter.stop()

    run(work())


def test_a_server_without_a_mail_server_leaves_mails_to_the_others(
    database: Database, run: Any, mail: Mailbox, receiver: Receiver
) -> None:
    add(database, run, "slack", f"{receiver.url}/hook")
    apply(database, run, "rules:\n  - {name: f, when: failed, to: [ops@example.com, 'channel:ops'], settle: 0}\n")
    without = Server(database, run, None)
    fail(database, run)
    without.look()
    assert without.send() == 1
    assert len(receiver.requests) == 1
    assert Server(database, run, mail.url).send() == 1
    assert mail.to() == ["ops@example.com"]
