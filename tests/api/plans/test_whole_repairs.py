"""Whole repairs against brute force: nothing wrong is used, everything wrong is made again once, and nothing else is.

A version is what one run left behind, of a dataset or of an instance. A run used the versions that were current when it began: of the datasets that
its event names, and of the instances that its schedule needs. A version is wrong if it or its run was condemned, or its run used a wrong version.
Wrong now is a wrong version that no later run replaced.
"""

import datetime as dt
import json
import random
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.api.status.test_entities import declare
from tests.api.status.test_wrong_versions import at, send
from tests.events import RUN, dataset, facet, parent, run_event
from tests.fixtures.app import Client
from tests.scale import full

from headwater.runner.plans import PlanOnServer
from headwater.runner.repeated_jobs import RepeatedJob
from headwater.runner.repeating import waiting_entities

SCHEDULES = """
entity: parts
period: {every: day, from: 2026-01-05}
produced_by: [package:parts]
---
entity: sums
period: {every: week, from: 2026-01-05}
depends_on: {parts: same}
produced_by: [package:sums]
---
entity: tops
period: {every: week, from: 2026-01-05}
depends_on: {sums: same}
produced_by: [package:tops]
"""
DAYS = [f"2026-01-{day:02}" for day in range(5, 19)]
WEEKS = ["2026-W02", "2026-W03"]
STEPS = 5000
"""The number of a step is that of its run and these."""
KEYS = {"parts": DAYS, "sums": WEEKS, "tops": WEEKS}
Thing = tuple[str, str]
"""A dataset, or an instance of an entity: (``, name) or (entity, key)."""
Made = tuple[Thing, int]
"""A version: of what, and the number of its run."""


def needs(entity: str, key: str) -> set[Thing]:
    """The instances that a schedule needs."""
    if entity == "sums":
        return {("parts", day) for day in DAYS if f"2026-W{dt.date.fromisoformat(day).isocalendar().week:02}" == key}
    return {("sums", key)} if entity == "tops" else set()


def path(entity: str, key: str) -> str:
    """The file of an instance. A path by its date would name the folder alone."""
    return f"/{entity}/{KEYS[entity].index(key)}.csv"


class Work(NamedTuple):
    """A job; with a schedule if it is named like an entity. Of each dataset it reads, an earlier job is the writer. `declared`: only its manifest
    names what it writes, and no event of Spark does.
    """

    name: str
    reads: list[str]
    writes: list[str]
    declared: bool


