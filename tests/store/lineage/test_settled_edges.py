"""An edge lives by the job's newest complete run, and by those before it where it comes and goes (docs/decisions/042)."""

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.events import columns, dataset, run_event
from tests.scale import full

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep import rebuild
from headwater.model.names import DatasetName, JobName
from headwater.model.version import dataset_id, job_id
from headwater.store.database import Database
from headwater.store.lineage import column_evidence, edges
from headwater.store.lineage.edges import Moment

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/lineage/settled_edges.yaml").read_text(encoding="utf-8"))
NOW = Moment()
BEGAN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
JOB = job_id(JobName("test", "loader"))
END = {"1": "COMPLETE", "0": "COMPLETE", "-": "COMPLETE", "F": "FAIL", "f": "FAIL", "R": "RUNNING"}
ALWAYS = "/always"


def at(minutes: int) -> str:
    return (BEGAN + dt.timedelta(minutes=minutes)).isoformat()


def send(database: Database, run: Any, events: list[dict[str, Any]]) -> None:
    run(Intake(database).accept_batch(json.dumps(events).encode()))


def found(database: Database, run: Any, moment: Moment = NOW) -> dict[tuple[str, str], bool]:
    """Return (name, direction) → intermittent of what is alive."""
    names = {dataset_id(DatasetName("file", name)): name for name in (ALWAYS, *"abc", "/sometimes")}

    async def ask() -> dict[tuple[str, str], bool]:
        async with database.connection() as connection:
            both = [await edges.at_jobs(connection, [JOB], one, moment) for one in ("in", "out")]
        return {(names[edge.dataset], edge.direction): edge.intermittent for some in both for edge in some}

    return run(ask())  # type: ignore[no-any-return]


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["runs"])
def test_an_edge_over_runs(database: Database, run: Any, case: dict[str, Any], direction: str) -> None:
    events = []
    for number, kind in enumerate(case["runs"]):
        has = kind in "1FR"
        written = [] if kind == "-" else [ALWAYS]
        events.append(
            run_event(
                END[kind],
                number,
                "loader",
                ["/sometimes"] if has and direction == "in" else ["/always"] if kind == "-" else [],
                written + ["/sometimes"] * (has and direction == "out"),
                at=at(number),
            )
        )
    random.Random(case["runs"]).shuffle(events)
    for event in events:
        send(database, run, [event])
    for moment in (Moment(), Moment(BEGAN + dt.timedelta(days=9))):
        answer = found(database, run, moment)
        assert (("/sometimes", direction) in answer) is case["alive"]
        assert answer.get(("/sometimes", direction), False) is case["intermittent"]


class Mention(NamedTuple):
    minute: int
    kind: str
    inputs: list[str]
    outputs: list[str]


def drawn(draw: random.Random) -> list[list[Mention]]:
    """Draw runs of one job that overlap, fail, report at their start, at their end, or at neither."""
    runs = []
    for number in range(draw.randint(1, 14)):
        begin = number * 10 + draw.randint(0, 9)
        kinds = draw.choice(
            [["START", "COMPLETE"]] * 5 + [["START", "FAIL"], ["START"], ["COMPLETE"], ["START", "RUNNING", "COMPLETE"]]
        )
        runs.append(
            [
                Mention(
                    begin + place * draw.randint(1, 25),
                    kind,
                    draw.sample("abc", draw.choice([0, 0, 1, 2])),
                    draw.sample("abc", draw.choice([0, 1, 1, 2])),
                )
                for place, kind in enumerate(kinds)
            ]
        )
    return runs  # fmt: skip


def expected(runs: list[list[Mention]], until: int) -> dict[tuple[str, str], bool]:
    """The rule as it is told, over lists: what is alive at a minute, and whether it comes and goes."""
    reports = []
    for number, mentions in enumerate(runs):
        telling = [m for m in mentions if m.inputs or m.outputs]
        if not telling or min(m.minute for m in telling) > until:
            continue
        times: dict[tuple[str, str], list[int]] = {}
        for m in telling:
            for names, direction in ((m.inputs, "in"), (m.outputs, "out")):
                for name in names:
                    times.setdefault((name, direction), []).append(m.minute)
        times = {key: some for key, some in times.items() if min(some) <= until}
        kinds = {m.kind for m in mentions}
        complete = (
            "COMPLETE" in kinds
            and "FAIL" not in kinds
            and max(m.minute for m in mentions if m.kind == "COMPLETE") <= until
        )
        reports.append((min(m.minute for m in telling), number, times, complete))
    reports.sort(key=lambda r: -r[0])
    complete = [r for r in reports if r[3]]
    settled = ([r for r in complete if any(d == "out" for _, d in r[2])] or complete)[:10]
    since = settled[0][0] if settled else -1
    answer = {}
    for key in {key for r in reports for key in r[2]}:
        had = "".join("1" if key in r[2] else "0" for r in settled)
        comes_and_goes = had.count("1") >= 2 and had.count("0") >= 2 and "0" in had.strip("0")
        if comes_and_goes or any(max(r[2][key]) >= since for r in reports if key in r[2]):
            answer[key] = comes_and_goes
    return answer  # fmt: skip


@pytest.mark.parametrize("seed", range(full(400, 12)))
def test_any_runs_in_any_order(database: Database, run: Any, seed: int) -> None:
    draw = random.Random(seed)
    runs = drawn(draw)
    events = [
        run_event(m.kind, number, "loader", m.inputs, m.outputs, at=at(m.minute))
        for number, mentions in enumerate(runs)
        for m in mentions
    ]
    draw.shuffle(events)
    while events:
        send(database, run, [events.pop() for _ in range(min(len(events), draw.randint(1, 6)))])
    last = max(m.minute for mentions in runs for m in mentions)
    assert found(database, run) == expected(runs, last)
    for minute in (last, draw.randint(0, last)):
        moment = Moment(BEGAN + dt.timedelta(minutes=minute))
        assert found(database, run, moment) == expected(runs, minute), minute
    before = run(rebuild.fingerprints(database))
    run(rebuild.rebuild(database))
    assert run(rebuild.fingerprints(database)) == before


def test_columns_come_and_go_with_their_edges(database: Database, run: Any) -> None:
    target = dataset_id(DatasetName("file", "/out"))

    def sources(moment: Moment) -> set[Any]:
        async def ask() -> set[Any]:
            async with database.connection() as connection:
                return (await column_evidence.load(connection, [(JOB, target)], moment)).sources()

        return run(ask())  # type: ignore[no-any-return]

    def out(source: str) -> dict[str, Any]:
        return dataset("/out", **columns({"x": [(source, "x", "DIRECT:IDENTITY")]}))

    def daily(number: int, source: str) -> dict[str, Any]:
        return run_event("COMPLETE", number, "loader", [source], [out(source)], at=at(number))

    a, b, c = (dataset_id(DatasetName("file", name)) for name in ("/a", "/b", "/c"))
    send(database, run, [daily(1, "/a"), daily(2, "/b")])
    for moment in (Moment(), Moment(BEGAN + dt.timedelta(days=1))):
        assert sources(moment) == {b}
    send(database, run, [daily(3, "/a"), daily(4, "/b")])
    for moment in (Moment(), Moment(BEGAN + dt.timedelta(days=1))):
        assert sources(moment) == {a, b}
    send(database, run, [daily(number, "/c") for number in range(5, 14)])
    for moment in (Moment(), Moment(BEGAN + dt.timedelta(days=1))):
        assert sources(moment) == {c}
    assert sources(Moment(BEGAN + dt.timedelta(minutes=4, seconds=30))) == {a, b}
