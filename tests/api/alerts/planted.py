"""A month of a small warehouse with planted incidents, and the alerts that they must give.

`raw.load` writes `raw`, 40 jobs read it and write a child each, daily at six. `other.load` is apart. All are good but for what is planted.
"""

import datetime as dt
from typing import Any

from tests.events import dataset, encoded, facet, run_event, schema

DAY = dt.timedelta(days=1)
CHILDREN = 40


class Warehouse:
    """Events of daily runs up to `end`, six o'clock of a day."""

    def __init__(self, end: dt.datetime, days: int = 40) -> None:
        self.end, self.days = end, days
        self.events: list[dict[str, Any]] = []
        self._run = 0

    def day(self, before: int) -> dt.datetime:
        """Six o'clock, so many days before the end."""
        return self.end - before * DAY

    def ran(
        self,
        job: str,
        at: dt.datetime,
        inputs: Any = (),
        outputs: Any = (),
        *,
        end: str = "COMPLETE",
        minutes: float = 5.0,
        **more: Any,
    ) -> None:
        self._run += 1
        begin = {"at": at.isoformat(), "namespace": "wh"}
        self.events.append(run_event("START", self._run, job, **begin, **more))
        done = (at + dt.timedelta(minutes=minutes)).isoformat()
        self.events.append(run_event(end, self._run, job, list(inputs), list(outputs), at=done, namespace="wh", **more))

    def bodies(self) -> list[bytes]:
        return [encoded(event) for event in self.events]


def owned(name: str, owner: str, *tags: str, fields: tuple[str, ...] = ("id", "amount")) -> dict[str, Any]:
    facets = {"ownership": facet(owners=[{"name": owner}]), **schema(*fields)}
    if tags:
        facets["tags"] = facet(
            tags=[{"key": tag.partition(":")[0], "value": tag.partition(":")[2] or "true"} for tag in tags]
        )
    return dataset(name, "db", **facets)


def month(end: dt.datetime, *, incidents: bool = True) -> Warehouse:
    """The month. With incidents: ten days before the end `raw.load` fails for two days, and the children wait; twenty days before, `other` is a day late."""
    made = Warehouse(end)
    for before in range(made.days, 0, -1):
        at = made.day(before)
        broken = incidents and before in {10, 9}
        raw = owned("lake.raw", "ana@example.com", "tier:gold")
        if broken:
            made.ran("raw.load", at, ["/landing"], [raw], end="FAIL")
        else:
            made.ran("raw.load", at, ["/landing"], [raw])
            for child in range(CHILDREN):
                made.ran(
                    f"child.{child:02}", at + dt.timedelta(minutes=30), [dataset("lake.raw", "db")],
                    [owned(f"mart.child_{child:02}", "bob@example.com", "tier:gold")],
                )  # fmt: skip
        if not (incidents and before == 20):
            made.ran("other.load", at, ["/elsewhere"], [owned("lake.other", "eve@example.com")])
    return made
