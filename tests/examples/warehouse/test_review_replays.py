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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.cli.review.differences import Review
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


@pytest.mark.soak
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("name", "part", "precision"),
    [
        ("shop", "changes", 0.95),
        ("warehouse", "changes", 0.9),
        ("store", "changes", 0.85),
        ("depot", "changes", 0.69),
        ("depot", "unseen", 0.61),
        ("clinic", "changes", 0.42),
    ],
)
def test_a_review_names_what_dbt_and_the_log_show(
    name: str, part: str, precision: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(name, part, tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(job), encoding="utf-8")
    python = subprocess.run([ROOT / "scripts/environment", "warehouse"], capture_output=True, text=True, check=True)
    command = [python.stdout.strip(), REPLAYS, tmp_path / "job.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2100)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads((tmp_path / "out/outcomes.json").read_text(encoding="utf-8"))
    before = told["base"]
    assert len(job["changes"]) >= 30
    missed, wrong, said, right, breaks, broken = [], [], 0, 0, 0, 0
    classes: Counter[str] = Counter()
    rights: Counter[str] = Counter()
    for number, (change, after, expected) in enumerate(
        zip(job["changes"], told["changes"], job["expected"], strict=True)
    ):
        monkeypatch.chdir(tmp_path / "out" / str(number))
        review, _, _ = compare_with(str(tmp_path / "out/base"), ["dbt", "queries"], Options())
        answer: dict[str, tuple[str, bool]] = {}
        for unit, severity, certain in judged(review):
            answer[unit] = severity, certain
        if "dbt" in after:  # dbt refuses the project, and names the first model that it cannot place.
            assert review.severity == "breaks", (change, after["dbt"])
            assert any(one.severity == "breaks" and Path(one.place).stem in after["dbt"] for one in review.affected)
            continue
        if expected is not None:
            differing = {unit: now for unit, now in after.items() if now != before.get(unit, now)}
            assert ("changes" if differing else "same") == expected, (change, differing)
        for unit, now in after.items():
            severity, certain = answer.get(unit, (None, False))
            broke = now.startswith("error")
            differs = broke or (unit in before and now != before[unit])
            if (broke and severity != "breaks") or (differs and severity is None):
                missed.append((change, unit, severity, now[:200]))
            if severity == "breaks" and certain and not broke:
                missed.append((change, unit, "breaks for sure", now[:200]))
            said += severity is not None
            right += severity is not None and differs
            breaks += severity == "breaks"
            broken += severity == "breaks" and broke
            if severity is not None:
                claim = severity if certain else f"{severity}, perhaps"
                classes[claim] += 1
                rights[claim] += broke if severity == "breaks" else differs
                if not differs:
                    wrong.append((change, unit, claim))
    print(f"{name} {part}: {len(job['changes'])} changes, {len(before)} relations and queries, {said} said to notice, {right} did:",
          f"precision {right / said:.3f}; {breaks} said to break, {broken} did: {broken / max(breaks, 1):.3f}",
          *(f"{claim}: {rights[claim]} of {count}" for claim, count in sorted(classes.items())), *wrong, sep="\n")  # fmt: skip
    assert not missed, (len(missed), missed[:20])
    assert (
        right / said >= precision
    )  # A filter or a join may change nothing in this data; a rewritten model all below it, perhaps.
    assert broken >= 0.95 * breaks
