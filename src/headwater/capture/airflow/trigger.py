"""The wait in Airflow's triggerer: one long poll at a time, which the server answers when something has changed.

Never blocks the loop that all triggers share. Takes the key from the triggerer's environment.
"""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
from airflow.triggers.base import BaseTrigger, TriggerEvent

from headwater.capture.airflow import readiness
from headwater.capture.airflow.config import Config, from_environment
from headwater.capture.airflow.makes import Makes
from headwater.capture.airflow.period import Kind, Period
from headwater.client.ask import refusal
from headwater.client.retries import Backoff
from headwater.errors import HeadwaterError, ServerUnavailable

_LONGEST = 50.0  # seconds of one long poll; proxies time out at 60


class LineageTrigger(BaseTrigger):
    """Yield `{"outcome": "ready", "answer"}`, or `timeout` or `refused` with a `message`. All arguments are plain values; times in seconds."""

    def __init__(
        self,
        makes: list[list[str | None]],
        instances: dict[str, list[str]] | None,
        kind: Kind,
        start: float,
        end: float,
        until: float,
    ) -> None:
        super().__init__()
        self.makes = makes
        self.instances = instances
        self.kind: Kind = kind
        self.start = start
        self.end = end
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of the trigger."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "makes": self.makes,
            "instances": self.instances,
            "kind": self.kind,
            "start": self.start,
            "end": self.end,
            "until": self.until,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until the instances are ready, the time is over, or the server says that they never will be."""
        yield TriggerEvent(await self._waited(from_environment()))

    async def _waited(self, config: Config) -> dict[str, Any]:
        makes = [Makes(str(entity), state) for entity, state in self.makes]
        said: list[str] = []
        backoff = Backoff(1.0, 10.0)
        wait = 0.0  # the first answer comes at once: the log then shows what is missing
        async with httpx.AsyncClient() as client:
            while (left := self.until - time.time()) > 0:
                try:
                    if self.instances is None:
                        self.instances = await asyncio.to_thread(self._resolved, config, makes)
                    answer = await _asked(client, config, readiness.question(makes, self.instances), min(left, wait))
                except HeadwaterError as error:
                    if error.permanent:
                        return {"outcome": "refused", "message": f"Headwater refuses the request: {error.message}"}
                    said = self._say([error.message], said)
                    await asyncio.sleep(min(backoff.seconds(), max(left, 0.1)))
                    continue
                backoff.reset()
                wait = _LONGEST
                if answer.ready:
                    return {"outcome": "ready", "answer": readiness.recorded(makes, answer)}
                said = self._say(answer.why(), said)
                if answer.failed:
                    return {"outcome": "timeout", "message": "its inputs are overdue: " + " | ".join(said)}
        return {"outcome": "timeout", "message": "waiting is over: " + " | ".join(said)}

    def _resolved(self, config: Config, makes: list[Makes]) -> dict[str, list[str]]:
        period = Period(self.kind, _time(self.start), _time(self.end))
        return {one.entity: readiness.instances(config, one.entity, period, timeout=10.0) for one in makes}

    def _say(self, lines: list[str], before: list[str]) -> list[str]:
        """Log once for each change."""
        for line in lines:
            if line not in before:
                self.log.info("%s", line)
        return lines


async def _asked(
    client: httpx.AsyncClient, config: Config, question: list[dict[str, Any]], wait: float
) -> readiness.Ready:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if config.api_key:
        headers["Authorization"] = f"Bearer {config.api_key}"
    body = msgspec.json.encode({"ask": question, "wait": wait})
    url = config.url + readiness.PATH
    try:
        reply = await client.post(url, content=body, headers=headers, timeout=wait + 30.0)
    except httpx.HTTPError as error:
        raise ServerUnavailable(f"{config.url} does not answer ({error or type(error).__name__})") from error
    if not reply.is_success:
        raise refusal(reply.status_code, reply.content, url)
    try:
        return msgspec.json.decode(reply.content, type=readiness.Ready)
    except msgspec.DecodeError as error:
        raise ServerUnavailable(f"{url} returns an unexpected body: {error}") from error


def _time(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
