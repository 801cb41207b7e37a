"""Wire alerts together: what rules watch is asked of `answer`, stored and sent by `intake`."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from headwater import telemetry
from headwater.answer.alerts import live
from headwater.answer.privacy.applied import find_violations
from headwater.api.broker import is_configured
from headwater.errors import HeadwaterError
from headwater.intake.alerts import alerter
from headwater.intake.alerts.alerter import Answers, Question
from headwater.intake.alerts.sender import Sender
from headwater.intake.alerts.sending import MailServer, Receiver
from headwater.model.troubles import Trouble

if TYPE_CHECKING:
    from headwater.intake.listeners.networks import Outbound
    from headwater.model.alerts import Alert
    from headwater.settings import Settings

_MOST_LETTERS = 1000


def begin_alerts(settings: Settings, database: Any, outbound: Outbound) -> alerter.Alerter:
    """Start to look and to send, in the running loop."""
    rulebook = live.Rulebook()
    reported: set[str] = set()

    async def decide(question: Question) -> list[Alert]:
        async with database.snapshot() as connection:
            held = await rulebook.load(connection)
        if (problems := "; ".join(held.problems)) and problems not in reported:
            telemetry.say(telemetry.AlertsHeldUp("rules", problems[:500]))
            reported.add(problems)
        if not held.rules:
            return []
        others = await dead_letters(settings) if any("dead_letters" in one.rule.when for one in held.rules) else []
        return await live.look(
            database, held.rules, held.people, question.window, question.known, late_since=question.late_since,
            measured=question.measured, others=others,
        )  # fmt: skip

    async def broken() -> Any:
        return await find_violations(database)

    receiver = Receiver(outbound, mail_server(settings), settings.alerts.timeout_seconds)
    sender = Sender(
        database, receiver, public_url=settings.server.public_url, lease_seconds=settings.alerts.lease_seconds
    )
    return alerter.begin(
        database, Answers(decide, broken, live.find_ended), sender, every=settings.alerts.every_seconds
    )


def mail_server(settings: Settings) -> MailServer | None:
    """The mail server of the settings, if there is one."""
    url = settings.alerts.mail_server
    return MailServer(url, settings.alerts.mail_sender) if url else None


async def dead_letters(settings: Settings) -> list[Trouble]:
    """Return the letters that wait in the queue of dead letters, by code and day; none without a broker, or while it does not answer."""
    if not is_configured(settings):
        return []
    from headwater.intake.queue.amqp import Queues
    from headwater.intake.queue.dead_letters import LetterFilter, listed

    queues = Queues(settings.amqp.broker, settings.amqp.queue, settings.amqp.dead_letters)
    try:
        letters = await listed(queues, LetterFilter(limit=_MOST_LETTERS))
    except HeadwaterError:
        return []  # the receiver logs that the broker is away
    times: dict[tuple[str, dt.date], list[dt.datetime]] = defaultdict(list)
    for letter in letters:
        if letter.at is not None:
            times[letter.code, letter.at.date()].append(letter.at)
    return [
        Trouble(
            "dead_letters", f"queue:{queues.dead_letters}", queues.dead_letters, f"{code} {day}", min(some),
            f"{len(some):,} events could not be accepted: {code}", "headwater events dead-letters list",
        )
        for (code, day), some in times.items()
    ]  # fmt: skip
