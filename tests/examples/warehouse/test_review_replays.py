"""`headwater review` against what real dbt on a real PostgreSQL makes of each change, and what the logged statements return after it.

A relation or a query that fails must have been said to break; one that returns something else must have been said to notice. None may be missed
(recall 1.0). The precision is the share of those said to notice that did: of all, and of each class of warning apart. A class is the severity, and
"perhaps" if the review could not read a text whole. A warning of "breaks" is right when the unit then fails; one of
"changes" is right when the unit then fails or returns something else on the rows of this replay.
"""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.cli.review.results import BREAKS, CHANGES, MAY_CHANGE, Review
from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/warehouse"
REPLAYS = Path(__file__).with_name("dbt_replays.py")
_DAYS = 5


def job_of(name: str, part: str, folder: Path) -> dict[str, Any]:
    case = yaml.safe_load((ROOT / f"tests/cases/review/{name}.yaml").read_text(encoding="utf-8"))
    project = folder / "project"
    profile = (EXAMPLE / "dbt/profiles.yml").read_text(encoding="utf-8")
    if name == "warehouse":
        shutil.copytree(EXAMPLE / "dbt", project)
        shutil.copytree(EXAMPLE / "changes/04-visibility/models", project / "models", dirs_exist_ok=True)
        more: dict[str, Any] = {"days": _DAYS}
    for file, text in case["files"].items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(text, encoding="utf-8")
    if name != "warehouse":
        renamed = profile.replace("warehouse:", "shop:", 1).replace("schema: main", "schema: shop")
        (project / "profiles.yml").write_text(renamed, encoding="utf-8")
        more = {"setup": case["setup"], "statements": case["statements"], "later": case.get("later", "")}
    named = [(title, change) for title, some in case[part].items() for change in some]
    does = {title: effect for effect, titles in case.get("expected", {}).items() for title in titles}
    changes, expected = [change for _, change in named], [does.get(title) for title, _ in named]
    return {"project": str(project), "changes": changes, "expected": expected, "out": str(folder / "out"), **more}


def unit_of(place: str, table: str) -> str:
    """A query by its file, a relation by its schema and name: as the replays have it."""
    return place if place.startswith("queries/") else ".".join(table.split(".")[-2:])


def judged(review: Review) -> Iterator[tuple[str, str, bool]]:
    """Each unit with the worst effect on it, and whether that is certain."""
    for one in reversed(review.affected):
        if one.severity != "cosmetic":
            yield unit_of(one.place, one.table), one.severity, one.certain


class Tally:
    """The warnings of reviews, beside the results of replays."""

    def __init__(self) -> None:
        self.missed: list[tuple[object, ...]] = []
        self.false: list[tuple[object, ...]] = []
        self.claims: Counter[str] = Counter()
        """Warnings by class: the severity, and "perhaps" if the review could not read a text whole."""
        self.right: Counter[str] = Counter()
        self.noticed: Counter[str] = Counter()
        """Units that fail or return something else, by the severity that the review gave them."""

    def add(self, change: object, unit: str, severity: str | None, certain: bool, now: str, was: str | None) -> None:
        broke = now.startswith("error")
        differs = broke or (was is not None and now != was)
        if (broke and severity != BREAKS) or (differs and severity is None):
            self.missed.append((change, unit, severity, now[:200]))
        if severity == BREAKS and certain and not broke:
            self.missed.append((change, unit, "breaks for sure", now[:200]))
        if severity is None:
            return
        claim = severity if certain else f"{severity}, perhaps"
        is_right = broke if severity == BREAKS else differs
        self.claims[claim] += 1
        self.right[claim] += is_right
        self.noticed[severity] += differs
        if not is_right:
            self.false.append((change, unit, claim))

    def count(self, *severities: str) -> tuple[int, int]:
        """Return the warnings of these severities that are right, and all of them."""
        claims = [one for one in self.claims if one.split(",")[0] in severities]
        return sum(self.right[one] for one in claims), sum(self.claims[one] for one in claims)

    def lines(self) -> list[str]:
        right, asserted = self.count(BREAKS, CHANGES)
        shown, other = self.count(MAY_CHANGE)
        changed = self.noticed.total()
        return [
            f"asserted (breaks, changes values): {right} of {asserted} right, precision {right / asserted:.3f}",
            f"may change on other data: {other}, of which {shown} change on these",
            f"all warnings: {changed} of {self.claims.total()} change, {changed / self.claims.total():.3f}",
            f"of the {changed} units that change, asserted: {changed - self.noticed[MAY_CHANGE]}; missed by all classes: {len(self.missed)}",
            *(f"{claim}: {self.right[claim]} of {count}" for claim, count in sorted(self.claims.items())),
        ]


def judge_changes(job: dict[str, Any], outcomes: dict[str, Any], out: Path, enter: Callable[[Path], None]) -> Tally:
    """Review each change that was made below `out`, and hold the answer to what the replay returned. `enter`: make a folder the current one."""
    before, tally = outcomes["base"], Tally()
    for number, (change, after, expected) in enumerate(
        zip(job["changes"], outcomes["changes"], job["expected"], strict=True)
    ):
        enter(out / str(number))
        review, _, _ = compare_with(str(out / "base"), ["dbt", "queries"], Options())
        answer: dict[str, tuple[str, bool]] = {}
        for unit, severity, certain in judged(review):
            answer[unit] = severity, certain
        if "dbt" in after:  # dbt refuses the project, and names the first model that it cannot place.
            assert review.severity == BREAKS, (change, after["dbt"])
            assert any(one.severity == BREAKS and Path(one.place).stem in after["dbt"] for one in review.affected)
            continue
        if expected is not None:
            differing = {unit: now for unit, now in after.items() if now != before.get(unit, now)}
            assert ("changes" if differing else "same") == expected, (change, differing)
        for unit, now in after.items():
            severity, certain = answer.get(unit, (None, False))
            tally.add(change, unit, severity, certain, now, before.get(unit))
    return tally


@pytest.mark.soak
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("shop", "changes"),
        ("warehouse", "changes"),
        ("store", "changes"),
        ("depot", "changes"),
        ("depot", "unseen"),
        ("clinic", "changes"),
    ],
)
def test_a_review_names_what_dbt_and_the_log_show(
    name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(name, part, tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(job), encoding="utf-8")
    python = subprocess.run([ROOT / "scripts/environment", "warehouse"], capture_output=True, text=True, check=True)
    command = [python.stdout.strip(), REPLAYS, tmp_path / "job.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2100)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    outcomes = json.loads((tmp_path / "out/outcomes.json").read_text(encoding="utf-8"))
    assert len(job["changes"]) >= 30
    tally = judge_changes(job, outcomes, tmp_path / "out", monkeypatch.chdir)
    print(f"{name} {part}: {len(job['changes'])} changes, {len(outcomes['base'])} relations and queries",
          *tally.lines(), *tally.false, sep="\n")  # fmt: skip
    assert not tally.missed, (len(tally.missed), tally.missed[:20])
    right, asserted = tally.count(BREAKS, CHANGES)
    assert right >= 0.9 * asserted
    assert tally.right[BREAKS] == tally.claims[BREAKS]
