"""What one run is to make: instances of entities, in which states, out of what; and how the program learns of it.

Plain values that came from the server. Refuses to compute when a period begins or what it needs.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from headwater.client import event
from headwater.errors import InvalidQuestion

_LONGEST = 100_000  # characters: Linux takes 128 KiB in one variable


class Stretch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Instances as one text, a key or `A..B`, and from when until when they are; neither of what is static."""

    instances: str
    start: str | None = None
    end: str | None = None


class Instance(msgspec.Struct, frozen=True):
    """One instance to make. `inputs`: by upstream entity exactly what to read. `recorded`: whether that is all that there is to read of entities."""

    entity: str
    instance: str
    start: str | None
    end: str | None
    inputs: dict[str, tuple[Stretch, ...]]
    recorded: bool = True


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run makes. Where no server could be asked there are no `instances`, no `states` but those that were asked for, and no `seq`.

    period: as it was asked for. states: one by entity. seq: what the server knew. missing: what is not there and is made without, a line each.
    """

    period: str
    entities: tuple[str, ...]
    states: dict[str, str] = {}
    instances: tuple[Instance, ...] = ()
    seq: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def start(self) -> str | None:
        """When the first instance begins."""
        return min((each.start for each in self.instances if each.start), key=datetime.fromisoformat, default=None)

    @property
    def end(self) -> str | None:
        """When the last instance ends."""
        return max((each.end for each in self.instances if each.end), key=datetime.fromisoformat, default=None)

    @property
    def named(self) -> str:
        """The key of the only instance, else the period as it was asked for."""
        return self.instances[0].instance if len(self.instances) == 1 else self.period

    def environment(self) -> dict[str, str]:
        """What the program finds in its environment. InvalidQuestion where it would be too much for one."""
        env = {"HEADWATER_ENTITY": ",".join(self.entities), "HEADWATER_PERIOD": self.named}
        if self.states:
            env["HEADWATER_STATE"] = ",".join(self.states[name] for name in self.entities)
        if self.start and self.end:
            env |= {"HEADWATER_PERIOD_START": self.start, "HEADWATER_PERIOD_END": self.end}
        if self.instances:
            together = merged(each.inputs for each in self.instances)
            env["HEADWATER_INPUTS"] = msgspec.json.encode(together).decode()
            each = [{key: value for key, value in _plain(one).items() if key != "recorded"} for one in self.instances]
            env["HEADWATER_INSTANCES"] = msgspec.json.encode(each).decode()
        for name, text in env.items():
            if len(text) > _LONGEST:
                raise InvalidQuestion(
                    f"{name} would be {len(text):,} characters, more than a program can be given: run fewer than "
                    f"{len(self.instances):,} instances at once",
                    period=self.period,
                )
        return env

    def facet(self, *, reported: bool) -> event.Facet:
        """The run facet `headwater_period`. `reported`: the run reports what it made, and it need not be learned from its events."""
        fields: dict[str, Any] = {"instances": [self.named], "reported": reported}
        if len(self.entities) == 1:
            fields["entity"] = self.entities[0]
            if self.states:
                fields["state"] = self.states[self.entities[0]]
        return event.facet("headwater_period", **fields)


def merged(inputs: Iterable[dict[str, tuple[Stretch, ...]]]) -> dict[str, tuple[Stretch, ...]]:
    """Together by entity; what several have is there once."""
    found: dict[str, dict[Stretch, None]] = {}
    for each in inputs:
        for entity, stretches in each.items():
            found.setdefault(entity, {}).update(dict.fromkeys(stretches))
    return {entity: tuple(stretches) for entity, stretches in found.items()}


def of_entity(instances: Sequence[Instance], entity: str) -> list[Instance]:
    """Those of one entity."""
    return [each for each in instances if each.entity == entity]


def _plain(one: Instance) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(one)
    return found
