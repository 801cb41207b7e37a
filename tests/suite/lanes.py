"""Stages side by side, one in each lane; what they printed, how long they took, and what they left running."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.suite import processes
from tests.suite.stages import Stage


@dataclass(slots=True)
class Outcome:
    """The end of a stage. `code`: of its process, None where it was never started. `reason`: why it failed, "" where it did not."""

    stage: Stage
    log: Path
    seconds: float = 0.0
    code: int | None = None
    reason: str = ""
    left_behind: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Running:
    outcome: Outcome
    process: subprocess.Popen[bytes]
    began: float


class Lanes:
    """Runs stages, `count` at a time, in the given order as far as `after` and `alone` allow; where lanes are several, one more that `waits` beside them.

    A stage whose predecessor failed is not started and says so. `announce` is called with each outcome as it ends.
    """

    def __init__(
        self,
        count: int,
        root: Path,
        folder: Path,
        command: Callable[[Stage], Sequence[str]],
        announce: Callable[[Outcome], None],
    ) -> None:
        self.count = count
        self.root = root
        self.folder = folder
        self.command = command
        self.announce = announce
        self._running: dict[str, _Running] = {}

    def run(self, stages: Sequence[Stage]) -> list[Outcome]:
        waiting = list(stages)
        ended: dict[str, Outcome] = {}
        while waiting or self._running:
            for stage in [stage for stage in waiting if self._blocked_by(stage, ended)]:
                waiting.remove(stage)
                reason = f"not started: {self._blocked_by(stage, ended)} failed"
                ended[stage.name] = Outcome(stage, self._log(stage), reason=reason)
                self.announce(ended[stage.name])
            while (stage := self._next(waiting, ended)) is not None:
                waiting.remove(stage)
                self._start(stage)
            time.sleep(processes.BETWEEN_LOOKS)
            processes.reap(running.process for running in self._running.values())
            for outcome in self._ended():
                ended[outcome.stage.name] = outcome
                self.announce(outcome)
        return [ended[stage.name] for stage in stages]

    def _blocked_by(self, stage: Stage, ended: dict[str, Outcome]) -> str:
        return next((name for name in stage.after if name in ended and ended[name].code != 0), "")

    def _next(self, waiting: Sequence[Stage], ended: dict[str, Outcome]) -> Stage | None:
        if any(running.outcome.stage.alone for running in self._running.values()):
            return None
        names = {stage.name for stage in waiting} | self._running.keys()
        ready = [stage for stage in waiting if not names & set(stage.after) and not (stage.alone and self._running)]
        # Those that wait, one after the other, fill what the lanes leave; without others, they are as others.
        among = [stage for stage in ready if self._has_room(stage)]
        if not among and len(self._running) < self.count:
            among = ready
        return among[0] if among else None

    def _has_room(self, stage: Stage) -> bool:
        if self.count == 1:
            return not self._running
        alike = sum(running.outcome.stage.waits == stage.waits for running in self._running.values())
        return len(self._running) <= self.count and alike < (1 if stage.waits else self.count)

    def _log(self, stage: Stage) -> Path:
        return self.folder / stage.name / "log"

    def _start(self, stage: Stage) -> None:
        log = self._log(stage)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as sink:
            process = subprocess.Popen(
                self.command(stage),
                cwd=self.root,
                env=os.environ | {processes.STAGE_VARIABLE: stage.name},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self._running[stage.name] = _Running(Outcome(stage, log), process, time.monotonic())

    def _ended(self) -> list[Outcome]:
        found = []
        for name, running in list(self._running.items()):
            outcome, code = running.outcome, running.process.poll()
            outcome.seconds = time.monotonic() - running.began
            if code is None and outcome.seconds > outcome.stage.limit:
                code = _interrupted(running.process)
                processes.end(processes.of_stage(name))
                outcome.reason = f"ended after {outcome.stage.limit:.0f} s, the stage's limit"
            if code is None:
                continue
            outcome.code = code
            if code and not outcome.reason:
                outcome.reason = f"exit code {code}"
            outcome.left_behind = processes.end_what_is_left(name)
            del self._running[name]
            found.append(outcome)
        return found


def _interrupted(process: subprocess.Popen[bytes], patience: float = 20) -> int:
    """End a stage as Ctrl-C does, on which pytest reports the failures so far; a process that does not obey is killed."""
    process.send_signal(signal.SIGINT)
    code = processes.wait(process, patience)
    if code is None:
        process.kill()
        code = process.wait()
    return code
