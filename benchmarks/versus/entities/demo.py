"""One demo: what another system says of a small case, what Headwater says, and what is true; shown, recorded, judged.

All three give for each question the texts of the instances it asks for. The other system's answers are kept in tests/cases/entities/versus, with
which the suite runs Headwater's side again without it.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from environments import ROOT, asked

Answers = dict[str, list[str]]
RECORDED = ROOT / "tests" / "cases" / "entities" / "versus"


class Demo(NamedTuple):
    """`truth`: by plain loops over dates and rows, which know nothing of either system. `read`: the other system's answers as ours are written."""

    name: str  # of the module, of its side in peers/ and of what is recorded
    system: str
    title: str
    case: Any
    truth: Callable[[], Answers]
    headwater: Callable[[], Answers]
    read: Callable[[Any], Answers]


def shown(instances: list[str]) -> str:
    """A few as they are, of many the first, the last and how many."""
    if len(instances) < 3:
        return ", ".join(instances) or "none"
    return f"{len(instances)}: {instances[0]} … {instances[-1]}"


def verdict(said: list[str], true: list[str]) -> str:
    if said == true:
        return f"{shown(said)} ✓"
    missing = [each for each in true if each not in said]
    extra = [each for each in said if each not in true]
    wrong = [f"{word} {shown(some)}" for word, some in (("lacks", missing), ("has too", extra)) if some]
    return f"{shown(said)} ✗ ({'; '.join(wrong) or 'another order, or twice'})"


def table(demo: Demo, version: str, truth: Answers, other: Answers, ours: Answers) -> str:
    lines = [
        f"{demo.title}\n",
        f"| | truth | {demo.system} {version} | Headwater |",
        "|---|---|---|---|",
        *(
            f"| {question} | {shown(true)} | {verdict(other[question], true)} | {verdict(ours[question], true)} |"
            for question, true in truth.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def run(demo: Demo) -> int:
    """The exit code: 1 where Headwater is not right, whatever the other system says."""
    told = asked(demo.system, demo.name, demo.case)
    truth, other, ours = demo.truth(), demo.read(told["answers"]), demo.headwater()
    print(table(demo, told["version"], truth, other, ours), flush=True)
    record = {"system": demo.system, "version": told["version"], "case": demo.case, "answers": other}
    RECORDED.mkdir(parents=True, exist_ok=True)
    (RECORDED / f"{demo.name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(ours != truth)
