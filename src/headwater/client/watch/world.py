"""A known world from a seed: the story of each slot, the order of its events, and which are sent twice. Pure.

The same seed, mark and times give the same bytes. Names are bounded (stories × slots each): a watcher that runs for a year
writes as few datasets and jobs as one that runs for a minute; runs and events grow with time.
"""

import datetime as dt
import random
from collections.abc import Collection, Sequence

from headwater.client.watch.expected import Draft
from headwater.client.watch.scene import CHECKS, Check, Delivery, Scene
from headwater.client.watch.stories import STORIES, Stage

# Rounds of one slot are at least this far apart in event time; a round is shorter.
_ROUND = dt.timedelta(seconds=1)
_EACH = 2  # slots a story has


class World:
    """An endless supply of scenes. `mark` separates a watcher's names from those of others and of earlier ones."""

    def __init__(
        self,
        *,
        namespace: str,
        mark: str,
        seed: int = 0,
        checks: Collection[Check] = CHECKS,
        slots: int | None = None,
    ) -> None:
        self.namespace, self.mark, self.seed, self.checks = namespace, mark, seed, frozenset(checks)
        self.stories = [name for name in STORIES if self._asked(name)]
        count = slots or _EACH * len(self.stories)
        self._slots: list[list[dt.datetime]] = [[] for _ in range(count if self.stories else 0)]  # first, latest time
        self._rounds = [0] * len(self._slots)

    def __len__(self) -> int:
        """Return the number of slots: scenes of different slots may be played at the same time, those of one only in turn."""
        return len(self._slots)

    def scene(self, slot: int, now: dt.datetime) -> Scene:
        """Return the next round of this slot's story; its events are dated in the second before `now`, or after the previous round."""
        times, number = self._slots[slot], self._rounds[slot]
        at = (now - _ROUND).replace(microsecond=0)
        if times:
            at = max(at, times[-1] + _ROUND)
        name = self.stories[slot % len(self.stories)]
        stage = Stage(
            self.namespace,
            f"{self.mark}-{slot:02d}-{name}",
            number,
            at,
            times[0] if times else at,
            times[-1] if times else None,
        )
        rng = random.Random(f"{self.seed}/{slot}/{number}")  # noqa: S311 - a repeatable world, not a secret
        draft = Draft(at)
        questions = STORIES[name](stage, rng, draft)
        self._slots[slot] = [stage.first, at]
        self._rounds[slot] = number + 1
        asked = [question for question in questions if question.check in self.checks]
        return Scene(name, slot, number, draft.events, deliveries(draft.events, draft.last, rng), asked)

    def _asked(self, name: str) -> bool:
        """Return whether any check of the story is requested."""
        now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        stage = Stage("n", "p", 0, now, now, None)
        questions = STORIES[name](stage, random.Random(0), Draft(now))  # noqa: S311
        return self.checks <= {"receipts"} or any(question.check in self.checks for question in questions)


def deliveries(events: Sequence[bytes], last: Collection[int], rng: random.Random) -> list[Delivery]:
    """Return the events in random order, cut into single events and batches, some of them twice; `last` leave after all others."""
    first = [position for position in range(len(events)) if position not in last]
    rng.shuffle(first)
    if first:
        for position in rng.sample(first, len(first) // 4):
            first.insert(rng.randint(0, len(first)), position)
    found = []
    while first:
        size = rng.choice((1, 1, 2, 3, 5))
        found.append(Delivery(tuple(first[:size]), batch=size > 1 or rng.random() < 0.2))
        first = first[size:]
    return found + [Delivery((position,), batch=False) for position in sorted(last)]
