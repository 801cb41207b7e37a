"""Ask the server whether what a run is to make may be made, in which state and of what.

The server knows calendars and what is there; this knows what one run is: several entities and periods at once, of which one may need another. Refuses
to wait longer than it was told, and to go on where something is missing unless it was told to.
"""

import time
from datetime import datetime

import msgspec

from headwater.client.ask import ask
from headwater.errors import InvalidQuestion, NotReady
from headwater.runner.entities import PackageEntities
from headwater.runner.making import Instance, Making, Stretch

_LONGEST_WAIT = 60.0
_SHOWN = 20


class Server(msgspec.Struct, frozen=True):
    """Where to ask and to report."""

    url: str
    api_key: str | None = None


class _Interval(msgspec.Struct):
    start: str
    end: str


class _Pin(msgspec.Struct):
    entity: str
    instances: list[str]


class _Lacking(msgspec.Struct):
    entity: str
    instances: list[str]
    why: str
    ref: str
    until: str | None
    outcome: str


class _State(msgspec.Struct):
    state: str
    ready: bool
    pins: list[_Pin]
    missing: list[_Lacking]


class _Instance(msgspec.Struct):
    entity: str
    instance: str
    states: list[_State]


class _Answer(msgspec.Struct):
    seq: int
    instances: list[_Instance]
    intervals: dict[str, dict[str, _Interval]]


def prepared(
    server: Server,
    made: PackageEntities,
    period: str,
    *,
    state: str | None = None,
    force: bool = False,
    wait: float = 0.0,
) -> Making:
    """What a run for this period is to make: the best state that all instances of an entity may have, or `state`.

    `wait`: so many seconds until all may be made. `force`: made all the same (in `state`, else in the last of the states), with what is there.
    NotReady with every reason; InvalidQuestion where it are more periods than the package makes in one run; what the server refuses;
    ServerUnavailable.
    """
    until = time.monotonic() + wait
    patience = 0.0  # what one run makes at once may be ready for us and not for the server, which would wait
    while True:
        answer = _asked(server, made, period, state, patience)
        _fits(answer, made, period)
        run = _Run(answer, made)
        chosen = {name: best for name in made.entities if (best := run.best(name, force=force)) is not None}
        if len(chosen) == len(made.entities):
            return run.making(period, chosen)
        patience = min(until - time.monotonic(), _LONGEST_WAIT)
        if patience <= 0:
            lacking = [line for name in made.entities if name not in chosen for line in run.reasons(name)]
            raise NotReady(
                f"{', '.join(made.entities)} {period} may not be made yet (--force makes it all the same):",
                problems=lacking[:_SHOWN] + ([f"and {len(lacking) - _SHOWN} more"] if len(lacking) > _SHOWN else []),
            )


def _asked(server: Server, made: PackageEntities, period: str, state: str | None, wait: float) -> _Answer:
    body = {
        "ask": [{"entity": name, "instances": [period], "state": state} for name in made.entities],
        "wait": wait,
        "intervals": True,
    }
    reply = ask(
        server.url,
        "/api/v2/readiness",
        api_key=server.api_key,
        timeout=wait + 30.0,
        method="POST",
        body=msgspec.json.encode(body),
    )
    return msgspec.json.decode(reply, type=_Answer)


def _fits(answer: _Answer, made: PackageEntities, period: str) -> None:
    """Of several entities the one with the fewest instances says how many periods there are: a day is 24 of an hourly one."""
    count = min(sum(each.entity == name for each in answer.instances) for name in made.entities)
    if count > made.max_periods:
        many = "one period" if made.max_periods == 1 else f"{made.max_periods} periods"
        raise InvalidQuestion(
            f"{period} are {count} periods, and the package makes {many} in one run; run it for fewer, or say `max_periods` in its dk.yaml",
            period=period,
            periods=count,
        )


class _Run:
    """The server's answer, seen as one run that makes all of it."""

    def __init__(self, answer: _Answer, made: PackageEntities) -> None:
        self._answer = answer
        self._of = {name: [each for each in answer.instances if each.entity == name] for name in made.entities}

    def best(self, entity: str, *, force: bool) -> str | None:
        """The best state in which all may be made; None where there is none."""
        states = [state.state for state in self._of[entity][0].states]
        for state in reversed(states):
            if all(self._ready(one, _state(one, state)) for one in self._of[entity]):
                return state
        return states[-1] if force else None

    def reasons(self, entity: str) -> list[str]:
        """A line for each thing that is in the way, by state."""
        return [
            _line(one, state, lacking)
            for one in self._of[entity]
            for state in one.states
            for lacking in state.missing
            if lacking.outcome != "accepted" and not self._own(one, lacking)
        ]

    def making(self, period: str, chosen: dict[str, str]) -> Making:
        instances, missing = [], []
        for name, state in chosen.items():
            for one in self._of[name]:
                found = _state(one, state)
                interval = self._answer.intervals.get(name, {}).get(one.instance)
                inputs = {
                    pin.entity: tuple(self._stretch(pin.entity, text) for text in pin.instances) for pin in found.pins
                }
                own = any(self._own(one, lacking) for lacking in found.missing)
                start, end = (interval.start, interval.end) if interval else (None, None)
                instances.append(Instance(name, one.instance, start, end, inputs, recorded=not own))
                missing += [_line(one, found, each) for each in found.missing if not self._own(one, each)]
        return Making(
            period=period,
            entities=tuple(chosen),
            states=chosen,
            instances=tuple(instances),
            seq=self._answer.seq,
            missing=tuple(missing),
        )

    def _ready(self, one: _Instance, state: _State) -> bool:
        return state.ready or all(each.outcome == "accepted" or self._own(one, each) for each in state.missing)

    def _own(self, one: _Instance, lacking: _Lacking) -> bool:
        """Whether what is missing is made by this very run: it lies within what the run makes of that entity, and is not the instance itself."""
        makes = self._of.get(lacking.entity, [])
        if not makes or lacking.why in {"before_start", "after_end", "quarantined"}:
            return False
        known = self._answer.intervals.get(lacking.entity)
        if known is None:  # static
            return lacking.entity != one.entity
        first, last = known[makes[0].instance], known[makes[-1].instance]
        return all(
            _time(first.start) <= _time(known[text].start) and _time(known[text].end) <= _time(last.end)
            for text in lacking.instances
        )

    def _stretch(self, entity: str, text: str) -> Stretch:
        interval = self._answer.intervals.get(entity, {}).get(text)
        return Stretch(text, interval.start, interval.end) if interval else Stretch(text)


def _state(one: _Instance, name: str) -> _State:
    return next(each for each in one.states if each.state == name)


def _line(one: _Instance, state: _State, lacking: _Lacking) -> str:
    because = f" ({lacking.ref})" if lacking.ref else ""
    until = f", expected {lacking.until}" if lacking.until else ""
    return f"{one.entity} {one.instance} {state.state}: {lacking.entity} {', '.join(lacking.instances)} is {lacking.why}{because}{until}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
