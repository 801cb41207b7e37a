"""`/api/v2/subscriptions`: what one person wants to hear of."""

from typing import Annotated, Any

import msgspec
from litestar import Request, delete, get, put
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter

from headwater.answer.alerts import subscriptions as answers
from headwater.api.audit import audited_change
from headwater.api.authors import ANONYMOUS, As, author
from headwater.errors import Forbidden, InvalidQuestion
from headwater.intake.alerts import subscriptions as writes

Selected = Annotated[str, QueryParameter(name="selector", max_length=2000, description="As it was subscribed to.")]


class WantedSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """`selector`: a node id, or what rules write. `events`: those of rules; by default failed, late, failed_check, wrong, schema_changed and gone.
    `to`: a mail address or `channel:NAME`; by default your own, if your name is one."""

    selector: str
    events: list[str] = []
    to: str | None = None


@get("/subscriptions")
async def list_subscriptions(request: Request[Any, Any, Any], state: State, as_: As = None) -> answers.SubscriptionList:
    """List your own subscriptions."""
    return await answers.subscriptions(state.database, author(request, as_))


@put("/subscriptions", opt={"role": "read"})
async def subscribe(
    request: Request[Any, Any, Any], state: State, data: JSONBody[WantedSubscription], as_: As = None
) -> answers.Subscription:
    """Subscribe, or change a subscription."""
    owner = _owner(request, as_)
    address = data.to or owner
    if "@" not in address and not data.to:
        raise InvalidQuestion(
            "your name is no mail address: say where messages go, as `--to ana@example.org` or `--to channel:NAME` (`to` of the request)",
            parameter="to",
        )
    if address != owner and not request.state.actor.may("write"):
        role = request.state.actor.role
        raise Forbidden(
            f"messages to {address[:100]!r} need the role write; yours is {role}", role=role, needed="write"
        )
    by = audited_change(
        request, "subscribe", data.selector[:500], {"to": address[:320], "events": data.events[:50]}, by=owner
    )
    row = await writes.subscribe(
        state.database, owner=owner, selector=data.selector, events=data.events, address=address, by=by
    )
    request.state.audit = {"written": True}
    return answers.describe_subscription(row)


@delete("/subscriptions", status_code=200, opt={"role": "read"})
async def unsubscribe(
    request: Request[Any, Any, Any], state: State, selector: Selected, as_: As = None
) -> answers.Subscription:
    """Remove one of your subscriptions."""
    owner = _owner(request, as_)
    by = audited_change(request, "unsubscribe", selector[:500], {}, by=owner)
    row = await writes.unsubscribe(state.database, owner=owner, selector=selector, by=by)
    request.state.audit = {"written": True}
    return answers.describe_subscription(row)


def _owner(request: Request[Any, Any, Any], said: str | None) -> str:
    name = author(request, said)
    if name == ANONYMOUS:
        raise InvalidQuestion("you are not signed in: say who subscribes", parameter="as")
    return name


handlers = [list_subscriptions, subscribe, unsubscribe]