class World:
    """Jobs in an order in which they could run, what each run used, and what is held. `recorded`: reports say which instances were read. `stepped`: a
    step below the run that reports an instance writes it; `contents`: with a fingerprint.
    """

    def __init__(self, client: Client, seed: int, *, stepped: bool = False) -> None:
        self.client, self.chance = client, random.Random(seed)
        self.stepped, self.contents = stepped, bool(seed // 6 % 2)
        kind, self.recorded = ("mixed", "schedules", "runs")[seed % 3], bool(seed // 3 % 2)
        names = [] if kind == "schedules" else [f"job{number}" for number in range(5)]
        for entity in [] if kind == "runs" else KEYS:
            low = max((names.index(each) + 1 for each in KEYS if each in names), default=0)
            names.insert(self.chance.randint(low, len(names)), entity)
        self.works: dict[str, Work] = {}
        there = ["/src/0.csv"]
        for name in names:
            reads = self.chance.sample(there, self.chance.randint(0, min(3, len(there))))
            writes = [f"/{name}/{number}.csv" for number in range(self.chance.randint(1, 2))]
            self.works[name] = Work(name, reads, [] if name in KEYS else writes, self.chance.random() < 0.3)
            there += [path(name, self.chance.choice(KEYS[name])) for _ in range(2)] if name in KEYS else writes
        self.number = 0
        self.holds: dict[Thing, int] = {}
        self.used: dict[int, set[Made]] = {}
        self.made: dict[int, set[Made]] = {}
        self.seq = 0
        assert kind == "runs" or declare(client, SCHEDULES).status_code == 200

    def history(self) -> None:
        """Run everything once, in order, then by chance; what is scheduled only if reports say what was read."""
        for name in self.works:
            for key in KEYS.get(name, [""]):
                self.run(name, key)
        again = [name for name in self.works if self.recorded or name not in KEYS]
        for name in self.chance.choices(again, k=20 if again else 0):
            self.run(name, self.chance.choice(KEYS.get(name, [""])))

    def run(self, name: str, key: str = "") -> int:
        self.number += 1
        number, work = self.number, self.works[name]
        needed = sorted(each for each in needs(name, key) if each in self.holds)
        written = [path(name, key)] if key else work.writes
        inputs = [("", each) for each in work.reads] + needed
        self.used[number] = {(each, self.holds[each]) for each in inputs if each in self.holds}
        self.made[number] = {(("", each), number) for each in written} | ({((name, key), number)} if key else set())
        content = f"xxh3-128:{number:032x}"
        outputs = [dataset(each, headwater_declared=facet(name=each)) if work.declared else each for each in written]
        if key and self.stepped:
            if self.contents:
                outputs = [dataset(each, version=facet(datasetVersion=content)) for each in written]
            step, below = number + STEPS, parent(number, name)
            send(
                self.client,
                run_event("COMPLETE", step, f"{name}-step", work.reads, outputs, at=at(number), run_facets=below),
            )
            send(self.client, run_event("COMPLETE", number, name, at=at(number)))
        else:
            send(self.client, run_event("COMPLETE", number, name, work.reads, outputs, at=at(number)))
        self.holds |= dict(self.made[number])
        if key:
            one: dict[str, Any] = {
                "entity": name,
                "what": "produced",
                "instances": [key],
                "ref": RUN.format(number),
                "at": at(number),
            }
            if self.stepped and self.contents:
                one["fingerprint"] = content
            if self.recorded:
                reads = [{"entity": entity, "instances": [each]} for entity, each in needed]
                one |= {"reads": reads, "seq": self.seq}
            (told,) = ask(self.client, "/api/v2/instances", {"reports": [one]})["results"]
            assert told["seq"], told
            self.seq = told["seq"]
        return number

    def wrong(self, roots: set[Made]) -> set[Made]:
        found = set(roots)
        for number in sorted(self.used):
            if self.used[number] & found:
                found |= self.made[number]
        return found

    def held(self, roots: set[Made]) -> set[Thing]:
        return {thing for thing, number in self.wrong(roots) if self.holds[thing] == number}


def ask(client: Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = client.post(path, json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code in {200, 201}, (path, reply.text)
    return dict(reply.json())


def instances(entity: str, texts: Collection[str]) -> Iterator[Thing]:
    for text in texts:
        first, _, last = text.partition("..")
        yield from ((entity, key) for key in KEYS[entity] if first <= key <= (last or first))


def things(hits: list[dict[str, Any]]) -> set[Thing]:
    return {each for hit in hits for each in instances(hit["entity"], hit["instances"])}


def datasets(reads: dict[str, Any] | None) -> set[Thing]:
    return (
        {("", each["dataset"].removeprefix("dataset:file:")) for each in reads["versions"] if each["current"]}
        if reads
        else set()
    )


def condemn(world: World) -> tuple[set[Made], dict[str, Any]]:
    """Choose a run; or an instance; or, where nothing is scheduled, one of the versions that a run made. Return what is wrong, and the body of its
    incident."""
    number = world.chance.choice(sorted(set(world.holds.values())))
    scheduled = sorted(thing for thing in world.holds if thing[0])
    if scheduled and world.chance.random() < 0.5:
        entity, key = world.chance.choice(scheduled)
        number = world.holds[entity, key]
        return {((entity, key), number), (("", path(entity, key)), number)}, {
            "wrong": [{"entity": entity, "instances": [key]}]
        }
    if world.chance.random() < 0.5 or scheduled:
        is_step = world.stepped and any(thing[0] for thing, _ in world.made[number]) and world.chance.random() < 0.7
        ref = RUN.format(number + STEPS if is_step else number)
        return world.made[number], {"origins": [{"kind": "RUN", "ref": ref}]}
    one = world.chance.choice(sorted(world.made[number]))
    nodes = world.client.get(f"/api/v2/runs/{RUN.format(number)}/lineage", depth=1).json()["nodes"]
    (id_,) = {
        each["version_id"] for each in nodes if each["type"] == "VERSION" and f"dataset:file:{one[0][1]}" in str(each)
    }
    return {one}, {"origins": [{"kind": "VERSION", "ref": id_}]}


class PlanHere(PlanOnServer):
    """A plan of the application in this process."""

    def __init__(self, client: Client, id_: str) -> None:
        super().__init__("", id_)
        self.client = client

    def _ask(self, path: str, body: object = None, *, method: str = "POST", **parameters: Any) -> bytes:
        where = f"/api/v2/plans/{self.id}{path}"
        reply = (
            self.client.get(where, **parameters)
            if method == "GET"
            else self.client.post(where, msgspec.json.encode(body), content_type="application/json")
        )
        assert reply.status_code == 200, reply.text
        return reply.content


def mend(world: World, roots: set[Made], id_: str, plan: PlanHere | None) -> list[Thing]:
    """Run jobs and items as `headwater repair --apply` does; return what was made again, in order."""
    client, again = world.client, list[Thing]()

    def run(name: str, key: str = "") -> int:
        before = world.held(roots)
        number = world.run(name, key)
        assert not world.used[number] & world.wrong(roots), f"{name} {key} used something wrong"
        mended = sorted(before & {thing for thing, _ in world.made[number]})
        assert mended, f"{name} {key} was right"
        again.extend(mended)
        return number

    while True:
        reads = client.get(f"/api/v2/incidents/{id_}").json()["reads"]
        left = msgspec.convert(reads["repeat"] if reads else [], list[RepeatedJob])
        names = {job.job for job in left}
        if ready := [job for job in left if not job.entities and not names & set(job.after)]:
            run(ready[0].label)
            continue
        if plan is None:
            return again
        free = plan.numbers_without(waiting_entities(left))
        work = plan.take("here", limit=1, lease=60, producers=["package:*"], actions=["rerun"], numbers=free)
        if not work.items:
            return again
        (item,) = work.items
        ((entity, key),) = things(msgspec.to_builtins(item.makes))
        ended = plan.end(item, failed=False, run=RUN.format(run(entity, key)), note="")
        assert ended is not None
        assert ended.item == "done"


@pytest.mark.parametrize("seed", range(full(120, 6)))
def test_random_worlds_are_mended_as_brute_force_says(client: Client, seed: int) -> None:
    compare(World(client, seed))


@pytest.mark.parametrize("seed", range(full(120, 12)))
def test_random_packages_of_steps_are_mended_as_brute_force_says(client: Client, seed: int) -> None:
    compare(World(client, seed, stepped=True))


def compare(world: World) -> None:
    client = world.client
    world.history()
    roots, body = condemn(world)
    wrong = world.held(roots)
    scheduled = {thing for thing in wrong if thing[0]}
    if "origins" in body and body["origins"][0]["kind"] == "RUN":
        dry = ask(client, "/api/v2/repair", {"run": body["origins"][0]["ref"]})
        assert things(dry["incident"]["hits"]) | datasets(dry["incident"]["reads"]) == wrong
        assert things(dry["plan"]["makes"] if dry["plan"] else []) == scheduled
    opened = ask(client, "/api/v2/incidents", body | {"reason": "half is missing"})
    assert things(opened["hits"]) | datasets(opened["reads"]) == wrong
    ask(client, f"/api/v2/incidents/{opened['id']}/fix", {"at": at(world.number + 1)})
    plan = None
    if scheduled:
        planned = ask(client, "/api/v2/plans", {"incident": opened["id"]})
        assert things(planned["makes"]) == scheduled
        plan = PlanHere(client, planned["id"])
        plan.apply()
    assert sorted(mend(world, roots, opened["id"], plan)) == sorted(wrong), "each once, and nothing else"
    shown = client.get(f"/api/v2/incidents/{opened['id']}").json()
    assert (world.held(roots), shown["incident"]["mended"]) == (set(), True)
