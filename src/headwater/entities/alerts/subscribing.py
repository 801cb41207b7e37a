"""A subscription as a rule. Pure."""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from headwater.entities.alerts.deciding import ActiveRule
from headwater.entities.alerts.rules import CHANNEL, EVENTS, Rule
from headwater.entities.alerts.selectors import Selector, read_selector
from headwater.entities.alerts.viewing import PREFIX, view_selector
from headwater.entities.declaration.document import Place, Problem
from headwater.entities.declaration.fields import Fields
from headwater.errors import InvalidQuestion

USUAL: Final = ("failed", "late", "failed_check", "wrong", "schema_changed", "gone")
"""The events of a subscription that names none."""
FILE: Final = "subscriptions"
_LONGEST: Final = 2_000


def check_selector(text: str) -> Selector:
    """Read a selector that is no view. Raises InvalidQuestion with what is wrong."""
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidQuestion(f"a selector has 1 to {_LONGEST:,} printable characters", parameter="selector")
    problems: list[Problem] = []
    selector = read_selector(text, Place(FILE, 1, 1), "the selector", Fields(problems))
    if selector is None:
        raise InvalidQuestion("; ".join(problem.message for problem in problems), parameter="selector")
    return selector


def check_events(events: Sequence[str]) -> tuple[str, ...]:
    """Return the events by their names; of none, the usual ones. Raises InvalidQuestion for one that there is not."""
    found = []
    for text in events:
        word = text.strip().lower().replace(" ", "_").replace("-", "_")
        if word not in EVENTS:
            raise InvalidQuestion(
                f"there is no event {text[:40]!r}; write one of {', '.join(EVENTS)}", parameter="events"
            )
        found.append(word)
    return tuple(dict.fromkeys(found)) or USUAL


def check_address(address: str) -> str:
    """Return a mail address or a channel. Raises InvalidQuestion for any other text."""
    address = address.strip()
    if len(address) > 320 or not address.isprintable() or ("@" not in address and not address.startswith(CHANNEL)):
        raise InvalidQuestion(f"{address[:100]!r} is no address; write a mail address, or channel:NAME", parameter="to")
    return address


def subscribed_selector(text: str, view: str | None) -> Selector:
    """Read the selector of a subscription. `view`: the address of the saved view that a `view:NAME` names; None if there is none.

    Raises InvalidQuestion.
    """
    name = text.strip().removeprefix(PREFIX)
    if name == text.strip():
        return check_selector(text)
    if view is None:
        raise InvalidQuestion(
            f"no saved view is named {name[:100]!r}; save it with the star of the page", parameter="selector"
        )
    return view_selector(name, view)


def subscription_rule(
    owner: str, selector: Selector, events: Sequence[str], address: str, since: dt.datetime
) -> ActiveRule:
    """Return the rule that a subscription is. Its name has no rule of a file."""
    rule = Rule(
        name=f"{owner} subscribed to {selector}",
        file=FILE,
        line=0,
        when=tuple(events),
        to=(address,),
        of=(selector,),
    )
    return ActiveRule(rule, since)
