"""Pytest's report of a stage: the number of tests, their times, and the failed ones."""

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def ran(self) -> int:
        return self.passed + self.failed

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    name: str
    seconds: float  # set-up and tear-down included


def words(folder: Path) -> list[str]:
    """The options with which pytest writes what this module reads."""
    return [f"--junitxml={folder / 'junit.xml'}", "-o", "junit_family=xunit1", "-o", f"cache_dir={folder / 'cache'}"]


def counts(folder: Path) -> Counts | None:
    """None where pytest wrote no report: it was ended, or never began."""
    root = _report(folder)
    if root is None:
        return None
    suites = list(root.iter("testsuite"))
    tests, failed, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    # A test that fails and whose tear-down fails too counts twice in a report.
    return Counts(max(tests - failed - errors - skipped, 0), failed + errors, skipped)


def cases(folder: Path) -> list[Case]:
    root = _report(folder)
    found = [] if root is None else root.iter("testcase")
    return [Case(case.get("file", "?"), case.get("name", "?"), float(case.get("time", "0"))) for case in found]


def failed_tests(folder: Path) -> list[str]:
    """Node ids, as pytest takes them. A file that could not be collected is one of them."""
    try:
        return list(json.loads((folder / "cache/v/cache/lastfailed").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []


def _report(folder: Path) -> ET.Element | None:
    try:
        return ET.parse(folder / "junit.xml").getroot()
    except (FileNotFoundError, ET.ParseError):
        return None
