"""Ids of runs and items: UUIDv7, unique and in the order of time, across threads and processes at a high rate."""

import json
import threading
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.client import event
from stepping import program

_MANY = """
import json, sys, threading, time
from headwater.client import event
made = []
def work():
    mine = []
    for _ in range(5000):
        mine.append((time.time_ns(), event.run_id(), time.time_ns()))
    made.append(mine)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
if len(sys.argv) > 1:
    import os
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps([event.run_id() for _ in range(500)]).encode())
        os._exit(0)
    made.append([(0, i, 1 << 62) for i in [event.run_id() for _ in range(500)]])
    os.wait()
    made.append([(0, i, 1 << 62) for i in json.loads(os.read(reader, 1 << 20))])
print(json.dumps(made))
"""


def test_across_threads_and_processes() -> None:
    results: list[list[list[tuple[int, str, int]]]] = []
    runs = [
        threading.Thread(target=lambda *args: results.append(json.loads(program(_MANY, *args).stdout)), args=args)
        for args in ((), (), ("fork",))
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    made = [one for process in results for thread in process for one in thread]
    ids = [text for _, text, _ in made]
    assert len(ids) == 3 * 4 * 5000 + 1000
    assert len(set(ids)) == len(ids)
    for process in results:
        for thread in process:
            assert [text for _, text, _ in thread] == sorted(text for _, text, _ in thread), (
                "in the order they were made"
            )
    for before, text, after in made:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
        assert before // 1_000_000 <= parsed.int >> 80, "never before the moment it was made"
        if after < 1 << 62:
            # A burst may run ahead of the clock: by a quarter of a microsecond for each id of the process.
            assert (parsed.int >> 80) <= after // 1_000_000 + 10


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(min_value=-(10**12), max_value=10**12), min_size=1, max_size=20))
def test_a_clock_that_jumps_makes_no_id_twice_and_none_smaller(jumps: list[int]) -> None:
    import time
    from unittest import mock

    real = time.time_ns
    ids = []
    last = event._Clock.last
    try:
        for jump in jumps:
            with mock.patch.object(event.time, "time_ns", lambda jump=jump: real() + jump):
                ids.extend(event.run_id() for _ in range(3))
    finally:
        event._Clock.last = last
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
