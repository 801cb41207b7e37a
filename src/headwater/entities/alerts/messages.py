"""The words of an alert, and its shape for each kind of channel. Pure.

Shapes: Slack's blocks, an Adaptive Card in Teams' envelope, an event of PagerDuty's Events API v2, and JSON of our own for signed webhooks.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

_WORDS: Final[Mapping[str, str]] = {
    "failed": "fails", "late": "is late", "failed_check": "fails a check", "wrong": "is wrong", "schema_changed": "has another schema",
    "first_seen": "is new", "gone": "is gone", "used_again": "is used again", "cost_jump": "costs more", "slower": "is slower",
    "coverage_dropped": "is understood less", "producer_silent": "is silent", "dead_letters": "has dead letters",
    "policy_broken": "breaks a policy",
}  # fmt: skip
_NAMED: Final = 10
# Control characters, line breaks of any kind, and the marks that turn the direction of what follows.
_UNPRINTABLE: Final = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]+")
_COLOURS: Final = {"info": "good", "warning": "warning", "error": "attention", "critical": "attention"}


class TroubleText(msgspec.Struct, frozen=True):
    """A trouble in a message."""

    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    look: str

    @property
    def headline(self) -> str:
        return f"{self.label} {_WORDS[self.event]}"


class AlertText(msgspec.Struct, frozen=True):
    """The content of a message. `hit`: troubles because of the cause. `url`: of the alert's page, if the server has a public address."""

    id: str
    rule: str
    severity: str
    stage: int
    cause: TroubleText
    hit: tuple[TroubleText, ...]
    url: str | None

    @property
    def title(self) -> str:
        more = f", and {len(self.hit):,} more because of it" if self.hit else ""
        again = "still: " if self.stage else ""
        return f"{again}{self.cause.headline}{more}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Pairs of a word and what it says."""
        found = [("what", self.cause.text), ("since", written(self.cause.since))]
        if self.cause.until is not None:
            found.append(("until", written(self.cause.until)))
        return [*found, ("object", self.cause.subject), ("look", self.cause.look)]

    @property
    def hit_lines(self) -> list[str]:
        lines = [f"{one.headline} since {written(one.since)}" for one in self.hit[:_NAMED]]
        if len(self.hit) > _NAMED:
            lines.append(f"and {len(self.hit) - _NAMED:,} more")
        return lines

    @property
    def acknowledge(self) -> str:
        return f"headwater alerts ack {self.id[:8]}"


def written(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"


def mail(told: AlertText) -> dict[str, Any]:
    """`subject` and `text` of a mail."""
    lines = [f"{word + ':':<8}{value}" for word, value in told.facts]
    if told.hit:
        lines += ["", "because of it:", *(f"  {line}" for line in told.hit_lines)]
    lines += ["", f"To say that you look after it: {told.acknowledge}"]
    if told.url:
        lines.append(f"Its page: {told.url}")
    lines += ["", f"You get this by the rule {told.rule!r}."]
    return {"subject": " ".join(f"[{told.severity}] {told.title}".split())[:200], "text": "\n".join(lines) + "\n"}


def slack(told: AlertText) -> dict[str, Any]:
    """The body of Slack's incoming webhook."""
    fields = [{"type": "mrkdwn", "text": f"*{word}*\n{_slack(value)[:1900]}"} for word, value in told.facts[:10]]
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": told.title[:150]}},
        {"type": "section", "fields": fields},
    ]
    if told.hit:
        blocks.append(_section("*because of it*\n" + "\n".join(f"• {_slack(line)}" for line in told.hit_lines)))
    link = f" · <{told.url}|open>" if told.url else ""
    blocks.append(
        {
            "type": "context",
            "elements": [{"type": "mrkdwn", "text": f"`{told.acknowledge}` · rule {_slack(told.rule)}{link}"}],
        }
    )
    return {"text": _slack(f"[{told.severity}] {told.title}"), "blocks": blocks}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:2900]}}


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams(told: AlertText) -> dict[str, Any]:
    """The body of a webhook of Teams' workflows: an Adaptive Card."""
    body: list[dict[str, Any]] = [
        {
            "type": "TextBlock",
            "size": "Medium",
            "weight": "Bolder",
            "wrap": True,
            "text": _teams(told.title),
            "color": _COLOURS[told.severity],
        },
        {"type": "FactSet", "facts": [{"title": word, "value": _teams(value)} for word, value in told.facts]},
    ]
    if told.hit:
        body.append(
            {
                "type": "TextBlock",
                "wrap": True,
                "text": "because of it:\n\n" + "\n".join(f"- {_teams(line)}" for line in told.hit_lines),
            }
        )
    body.append(
        {"type": "TextBlock", "isSubtle": True, "wrap": True, "text": f"{told.acknowledge} · rule {_teams(told.rule)}"}
    )
    actions = [{"type": "Action.OpenUrl", "title": "Open", "url": told.url}] if told.url else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
        "actions": actions,
    }  # fmt: skip
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def _teams(text: str) -> str:
    """Escape what Markdown makes links, emphasis and code of: names come from producers."""
    return re.sub(r"([\\`*\[\]<>])", r"\\\1", text)


def pagerduty(told: AlertText) -> dict[str, Any]:
    """An event of PagerDuty's Events API v2, without its `routing_key`. Messages of one alert are one incident there."""
    details = {
        "rule": told.rule,
        "look": told.cause.look,
        "acknowledge": told.acknowledge,
        "because_of_it": told.hit_lines,
    }
    payload = {
        "summary": told.title[:1024], "source": told.cause.subject, "severity": told.severity, "timestamp": told.cause.since.isoformat(),
        "component": told.cause.label, "class": told.cause.event, "custom_details": details,
    }  # fmt: skip
    links = [{"href": told.url, "text": "the alert"}] if told.url else []
    return {"event_action": "trigger", "dedup_key": told.id, "client": "Headwater", "payload": payload, "links": links}


def webhook(told: AlertText) -> dict[str, Any]:
    """Everything, in our own words."""
    return {
        "type": "alert", "alert": told.id, "rule": told.rule, "severity": told.severity, "stage": told.stage, "title": told.title,
        "cause": _plain(told.cause), "hit": [_plain(one) for one in told.hit], "url": told.url,
    }  # fmt: skip


def _plain(one: TroubleText) -> dict[str, Any]:
    return {
        "event": one.event, "subject": one.subject, "label": one.label, "since": one.since.isoformat(),
        "until": one.until.isoformat() if one.until else None, "text": one.text, "look": one.look,
    }  # fmt: skip


SHAPES: Final = {"mail": mail, "slack": slack, "teams": teams, "pagerduty": pagerduty, "webhook": webhook}
KINDS: Final = ("slack", "teams", "pagerduty", "webhook")
"""Kinds of channels beside mail."""


def alert_text(
    id_: str, rule: str, severity: str, stage: int, cause: TroubleText, members: Sequence[TroubleText], url: str | None
) -> AlertText:
    """Put an alert into words. Members that are the cause itself are not hit by it."""
    hit = tuple(_one_line(one) for one in members if (one.event, one.subject) != (cause.event, cause.subject))
    return AlertText(id_, " ".join(rule.split()), severity, stage, _one_line(cause), hit, url)


def _one_line(one: TroubleText) -> TroubleText:
    """Return a trouble whose texts have no line breaks or control characters: a name must not make up lines of a message."""
    label, subject, text, look = (_UNPRINTABLE.sub(" ", part) for part in (one.label, one.subject, one.text, one.look))
    return TroubleText(one.event, subject, label, one.since, one.until, text, look)
