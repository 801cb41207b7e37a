"""Every change, and every change that was refused, leaves a row in the audit log, before its answer goes out.

Not the intake of events: the event log has those. A handler may say more with `request.state.audit`:
`{"action": "add_tag", "target": "dataset:…", "detail": {…}}`; without it the action is the handler's name and the target what its path names.
"""

import asyncio
import time
from typing import Any
from urllib.parse import unquote

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater import telemetry
from headwater.api.access import SAFE, STRANGER, Actor
from headwater.errors import HeadwaterError
from headwater.intake.people import audit

# Strangers fill no table: that many of their refusals a minute are kept, and every one is counted by the metrics.
_STRANGERS_A_MINUTE = 60


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
                    # Shielded: a change that was made is written down even when its answer comes too late.
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
            # The change is made; to answer that it was not would be wrong. The log has the row then.
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
