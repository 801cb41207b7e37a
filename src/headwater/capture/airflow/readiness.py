"""The readiness of the instances of a run: the request, the meaning of its answer, and the reasons in words.

Does not wait or retry: the sensor does.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.capture.airflow.config import Config
from headwater.capture.airflow.makes import Makes
from headwater.capture.airflow.period import Period
from headwater.client.ask import ask

PATH = "/api/v2/readiness"
_SECOND = dt.timedelta(seconds=1)
_SHOWN = 5


class Pin(msgspec.Struct, frozen=True):
    entity: str
    instances: list[str]


class Lacking(msgspec.Struct, frozen=True):
    entity: str
    instances: list[str]
    count: int
    why: str
    ref: str = ""
    until: dt.datetime | None = None
    outcome: str = "blocks"

    def __str__(self) -> str:
        some = ", ".join(self.instances[:_SHOWN]) + ("…" if len(self.instances) > _SHOWN else "")
        by = f" ({self.ref})" if self.ref else ""
        until = f", expected by {self.until.isoformat()}" if self.until else ""
        return f"{self.entity} {some}: {self.why}{by}{until}"


class State(msgspec.Struct, frozen=True):
    state: str
    ready: bool
    failed: bool
    pins: list[Pin]
    missing: list[Lacking]


class Instance(msgspec.Struct, frozen=True):
    entity: str
    instance: str
    ready: bool
    state: str | None
    states: list[State]

    @property
    def failed(self) -> bool:
        """Return whether the answer ends all waits."""
        return not self.ready and bool(self.states) and all(each.failed for each in self.states)


class Ready(msgspec.Struct, frozen=True):
    """An answer of `POST /api/v2/readiness`."""

    seq: int
    ready: bool
    instances: list[Instance]

    @property
    def failed(self) -> bool:
        return any(each.failed for each in self.instances)

    def why(self) -> list[str]:
        """Return a line for each instance that is not ready; for several states, what the nearest one lacks."""
        reasons = []
        for one in self.instances:
            if one.ready or not one.states:
                continue
            nearest = min(one.states, key=lambda state: len(state.missing))
            lacks = "; ".join(str(each) for each in nearest.missing if each.outcome != "accepted")
            reasons.append(f"{one.entity} {one.instance} cannot be made {nearest.state}: {lacks or 'not ready'}")
        return reasons


def question(makes: Sequence[Makes], instances: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Build the request for named instances."""
    return [
        {"entity": one.entity, "instances": instances[one.entity]} | ({"state": one.state} if one.state else {})
        for one in makes
    ]


def posed(config: Config, asked: list[dict[str, Any]], *, timeout: float = 30.0) -> Ready:
    """Ask for the current answer. Raises what `headwater.client.ask` does."""
    return _asked(config, asked, timeout)


def instances(config: Config, entity: str, period: Period, *, timeout: float = 30.0) -> list[str]:
    """Ask for the instances of an entity that a run of that period makes. Raises InvalidQuestion if there are none, and what `ask` does."""
    if period.kind == "interval":
        return _between(config, entity, period.start, period.end, timeout)
    if period.kind == "within":
        return _between(config, entity, period.start, period.start + _SECOND, timeout)
    found = _between(config, entity, period.start - _SECOND, period.start, timeout)[:1]
    path = f"/api/v2/entities/{quote(entity, safe='')}/instances/{quote(found[0], safe='')}"
    lies = msgspec.json.decode(ask(config.url, path, api_key=config.api_key, timeout=timeout), type=_Lies)
    if lies.start is None or lies.end is None or lies.end <= period.start:
        return found
    return _between(config, entity, lies.start - _SECOND, lies.start, timeout)[:1]


class _Lies(msgspec.Struct):
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def _between(config: Config, entity: str, start: dt.datetime, end: dt.datetime, timeout: float) -> list[str]:
    asked = [{"entity": entity, "start": start.isoformat(), "end": end.isoformat()}]
    return [one.instance for one in _asked(config, asked, timeout).instances]


def _asked(config: Config, asked: list[dict[str, Any]], timeout: float) -> Ready:
    body = msgspec.json.encode({"ask": asked})
    answer = ask(config.url, PATH, api_key=config.api_key, timeout=timeout, method="POST", body=body)
    return msgspec.json.decode(answer, type=Ready)


def recorded(makes: Sequence[Makes], answer: Ready) -> dict[str, Any]:
    """Return the recorded part of an answer as plain values: what the run makes, in which state, from which inputs, at which seq."""
    made = []
    for one in makes:
        for instance in answer.instances:
            if instance.entity != one.entity:
                continue
            state = next((each for each in instance.states if each.state == instance.state), None)
            made.append(
                {
                    "entity": one.entity,
                    "instance": instance.instance,
                    "state": instance.state,
                    "reads": [msgspec.to_builtins(pin) for pin in state.pins] if state and instance.ready else None,
                }
            )
    return {"seq": answer.seq, "made": made}
