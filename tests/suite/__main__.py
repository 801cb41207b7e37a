"""The suite: `python -m tests.suite` runs every stage, two at a time; `--help` says the rest.

A test that fails is run once more, alone, after all else. When it passes then, it is flaky: the last lines say so, and the run goes on as green.
"""

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.suite import processes, reports
from tests.suite.lanes import Lanes, Outcome
from tests.suite.soak import ENVIRONMENT, SOAK, Passed
from tests.suite.stages import ROOT, STAGES, Stage, chosen, pytest_words

# More failures than these are no matter of chance.
MOST_RUN_AGAIN = 10


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    table = SOAK if options.soak else STAGES
    try:
        stages = chosen(table, options.stages or [stage.name for stage in table if stage.check or not options.check])
    except KeyError as error:
        print(f"No stage is called {error}. `python -m tests.suite --list` prints the names.", file=sys.stderr)
        return 2
    if options.list:
        for stage in stages:
            print(f"{stage.name:22} {' '.join(stage.tests or stage.command)}")
        return 0
    if not options.soak:
        return Suite(ROOT / ".suite", options.lanes).run(stages)
    os.environ.update(ENVIRONMENT)
    folder = ROOT / ".suite/soak"
    passed = Passed(folder, _commit())
    return Suite(folder, 1, SOAK, passed=passed).run(
        [stage for stage in stages if options.again or not passed.has(stage)]
    )


def _commit() -> str:
    """The commit and a digest of what differs from it: a stage that passed has passed for this code alone."""
    words = ["git", "rev-parse", "HEAD"], ["git", "diff", "HEAD"], ["git", "status", "--porcelain"]
    parts = [subprocess.run(each, cwd=ROOT, capture_output=True, check=True).stdout for each in words]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.suite", description="Run the suite, several stages at a time."
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="run these and what they need; default: all")
    parser.add_argument("--check", action="store_true", help="run what `make check` runs")
    parser.add_argument(
        "--soak", action="store_true", help="run the long versions, one by one; goes on where it was stopped"
    )
    parser.add_argument("--again", action="store_true", help="with --soak: run what has passed at this commit, too")
    parser.add_argument("--lanes", type=int, default=2, help="stages at a time (default: 2)")
    parser.add_argument("--list", action="store_true", help="print the stages and end")
    return parser


