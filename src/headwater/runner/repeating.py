"""Work off what an incident lists: each job after those that it needs, at most once, until nothing is left that can run here.

The server says what is still wrong after each step, by the events that came. Nothing is kept between two starts but the output of what was begun: a
process that is killed and started again waits for what still runs, and begins nothing that has mended something meanwhile.
"""

import enum
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from headwater.errors import HeadwaterError
from headwater.runner.executors import Going, Outcome
from headwater.runner.repeated_jobs import RepeatedJob, Repetition, Ways

_TICK = 0.1
_PAUSE = 1.0


class Step(enum.StrEnum):
    """The events of a repair. `unchanged`: a run ended well, and what its job made is still wrong."""

    runs = "runs"
    watches = "watches"
    done = "done"
    failed = "failed"
    unchanged = "unchanged"
    by_hand = "by hand"


class JobEvent(msgspec.Struct, frozen=True):
    """An event of a job that is repeated."""

    what: Step
    job: str
    run: str | None = None
    command: str = ""
    note: str = ""


class Repeating:
    """`load`: asks the server for the jobs that are still to be repeated. `reports_within`: seconds in which a run's events may follow its end."""

    def __init__(
        self,
        load: Callable[[], Sequence[RepeatedJob]],
        ways: Ways,
        *,
        on_event: Callable[[JobEvent], None] = lambda _: None,
        reports_within: float = 10.0,
    ) -> None:
        self._load, self._ways, self._on_event, self._within = load, ways, on_event, reports_within
        self._over: set[tuple[str, str | None]] = set()
        self._watched: set[tuple[str, str | None]] = set()
        self._told: set[str] = set()
        self._stops = 0
        self.failed = False

    def stop(self) -> None:
        """Begin nothing more; the second call ends what runs, the third kills it. May be called by a signal handler."""
        self._stops += 1

    def run_jobs(self, patience: float = 0.0) -> str:
        """Run what can run here; wait so many seconds for what others must run. Returns `done`, `left` or `stopped`. Jobs that make instances are
        left to their plan.
        """
        end = time.monotonic() + patience
        while True:
            listed = self._load()
            if self._stops:
                return "stopped"
            if all(job.entities for job in listed):
                return "done"
            if (next_ := self._next(listed)) is not None:
                self._repeat(next_)
            elif time.monotonic() < end:
                time.sleep(_PAUSE)
            else:
                return "left"

    def _next(self, listed: Sequence[RepeatedJob]) -> Repetition | None:
        """The first run that needs nothing wrong any more; announces what waits for a person."""
        names = {job.job for job in listed}
        # Where jobs need each other none is ready: the first of them then.
        ready = [job for job in listed if not names & set(job.after)] or listed[:1]
        for job in (job for job in ready if not job.entities):
            repetitions = self._ways.repetitions(job)
            if repetitions is None:
                if job.job not in self._told:
                    self._told.add(job.job)
                    self._on_event(JobEvent(Step.by_hand, job.name, note=f"makes {', '.join(job.datasets)}"))
                continue
            for one in repetitions:
                if (job.job, one.run) not in self._over:
                    return one
        return None

    def _repeat(self, one: Repetition) -> None:
        key, name = (one.job.job, one.run), one.job.name
        self._over.add(key)
        try:
            going = one.earlier()
            if going is not None:
                if key not in self._watched:
                    self._watched.add(key)
                    self._on_event(JobEvent(Step.watches, name, one.run, one.shown))
                self._wait(going)
                if not self._is_mended(one):
                    # It was killed with the process that began it, or failed: then it is begun again.
                    self._over.discard(key)
                    time.sleep(_PAUSE)
                    return
                outcome: Outcome | None = Outcome(False)
            else:
                self._on_event(JobEvent(Step.runs, name, one.run, one.shown))
                outcome = self._wait(one.begin())
        except (HeadwaterError, OSError) as error:
            outcome = Outcome(True, str(error))
        if outcome is not None and outcome.failed:
            self._end(JobEvent(Step.failed, name, one.run, one.shown, outcome.note))
        elif self._is_mended(one, self._within):
            self._end(JobEvent(Step.done, name, one.run, one.shown))
        else:
            note = "no event says that it wrote anew what is wrong, or it read something that is wrong"
            self._end(JobEvent(Step.unchanged, name, one.run, one.shown, note))

    def _end(self, event: JobEvent) -> None:
        self.failed = self.failed or event.what != Step.done
        self._on_event(event)

    def _wait(self, going: Going) -> Outcome | None:
        passed_on = 1
        while (outcome := going.poll()) is None:
            if self._stops > passed_on:
                passed_on += 1
                going.stop()
            time.sleep(_TICK)
        return outcome

    def _is_mended(self, one: Repetition, within: float = 0.0) -> bool:
        """Return whether the server lists the run no more; it has some seconds to hear of it."""
        end = time.monotonic() + within
        while _lists(self._load(), one):
            if time.monotonic() >= end:
                return False
            time.sleep(min(_PAUSE, within / 10))
        return True


def _lists(jobs: Iterable[RepeatedJob], one: Repetition) -> bool:
    return any(job.job == one.job.job and (one.run is None or one.run in job.runs) for job in jobs)


def waiting_entities(jobs: Sequence[RepeatedJob]) -> set[str]:
    """Return the entities whose instances must not be made yet: a job that no plan repeats comes before, directly or not."""
    waiting = {job.job for job in jobs if not job.entities}
    while more := {job.job for job in jobs if waiting & set(job.after)} - waiting:
        waiting |= more
    return {entity for job in jobs if job.job in waiting for entity in job.entities}
