"""Annotations by people laid over events: a person's description comes first, tags and owners are joined.

A tag or owner that a person removed is not shown, from any source. Annotations describe the present: they are shown for every time that a
question asks about.
"""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import msgspec

from headwater.model.tags import key_of
from headwater.store.people.annotations import Annotation

EVENT, MANUAL = "EVENT", "MANUAL"


class Tag(msgspec.Struct):
    """A tag and its origin: `EVENT`, or `MANUAL` with the person who set it and the time. `text` is `name` or `name:value`."""

    text: str
    name: str
    value: str | int | float | bool | None
    origin: str
    author: str | None = None
    at: dt.datetime | None = None


class Owner(msgspec.Struct):
    """An owner and where that comes from, as with tags."""

    name: str
    type: str | None
    origin: str = EVENT
    author: str | None = None
    at: dt.datetime | None = None


class Words:
    """All changes by people to one dataset (and its columns) or job."""

    def __init__(self, said: Iterable[Annotation] = ()) -> None:
        self._said: dict[tuple[str, str], dict[str, Annotation]] = {}
        for one in said:
            self._said.setdefault((one.field, one.kind), {})[one.key] = one

    def description(self, field: str = "") -> str | None:
        """The text a person gave, or None."""
        told = self._said.get((field, "description"), {}).get("")
        return None if told is None or told.deleted else told.value.get("text")

    def tags(self, told: Iterable[tuple[str, Any]], field: str = "") -> list[Tag]:
        """Return tags by events, given as (name, value), and by people; if both have one, the person's."""
        mine = self._said.get((field, "tag"), {})
        found = [Tag(text_of(name, value), name, value, EVENT) for name, value in told if key_of(name) not in mine]
        for one in mine.values():
            if not one.deleted:
                name, value = str(one.value["name"]), one.value.get("value")
                found.append(Tag(text_of(name, value), name, value, MANUAL, one.author, one.at))
        return found

    def owners(self, told: Iterable[Owner]) -> list[Owner]:
        """Return owners by events, given as `told`, and by people; if both have one, the person's."""
        mine = self._said.get(("", "owner"), {})
        found = [owner for owner in told if owner.name not in mine]
        found += [
            Owner(str(one.value["name"]), one.value.get("type"), MANUAL, one.author, one.at)
            for one in mine.values()
            if not one.deleted
        ]
        return found

    @property
    def fields(self) -> list[str]:
        """Columns that a person described or tagged."""
        return sorted(
            {
                field
                for (field, kind), some in self._said.items()
                if field and kind in {"description", "tag"} and any(not one.deleted for one in some.values())
            }
        )

    @property
    def hidden(self) -> bool:
        told = self._said.get(("", "hidden"), {}).get("")
        return told is not None and not told.deleted


def text_of(name: str, value: object) -> str:
    """Return `name`, or `name:value` if the value says more than that the tag is set."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    return name if value in (None, "", "true", name) else f"{name}:{value}"
