"""A pipeline that reports its steps and keeps a record of its own: what the spool took, and whether any call waited.

`python producer.py RECORD TICKS ITEMS SEED PAUSE`, with the client's settings in the environment. Lines of RECORD, in the order of things:

    ? DIGEST WAY THREAD     about to be given to the spool of that way
    + DIGEST WAY            the spool has taken it: from here on it may not be lost
    ! DIGEST WAY            the spool refused it (a full disk, the cap): kept in memory at most
    W CALL PLACES           a call of a step went on while another thread of this process did a second's work
    M CALL SECONDS          the longest call so far
"""

import hashlib
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_real_time, _real_time_ns = time.time, time.time_ns
_shift = [0.0]
# Before headwater is imported: this program's clock jumps, the machine's does not.
time.time = lambda: _real_time() + _shift[0]
time.time_ns = lambda: _real_time_ns() + int(_shift[0] * 1e9)

import headwater  # noqa: E402
from headwater.client import output  # noqa: E402

SHIFTS = (0.0, 0.0, 0.0, 3.3, -2.7, 7 * 3600.0, -5 * 3600.0, 40 * 86400.0, -400 * 86400.0)
STRETCH = 6  # times of work until a chain of items ends: the closure grows with the square of it
_TICK = 0.1
_WAITED = 10  # ticks


class Watch:
    """Distinguishes a call that waits from a process that is stopped or starved: a thread beside it that does as much work as the machine allows.

    It sleeps, and asks the disk to keep a byte, as the record does. If it gets that done ten times while one call of a step lasts, the machine
    was there, and it was the call that waited. No time of the machine is compared with anything.
    """

    def __init__(self, record: int, path: str) -> None:
        self._record, self._file = record, os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(self._file, b".", 0)
        self._calls: dict[int, list[Any]] = {}
        self._longest = 0.0
        self._ticks = 0
        threading.Thread(target=self._run, daemon=True).start()

    def call(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        me = threading.get_ident()
        before = self._calls.get(me)
        self._calls[me] = call = [name, self._ticks, False, time.perf_counter()]
        try:
            return function(*args, **kwargs)
        finally:
            if before is None:
                del self._calls[me]
            else:
                self._calls[me] = before
                before[3] += time.perf_counter() - call[3] if name == "record" else 0
                before[1] += self._ticks - call[1] if name == "record" else 0
            seconds = time.perf_counter() - call[3]
            if name != "record" and seconds > self._longest * 1.2:
                self._longest = seconds
                os.write(self._record, f"M {name} {seconds:.6f}\n".encode())

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            os.pwrite(self._file, b".", 0)
            os.fdatasync(self._file)
            self._ticks += 1
            for thread, call in list(self._calls.items()):
                name, since, said, _ = call
                if name != "record" and self._ticks - since >= _WAITED and not said:
                    call[2] = True
                    places = traceback.extract_stack(sys._current_frames().get(thread))
                    told = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(places))
                    os.write(self._record, f"W {name} {told}\n".encode())


def recorded(watch: Watch, record: int, route: Any) -> None:
    """From now on the record says what became of every event at this way's spool."""
    append, way = route.spool.append, route.destination.transport

    def keep(event: bytes) -> None:
        digest = hashlib.blake2b(event, digest_size=16).hexdigest()
        os.write(record, f"? {digest} {way} {threading.get_ident()}\n".encode())
        try:
            append(event)
        except BaseException:
            os.write(record, f"! {digest} {way}\n".encode())
            raise
        os.write(record, f"+ {digest} {way}\n".encode())
        watch.call("record", os.fdatasync, record)

    route.spool.append = keep


class Pipeline:
    """Downloads, splits, joins: steps in steps, items from step to step and from other producers."""

    def __init__(self, watch: Watch, items: Path, draw: random.Random, pause: float) -> None:
        self.watch, self.items, self.draw, self.pause = watch, items, draw, pause
        self.before: list[Any] = []

    def once(self, number: int) -> None:
        draw, call = self.draw, self.watch.call
        _shift[0] = draw.choice(SHIFTS)
        outer = headwater.step(f"load {draw.randrange(3)}", version="1", inputs=self.before[-1:])
        outer_step = call("enter", outer.__enter__)
        export = call("output", outer_step.output, f"/in/{draw.randrange(20)}.csv")
        with_error = draw.random() < 0.1
        for part in range(draw.choice((1, 1, 2, 4))):
            if draw.random() < 0.1:
                _shift[0] = draw.choice(SHIFTS)  # in mid-step
            inner = headwater.step(
                f"split {draw.randrange(5)}", inputs=[export, *draw.sample(self.before, min(1, len(self.before)))]
            )
            step = call("enter", inner.__enter__)
            call(
                "detail",
                step.detail,
                "part",
                {"number": number, "part": part, "text": "x" * draw.choice((0, 10, 3000))},
            )
            made = call("output", step.output, f"/out/{draw.randrange(50)}.parquet", rows=draw.randrange(1000))
            if draw.random() < 0.1 and (other := self.of_another()):
                call("input", step.input, other)
            if draw.random() < 0.15:
                call("input", step.input, self.content(number))
            if draw.random() < 0.15:
                content = self.content(number)
                place = (content["namespace"], content["name"])
                call("output", step.output, place, facets={"version": {"datasetVersion": content["fingerprint"]}})
            call("exit", inner.__exit__, *((ValueError, ValueError("bad"), None) if with_error else (None, None, None)))
            self.before.append(made)
        call("exit", outer.__exit__, None, None, None)
        self.before = [] if number % STRETCH == STRETCH - 1 else self.before[-3:]
        if self.before and draw.random() < 0.1:
            self.share(self.before[-1])
        time.sleep(draw.random() * 2 * self.pause)

    def content(self, number: int) -> dict[str, str]:
        """One of a few contents of this stretch of the work: what is read here may be written there, which may close a loop."""
        which = hashlib.md5(
            f"{os.getpid()} {threading.get_ident()} {number // STRETCH} {self.draw.randrange(3)}".encode()
        ).hexdigest()
        return {"namespace": "file", "name": f"/content/{which[:4]}", "fingerprint": f"xxh3-128:{which}"}

    def share(self, item: Any) -> None:
        aside = self.items / f".{os.getpid()}"
        aside.write_text(item.to_json())
        aside.replace(self.items / f"{self.draw.randrange(8)}.json")

    def of_another(self) -> Any:
        path = self.items / f"{self.draw.randrange(8)}.json"
        return json.loads(path.read_text()) if path.exists() else None


def main() -> None:
    path, ticks, items, seed, pause = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    record = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    watch = Watch(record, ticks)
    emitter: Any = output.emitter()
    for route in emitter._routes:
        recorded(watch, record, route)
    emit = emitter.emit
    emitter.emit = lambda event: watch.call("emit", emit, event)

    def work(seed: str) -> None:
        pipeline = Pipeline(watch, Path(items), random.Random(seed), float(pause))
        number = 0
        while True:
            pipeline.once(number)
            number += 1

    threading.Thread(target=work, args=(f"{seed} beside",), daemon=True).start()
    work(seed)


if __name__ == "__main__":
    main()
