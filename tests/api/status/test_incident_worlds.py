"""The one list of incidents in random worlds against brute force: each trouble under the first upstream of it, who is hit, and an end by good runs.

Jobs ran every hour until five hours ago. Since then each ran well, failed, fell silent, or did not run; some results failed a check or are wrong.
"""

import datetime as dt
import json
import random
from typing import Any

import pytest
from tests.events import RUN, encoded, run_event
from tests.fixtures.app import Client
from tests.scale import full

from headwater.answer.status.open_incidents import KINDS

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
FATES = ("good", "good", "good", "failed", "stalled", "late", "doubted", "wrong")


def ago(hours: float) -> str:
    return (NOW - dt.timedelta(hours=hours)).isoformat()


class World:
    """Jobs, each of which writes `/NAME.csv` and reads what earlier ones write. Of what ran well lately: which runs it used."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.chance, self.number = client, random.Random(seed), 0
        self.jobs = {f"job{number}": self.chance.sample(range(number), min(number, 2)) for number in range(7)}
        self.reads = {job: [f"job{each}" for each in some] for job, some in self.jobs.items()}
        self.fates = {job: self.chance.choice(FATES) for job in self.jobs}
        events = [
            event
            for hours in range(16, 4, -1)
            for step, job in enumerate(self.jobs)
            for event in self.run(job, hours - step / 60)[1]
        ]
        reply = client.post("/api/v1/lineage/batch", encoded(events), content_type="application/json")
        assert reply.status_code == 200, reply.text
        self.last = {job: self.since(job, 1 - step / 60) for step, job in enumerate(self.jobs)}

    def run(self, job: str, hours: float, state: str = "COMPLETE") -> tuple[str, list[dict[str, Any]]]:
        """A run of 36 seconds that ended so; with START it has not ended."""
        self.number += 1
        files = [f"/{each}.csv" for each in self.reads[job]] or ["/src.csv"]
        states = [("START", hours + 0.01)] + ([(state, hours)] if state != "START" else [])
        return RUN.format(self.number), [
            run_event(each, self.number, job, files, [f"/{job}.csv"], at=ago(when)) for each, when in states
        ]

    def since(self, job: str, hours: float) -> str:
        fate = self.fates[job]
        if fate == "late":
            return ""
        state, when = {"failed": ("FAIL", hours + 2), "stalled": ("START", hours + 3.5)}.get(fate, ("COMPLETE", hours))
        run, events = self.run(job, when, state)
        for event in events:
            assert self.client.post("/api/v1/lineage", encoded(event)).status_code == 201
        if fate == "doubted":
            facets = {
                "dataQualityAssertions": {
                    "_producer": "p",
                    "_schemaURL": "s",
                    "assertions": [{"assertion": "whole", "success": False}],
                }
            }
            read = {"namespace": "file", "name": f"/{job}.csv", "inputFacets": facets}
            checked = run_event("COMPLETE", 900 + self.number, f"check {job}", [read], [], at=ago(hours - 0.01))
            assert self.client.post("/api/v1/lineage", encoded(checked)).status_code == 201
        return run

    def fresh(self, job: str) -> bool:
        return self.fates[job] in {"good", "doubted", "wrong"}

    def made_from(self, job: str) -> set[str]:
        """The jobs whose last results are made from this one's, over runs that all ran well lately; itself too."""
        found = {job}
        for other in self.jobs:
            if self.fresh(other) and found & set(self.reads[other]):
                found.add(other)
        return found

    def expected(self, since: dict[str, str]) -> dict[tuple[str, str], set[str]]:
        """(kind, id) of each entry, and what it hits. `since`: of the entries."""
        wrong = {job for root in self.jobs if self.fates[root] == "wrong" for job in self.made_from(root)}
        checked = [job for job in self.jobs if self.fates[job] == "doubted" and job not in wrong]
        doubts = [job for job in checked if not any(job in self.made_from(other) for other in checked if other != job)]
        kinds = {f"dataset:file:/{job}.csv": "doubted" for job in doubts}
        for job, fate in self.fates.items():
            if not self.fresh(job):
                kinds[f"dataset:file:/{job}.csv"] = "late"
            if fate in {"failed", "stalled"}:
                kinds[f"job:test:{job}"] = fate
        above = {f"dataset:file:/{job}.csv": {f"job:test:{job}"} for job in self.jobs}
        above |= {
            f"job:test:{job}": {f"dataset:file:/{each}.csv" for each in reads} for job, reads in self.reads.items()
        }

        def up(id_: str) -> set[str]:
            """The troubles right above, or above one thing that has none."""
            return {
                far for each in above[id_] for far in ({each} if each in kinds else above.get(each, ())) if far in kinds
            }

        def roots(id_: str) -> set[str]:
            return {far for each in up(id_) for far in roots(each)} or {id_}

        found: dict[tuple[str, str], set[str]] = {}
        for id_, kind in kinds.items():
            first = min(roots(id_), key=lambda each: (KINDS.index(kinds[each]), since.get(each, "missing"), each))
            found.setdefault((kinds[first], first), set()).update({id_} - {first})
            if kind == "doubted":
                mine = {
                    f"dataset:file:/{job}.csv" for job in self.made_from(id_.rpartition("/")[2].removesuffix(".csv"))
                }
                found[kinds[first], first] |= mine - kinds.keys()
        return found


def listed(client: Client) -> list[dict[str, Any]]:
    reply = client.get("/api/v2/open-incidents")
    assert reply.status_code == 200, reply.text
    return list(reply.json()["incidents"])


@pytest.mark.parametrize("seed", range(full(60, 4)))
def test_random_incidents_equal_brute_force_and_end_by_good_runs(client: Client, seed: int) -> None:
    world = World(client, seed)
    told: dict[str, str] = {}
    for job, fate in world.fates.items():
        if fate == "wrong":
            body = {"origins": [{"kind": "RUN", "ref": world.last[job]}], "reason": "old rates"}
            reply = client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json")
            told[reply.json()["id"]] = job
    found = listed(client)
    wrong = {told[one["id"]]: {each["label"] for each in one["hit"]} for one in found if one["kind"] == "wrong"}
    assert wrong == {job: {f"{each}.csv" for each in world.made_from(job) - {job}} for job in told.values()}
    others = {(one["kind"], one["id"]): {each["id"] for each in one["hit"]} for one in found if one["kind"] != "wrong"}
    assert others == world.expected({one["id"]: one["since"] for one in found})
    for one in found:
        kinds = {"wrong": "run", "failed": "run", "stalled": "run", "doubted": "version", "late": "dataset"}
        assert one["cause"]["kind"] == kinds[one["kind"]]
        if one["kind"] in {"wrong", "failed", "stalled"}:
            job = told.get(one["id"], one["label"])
            assert one["cause"]["id"] == world.last[job]
    world.fates = dict.fromkeys(world.jobs, "good")
    for step, job in enumerate(world.jobs):
        world.since(job, 0.5 - step / 60)
    assert listed(client) == [], "good runs, in order, mend all of it"
