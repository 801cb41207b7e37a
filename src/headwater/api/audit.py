"""Every change, and every refused change, gets a row in the audit log before its answer is sent.

Intake of events gets none: the event log has those. A handler adds details with `request.state.audit`:
`{"action": "add_tag", "target": "dataset:…", "detail": {…}}`. Default: the handler's name, and the object in the path.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

from litestar import Request
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater import telemetry
from headwater.api.access import SAFE, STRANGER, Actor
from headwater.entities.alerts.rules import RuleFile
from headwater.entities.privacy.policies import PolicyFile
from headwater.errors import HeadwaterError
from headwater.intake.alerts.rules import AppliedRules
from headwater.intake.people import audit
from headwater.intake.privacy.policies import AppliedPolicies

# Unauthenticated callers must not fill the table: only so many refusals a minute get a row; the metrics count all.
_STRANGERS_A_MINUTE = 60
A = TypeVar("A", AppliedRules, AppliedPolicies)


def audited_change(
    request: Request[Any, Any, Any],
    action: str,
    target: str,
    detail: dict[str, object],
    *,
    status: int = 200,
    by: str | None = None,
) -> audit.Change:
    """Return the row of a change, which is written in its transaction or, if it is refused, by the middleware. `by`: default, the actor."""
    actor: Actor = request.state.actor
    request.state.audit = {"action": action, "target": target, "detail": detail}
    return audit.Change(by or actor.name, actor.role, request.method, request.url.path, action, target, status, detail)


async def audited_version(
    request: Request[Any, Any, Any],
    what: str,
    files: Sequence[RuleFile | PolicyFile],
    by: str,
    apply: Callable[[audit.Change], Awaitable[A]],
) -> A:
    """Apply files as a new version of `what`, which writes its own row; one that changes nothing gets its row from the middleware."""
    change = audited_change(request, f"apply_{what}", what, {"files": [file.name for file in files][:100]}, by=by)
    done = await apply(change)
    request.state.audit = {**request.state.audit, "written": done.changed}
    return done


class Audit:
    """The middleware, one for the application."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._minute, self._strangers = 0, 0

    def middleware(self, app: ASGIApp) -> ASGIApp:
        async def audited(scope: Scope, receive: Receive, send: Send) -> None:
            if (
                scope["type"] != ScopeType.HTTP
                or scope["method"] in SAFE
                or scope["route_handler"].opt.get("audit") is False
            ):
                await app(scope, receive, send)
                return

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    # Shielded: a change that was made gets its row even if the answer times out.
                    await asyncio.shield(self._write(scope, message["status"]))
                await send(message)

            await app(scope, receive, sending)

        return audited

    async def _write(self, scope: Any, status: int) -> None:
        state = scope.get("state", {})
        actor: Actor = state.get("actor", STRANGER)
        told: dict[str, Any] = state.get("audit") or {}
        if told.get("written") or (status == 401 and self._too_many()):
            return
        change = audit.Change(
            actor.name,
            "none" if actor.role == "anyone" else actor.role,
            scope["method"],
            scope["path"],
            told.get("action") or scope["route_handler"].handler_name,
            told.get("target") or _target(scope.get("path_params", {})),
            status,
            told.get("detail") or {},
        )
        try:
            await audit.append(self._database, change)
        except HeadwaterError as error:
            # The change is already made, so an error would be wrong. The log then has the row.
            telemetry.say(telemetry.AuditLost(str(change), error.message))

    def _too_many(self) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._strangers = minute, 0
        self._strangers += 1
        return self._strangers > _STRANGERS_A_MINUTE


def _target(parameters: dict[str, Any]) -> str | None:
    values = [unquote(str(value)) for value in parameters.values()]
    return "/".join(values)[:1000] or None
