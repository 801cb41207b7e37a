"""The words about a silent run stay the same for as long as an answer with them is held."""

import datetime as dt
import random
import uuid

import pytest

from headwater.answer.lineage import liveness
from headwater.model.run import RunState
from headwater.store.lineage.runs import RunRow

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def running(began: dt.datetime, spoke: dt.datetime) -> RunRow:
    return RunRow(
        uuid.uuid4(), uuid.uuid4(), None, RunState.RUNNING, began, spoke, began, None, None, None, None, None, None, None, None
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(300))
def test_a_stalled_run_is_shown_in_the_same_words_until_then(seed: int) -> None:
    draw = random.Random(seed)
    silent = dt.timedelta(seconds=draw.uniform(700, draw.choice([3600, 100_000, 10_000_000])))
    row = running(NOW - silent - dt.timedelta(seconds=draw.uniform(3600, 200_000)), NOW - silent)
    took = draw.choice([(), (1000.0, 2000.0, 3000.0)])
    reason = liveness.stalled(row.began, row.last_event_at, NOW, took)
    until = liveness.unchanged_until(row, NOW, streaming=False, stalled=reason is not None)
    assert until is not None
    if reason is None:
        assert until <= NOW, "it may be stalled at any moment"
        return
    for share in (0.0, draw.random(), 1.0):
        later = NOW + share * max(dt.timedelta(0), until - NOW)
        assert liveness.stalled(row.began, row.last_event_at, later, took) == reason
