"""The instances that one run makes, with their states and inputs; and their way into the program.

Plain values from the server, which computes when a period begins and what it needs.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from headwater.client import event

_LONGEST = 100_000  # characters: Linux takes 128 KiB in one variable


class Stretch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Instances as one text, a key or `A..B`, with their start and end; None for static ones."""

    instances: str
    start: str | None = None
    end: str | None = None


class Instance(msgspec.Struct, frozen=True):
    """One instance to make. `inputs`: by upstream entity, exactly what to read. `recorded`: whether these are all its inputs from entities."""

    entity: str
    instance: str
    start: str | None
    end: str | None
    inputs: dict[str, tuple[Stretch, ...]]
    recorded: bool = True


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run makes. Without a server it has no `instances`, no `seq`, and only the requested `states`.

    period: as requested. states: one per entity. seq: of the server's answer. missing: inputs that it is made without, a line each.
    """

    period: str
    entities: tuple[str, ...]
    states: dict[str, str] = {}
    instances: tuple[Instance, ...] = ()
    seq: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def start(self) -> str | None:
        """Return when the first instance begins."""
        return min((each.start for each in self.instances if each.start), key=datetime.fromisoformat, default=None)

    @property
    def end(self) -> str | None:
        """Return when the last instance ends."""
        return max((each.end for each in self.instances if each.end), key=datetime.fromisoformat, default=None)

    @property
    def named(self) -> str:
        """Return the key of the only instance, else the period as requested."""
        return self.instances[0].instance if len(self.instances) == 1 else self.period

    def environment(self, files: Path) -> dict[str, str]:
        """Return the program's environment variables. What is too long for one is written to a file below `files`: then
        `HEADWATER_INSTANCES_FILE` names it, in place of `HEADWATER_INSTANCES`.
        """
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
        for name in [name for name, text in env.items() if len(text) > _LONGEST]:
            path = files / f"{name.lower()}.json"
            path.write_text(env.pop(name), encoding="utf-8")
            env[f"{name}_FILE"] = str(path)
        return env

    def facet(self, *, reported: bool) -> event.Facet:
        """Return the run facet `headwater_period`. `reported`: the run itself reports what it made, and events need not be used."""
        fields: dict[str, Any] = {"instances": [self.named], "reported": reported}
        if len(self.entities) == 1:
            fields["entity"] = self.entities[0]
            if self.states:
                fields["state"] = self.states[self.entities[0]]
        return event.facet("headwater_period", **fields)


def merged(inputs: Iterable[dict[str, tuple[Stretch, ...]]]) -> dict[str, tuple[Stretch, ...]]:
    """Merge by entity, without duplicates; stretches that overlap or touch become one."""
    found: dict[str, dict[Stretch, None]] = {}
    for each in inputs:
        for entity, stretches in each.items():
            found.setdefault(entity, {}).update(dict.fromkeys(stretches))
    return {entity: tuple(_joined(stretches)) for entity, stretches in found.items()}


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for each in stretches:
        if found and _continues(each, found[-1]):
            last = found[-1]
            end = max(last, each, key=lambda one: datetime.fromisoformat(one.end or ""))
            text = f"{last.instances.partition('..')[0]}..{end.instances.rpartition('..')[2]}"
            found[-1] = Stretch(text, last.start, end.end)
        else:
            found.append(each)
    return found


def _continues(one: Stretch, last: Stretch) -> bool:
    """Return whether no instance is between the two, judging by when they begin and end."""
    if not (one.start and one.end and last.start and last.end):
        return False
    return datetime.fromisoformat(last.start) <= datetime.fromisoformat(one.start) <= datetime.fromisoformat(last.end)


def of_entity(instances: Sequence[Instance], entity: str) -> list[Instance]:
    """Return the instances of one entity."""
    return [each for each in instances if each.entity == entity]


def _plain(one: Instance) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(one)
    return found