class Suite:
    """One run. The output of each stage is in `folder`, by the stage's name."""

    def __init__(
        self,
        folder: Path,
        lanes: int,
        all_stages: Sequence[Stage] = STAGES,
        root: Path = ROOT,
        passed: Passed | None = None,
    ) -> None:
        self.passed = passed
        self.folder = folder
        self.root = root
        self.lanes = lanes
        self.all_stages = all_stages
        self.began = time.monotonic()
        self.ended = 0
        self.total = 0

    def run(self, stages: Sequence[Stage]) -> int:
        """The exit code: 0 where everything passed, in the end."""
        processes.adopt_orphans()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _stop)
        for stage in stages:
            shutil.rmtree(self.folder / stage.name, ignore_errors=True)
        self.total = len(stages)
        try:
            outcomes = Lanes(self.lanes, self.root, self.folder, self.command, self.announce).run(stages)
            flaky, failed = self.run_again(outcomes)
        finally:
            processes.end(processes.below_this())
        return self.conclude(outcomes, flaky, failed)

    def command(self, stage: Stage) -> list[str]:
        if stage.command:
            return list(stage.command)
        return self.pytest(self.folder / stage.name, *pytest_words(stage, self.all_stages))

    def pytest(self, folder: Path, *words: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-v", *reports.words(folder), *words]

    def announce(self, outcome: Outcome) -> None:
        self.ended += 1
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        if self.passed and outcome.code == 0:
            self.passed.add(outcome.stage)
        counted = reports.counts(outcome.log.parent) or ""
        words = [
            f"[{self.ended:2}/{self.total}] {minutes:2}:{seconds:02}",
            f"{outcome.stage.name:16}",
            f"{outcome.seconds:6.1f} s",
        ]
        print("  ".join([*words, str(counted), outcome.reason]).rstrip(), flush=True)
        for line in outcome.left_behind:
            print(f"         left running, ended now: {line}", flush=True)
        if outcome.reason and outcome.log.exists():
            print(_end_of(outcome.log), flush=True)

    def run_again(self, outcomes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
        """Names of tests and stages that failed and passed alone; of those that failed for good."""
        flaky: list[str] = []
        failed: list[str] = []
        again: list[tuple[str, list[str], Path]] = []
        for outcome in outcomes:
            folder = outcome.log.parent
            tests = reports.failed_tests(folder)
            if outcome.code == 1 and tests:
                again += [
                    (test, self.pytest(folder / f"again-{number}", test), folder / f"again-{number}")
                    for number, test in enumerate(tests)
                ]
            elif outcome.code and outcome.stage.repeatable:
                again.append((outcome.stage.name, list(outcome.stage.command), folder / "again"))
            elif outcome.reason:
                failed.append(f"{outcome.stage.name} ({outcome.reason})")
            ran = (reports.counts(folder) or reports.Counts()).ran
            if not outcome.reason and ran < outcome.stage.least:
                failed.append(f"{outcome.stage.name} (ran {ran} tests, and at least {outcome.stage.least} are its own)")
        if len(again) > MOST_RUN_AGAIN:
            print(f"{len(again)} failed: too many to be run again", flush=True)
            return flaky, [*failed, *(name for name, _, _ in again)]
        for name, words, folder in again:
            print(f"failed, is run again alone: {name}", flush=True)
            (flaky if self._passes(words, folder) else failed).append(name)
        return flaky, failed

    def _passes(self, words: Sequence[str], folder: Path) -> bool:
        folder.mkdir(parents=True)
        environment = os.environ | {processes.STAGE_VARIABLE: "again"}
        with (folder / "log").open("wb") as sink:
            process = subprocess.Popen(
                words, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
            code = processes.wait(process, 1200)
        processes.end_what_is_left("again", patience=0 if code is None else 3)
        if code != 0:
            print(_end_of(folder / "log"), flush=True)
        return code == 0

    def conclude(self, outcomes: Sequence[Outcome], flaky: Sequence[str], failed: Sequence[str]) -> int:
        _print_folders([outcome.log.parent for outcome in outcomes])
        total = sum((reports.counts(outcome.log.parent) or reports.Counts() for outcome in outcomes), reports.Counts())
        commands = [outcome for outcome in outcomes if not outcome.stage.tests]
        total += reports.Counts(passed=sum(outcome.code == 0 for outcome in commands))
        seconds = time.monotonic() - self.began
        print(
            f"\n{len(outcomes)} stages in {seconds:.0f} s, their own times together {sum(each.seconds for each in outcomes):.0f} s"
        )
        for name in flaky:
            print(
                f"flaky: {name} failed, and passed when it was run again alone; its cause belongs in docs/explanation/tests.md"
            )
        for name in failed:
            print(f"FAILED: {name}")
        print(f"flaky: {len(flaky)}")
        print(
            f"{total.passed + len(flaky)} passed, {len(failed)} failed"
            + (f", {total.skipped} skipped" if total.skipped else "")
        )
        return 1 if failed else 0


def _stop(number: int, frame: FrameType | None) -> None:
    """End everything below this process, then this one, as a shell says it: 128 and the signal's number."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    print(f"ended by {signal.Signals(number).name}: ending what was started", flush=True)
    processes.end(processes.below_this(), patience=5)
    sys.exit(128 + number)


def _end_of(log: Path, lines: int = 120) -> str:
    """The last lines of a log, from pytest's list of failures on if that is among them."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    begins = [number for number, line in enumerate(text) if line.strip("= ") in ("FAILURES", "ERRORS")]
    kept = text[begins[0] :] if begins else text
    left_out = [f"… {len(kept) - lines} lines more: {log.relative_to(ROOT) if log.is_relative_to(ROOT) else log}"]
    return "\n".join(f"    {line}" for line in (kept if len(kept) <= lines else [*left_out, *kept[-lines:]]))


def _print_folders(folders: Sequence[Path]) -> None:
    """Seconds and tests of each folder of tests, the longest first; the longest tests."""
    cases = [case for folder in folders for case in reports.cases(folder)]
    if not cases:
        return
    seconds: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for case in cases:
        folder = "/".join(Path(case.file).parts[1:-1][:2]) or "."
        seconds[folder] += case.seconds  # type: ignore[assignment]
        numbers[folder] += 1
    print("\nseconds  tests  folder")
    for folder, took in seconds.most_common():
        print(f"{took:7.0f}  {numbers[folder]:5}  {folder}")
    print("\nthe longest")
    for case in sorted(cases, key=lambda case: -case.seconds)[:15]:
        print(f"{case.seconds:7.1f}  {case.file}::{case.name[:100]}")


if __name__ == "__main__":
    sys.exit(main())
