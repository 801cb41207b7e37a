"""Ask the server whether a run's instances are ready, in which state and from which inputs.

The server knows calendars and instances; this module knows a run: several entities and periods at once, which may need each other. Waits no
longer than `wait`, and goes on with missing inputs only with `force`.
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
    """The server to ask and to report to."""

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
    """Return what a run for this period makes, in the best state that is ready for all instances of an entity, or in `state`.

    `wait`: seconds until all are ready. `force`: make them anyway (in `state`, else in the last of the states), with what exists. Raises
    NotReady with every reason, InvalidQuestion for more periods than the package makes in one run, what the server refuses, and
    ServerUnavailable.
    """
    until = time.monotonic() + wait
    patience = 0.0  # what one run makes at once may be ready here, while the server would wait
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
                f"{', '.join(made.entities)} {period} may not be made yet (make it anyway with --force):",
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
    """Check the number of periods: it is that of the entity with the fewest instances, since a day is 24 of an hourly one."""
    count = min(sum(each.entity == name for each in answer.instances) for name in made.entities)
    if count > made.max_periods:
        many = "one period" if made.max_periods == 1 else f"{made.max_periods} periods"
        raise InvalidQuestion(
            f"{period} are {count} periods, and the package makes {many} in one run; run it for fewer, or set `max_periods` in its dk.yaml",
            period=period,
            periods=count,
        )


class _Run:
    """The server's answer, as one run that makes all of it."""

    def __init__(self, answer: _Answer, made: PackageEntities) -> None:
        self._answer = answer
        self._of = {name: [each for each in answer.instances if each.entity == name] for name in made.entities}

    def best(self, entity: str, *, force: bool) -> str | None:
        """Return the best state that is ready for all; None if there is none."""
        states = [state.state for state in self._of[entity][0].states]
        for state in reversed(states):
            if all(self._ready(one, _state(one, state)) for one in self._of[entity]):
                return state
        return states[-1] if force else None

    def reasons(self, entity: str) -> list[str]:
        """Yield a line for each missing input, by state."""
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
        """Return whether this run itself makes the missing input: it is among the run's instances of that entity, and is not the
        instance itself."""
        makes = self._of.get(lacking.entity, [])
        if not makes or lacking.why in {"before_start", "after_end", "withheld"}:
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
    if not lacking.entity:
        return f"{one.entity} {one.instance} {state.state}: it needs inputs that your key may not see"
    because = f" ({lacking.ref})" if lacking.ref else ""
    until = f", expected {lacking.until}" if lacking.until else ""
    return f"{one.entity} {one.instance} {state.state}: {lacking.entity} {', '.join(lacking.instances)} is {lacking.why}{because}{until}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
