"""A declared entity and the dataset that holds it are one thing: found by either name, each knows the other, however that is known."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.events import RUN, dataset, facet, run_event
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.errors import InvalidPeriod, InvalidQuestion

YAML = """
entity: reads
description: Reads of articles, by day
period: {every: day, tz: Europe/Paris, from: 2024-01-01}
stored_in: file /lake/raw_reads
tags: {team: audience}
---
entity: words
period: {every: day, tz: Europe/Paris, from: 2024-01-01}
depends_on: reads
---
entity: weekly
period: {every: week, tz: Europe/Paris, from: 2024-01-01}
depends_on: {words: all_week}
produced_by: test/weekly-job
---
entity: nowhere
period: {every: day, from: 2024-01-01}
"""


class World:
    def __init__(self, client: Any) -> None:
        self.client = client

    def ask(self, path: str, **question: Any) -> Any:
        reply = self.client.get(f"/api/v2/{path}", **question)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def post(self, path: str, body: Any) -> Any:
        reply = self.client.post(path, json.dumps(body).encode(), content_type="application/json")
        assert reply.status_code < 300, reply.text
        return reply.json() if reply.content else None

    def event(self, *args: Any, **more: Any) -> None:
        self.post("/api/v1/lineage", run_event(*args, **more))

    def declare(self, text: str = YAML, **more: Any) -> Any:
        return self.post("/api/v2/entities", {"files": [{"name": "e.yaml", "text": text}], **more})

    def made(self, entity: str, instance: str, run: int | str = "") -> None:
        ref = RUN.format(run) if run else ""
        report = {"entity": entity, "what": "produced", "instances": [instance], "ref": ref}
        (told,) = self.post("/api/v2/instances", {"reports": [report]})["results"]
        assert not told.get("refused"), told

    def schedules(self, name: str) -> list[tuple[str, str]]:
        found = self.ask(f"datasets/file/{quote(name, safe='')}")["schedules"]
        return [(one["entity"], one["basis"]) for one in found]

    def homes(self, entity: str) -> list[tuple[str, str]]:
        return [
            (one["dataset"].rpartition(":")[2], one["basis"])
            for one in self.ask(f"entities/{entity}")["entity"]["homes"]
        ]


@pytest.fixture
def world(client: Any) -> World:
    """Reads where the declaration says; words where their package says; weeks where their job writes."""
    found = World(client)
    found.declare()
    found.event("COMPLETE", 1, "load", ["/src"], ["/lake/raw_reads"])
    found.event(
        "COMPLETE", 2, "count", ["/lake/raw_reads"], [dataset("/lake/counted", headwater_entity=facet(entity="words")), "/lake/log"]
    )  # fmt: skip
    # Who reads a dataset may declare it, too, and knows nothing of its entity.
    read = dataset("/lake/counted", headwater_declared=facet(name="counted", type="parquet", classification={}))
    found.event("COMPLETE", 3, "weekly-job", [read], ["/lake/weeks"])
    found.made("reads", "2024-03-10", 1)
    found.made("words", "2024-03-10", 2)
    return found


def test_each_knows_the_other_and_how_that_is_known(world: World) -> None:
    assert world.schedules("/lake/raw_reads") == [("reads", "declared")]
    assert world.schedules("/lake/counted") == [("words", "package")]
    assert world.schedules("/lake/weeks") == [("weekly", "lineage")]
    assert (world.schedules("/lake/log"), world.schedules("/src")) == ([], [])
    assert world.homes("reads") == [("/lake/raw_reads", "declared")]
    assert world.homes("words") == [("/lake/counted", "package")]
    assert world.homes("weekly") == [("/lake/weeks", "lineage")]
    assert world.homes("nowhere") == []
    (schedule,) = world.ask("datasets/file/%2Flake%2Fraw_reads")["schedules"]
    assert schedule == {
        "entity": "reads", "kind": "timeseries", "period": "day, Europe/Paris", "states": ["completed"],
        "latest": "2024-03-10", "wrong": 0, "basis": "declared",
    }  # fmt: skip


def test_of_several_outputs_none_is_chosen_by_guess(world: World) -> None:
    world.event("COMPLETE", 4, "weekly-job", ["/lake/counted"], ["/lake/weeks", "/lake/rejected"])
    assert (world.homes("weekly"), world.schedules("/lake/weeks")) == ([], [])
    world.event("COMPLETE", 5, "weekly-job", ["/lake/counted"], ["/lake/weekly", "/lake/rejected"])
    assert world.homes("weekly") == [("/lake/weekly", "lineage")]


def test_the_runs_that_made_it_say_where_it_is(world: World) -> None:
    world.event("COMPLETE", 6, "by-hand", [], ["/lake/made"])
    world.made("nowhere", "2024-03-10", 6)
    assert world.homes("nowhere") == [("/lake/made", "lineage")]
    assert world.schedules("/lake/made") == [("nowhere", "lineage")]


def test_a_text_means_the_dataset_by_either_name(world: World) -> None:
    def meant(text: str) -> tuple[str, str, str | None]:
        found = world.ask("objects", text=text)["object"]
        return found["type"], found["id"], found.get("entity")

    reads = ("DATASET", "dataset:file:/lake/raw_reads", "reads")
    assert meant("reads") == reads == meant("raw_reads") == meant("lake/raw_reads")
    assert meant("words") == ("DATASET", "dataset:file:/lake/counted", "words")
    assert meant("nowhere") == ("ENTITY", "nowhere", "nowhere")
    day = world.ask("objects", text="reads@2024-03-10")["object"]
    assert (day["type"], day["node"], day["instance"]) == ("INSTANCE", "dataset:file:/lake/raw_reads", "2024-03-10")
    assert world.ask("objects", text="raw_reads@2024-03-10")["object"] == day
    assert world.ask("objects", text="log@2024-03-10")["object"] is None
    refused = world.client.get("/api/v2/objects", text="raw_reads@2024-13")
    assert (refused.status_code, refused.json()["code"]) == (400, InvalidPeriod.code)
    world.event("COMPLETE", 7, "other", [], [dataset("reads", "kafka://k:9092")])
    found = world.ask("objects", text="reads")
    assert {one["id"] for one in found["candidates"]} == {reads[1], "dataset:kafka://k:9092:reads"}


def test_an_entity_is_a_name_of_its_dataset(world: World) -> None:
    def resolved(name: str, **more: Any) -> Any:
        found = world.ask("resolve", name=name, **more)
        return found["match"]["id"] if found["match"] else [one["id"] for one in found["candidates"]]

    world.event("COMPLETE", 7, "count.words", [], ["/lake/other"])
    assert resolved("words") == resolved("words", type="dataset") == "dataset:file:/lake/counted"
    assert resolved("words", type="job") == resolved("job:test:count.words") == "job:test:count.words"
    assert resolved("nowhere") == []
    world.event("COMPLETE", 8, "other", [], [dataset("words", "kafka://k:9092")])
    assert set(resolved("words")) == {"dataset:file:/lake/counted", "dataset:kafka://k:9092:words"}


def test_search_finds_schedules_by_their_words(world: World) -> None:
    found = world.ask("search", q="articles audience")
    assert found["schedules"] == [
        {"entity": "reads", "description": "Reads of articles, by day", "datasets": ["dataset:file:/lake/raw_reads"]}
    ]
    assert world.ask("search", q="audience", type="job")["schedules"] == []
    assert world.ask("search", q="nobody has these words")["schedules"] == []


def test_what_contradicts_is_named_with_both(world: World) -> None:
    assert world.ask("entity-contradictions")["contradictions"] == []
    world.event("COMPLETE", 8, "moved", ["/src"], ["/lake/elsewhere"])
    world.made("reads", "2024-03-11", 8)
    world.event("COMPLETE", 9, "other-job", ["/src"], ["/lake/weeks"])
    world.made("weekly", "2024-W10", 9)
    found = world.ask("entity-contradictions")["contradictions"]
    assert [(one["entity"], one["field"], one["text"]) for one in found] == [
        ("weekly", "produced_by", "is test/weekly-job, and its last instances were made by test:other-job: correct it, or leave it out"),
    ]  # fmt: skip
    for day in range(12, 18):
        world.made("reads", f"2024-03-{day}", 8)
    found = world.ask("entity-contradictions")["contradictions"]
    assert ("reads", "stored_in") in [(one["entity"], one["field"]) for one in found]
    assert (
        found[0]["text"]
        == "is file:/lake/raw_reads, and its runs write file:/lake/elsewhere: correct it, or leave it out"
    )


def test_packages_say_who_makes_what(client: Any) -> None:
    world = World(client)
    package = {"producer": "package:counting", "file": "counting/dk.yaml", "entities": ["words"], "max_periods": 7}
    assert world.declare(packages=[package])["warnings"] == []
    (producer,) = world.ask("entities/words")["entity"]["produced_by"]
    assert (producer["job"], producer["max_periods"]) == ("package:counting", 7)
    stated = YAML.replace("depends_on: reads\n", "depends_on: reads\nproduced_by: package:other\n")
    assert world.declare(stated, packages=[package])["warnings"] == [
        "e.yaml:11:1: entity 'words': produced_by is package:other, and counting/dk.yaml makes it as package:counting;"
        " correct one of them, or leave produced_by out"
    ]
    assert world.ask("entities/words")["entity"]["produced_by"][0]["job"] == "package:other"


def test_commands_take_either_name(server_url: str, tmp_path: Path, world: World) -> None:
    def run(*words: str) -> Result:
        return CliRunner().invoke(
            program, words, env={"HEADWATER_URL": server_url, "COLUMNS": "200"}, catch_exceptions=False
        )

    by_entity, by_dataset = run("status", "reads"), run("status", "lake/raw_reads")
    assert by_entity.output == by_dataset.output
    assert by_entity.output.startswith("reads ")
    day = run("status", "raw_reads@2024-03-10").output
    assert day.startswith("reads 2024-03-10\n")
    assert "yes: it may be used" in day
    assert "too few updates to say" in run("status", "lake/log").output
    with pytest.raises(InvalidQuestion, match="has no schedule"):
        run("status", "lake/log", "2024-03")
    assert "schedule   reads, every day, Europe/Paris; latest 2024-03-10" in run("datasets", "raw_reads").output
    assert "file:/lake/counted (its package says so)" in run("entities", "show", "words").output
    assert "reads" in run("search", "articles").output
    folder = tmp_path / "packages"
    (folder / "counting").mkdir(parents=True)
    (folder / "counting/dk.yaml").write_text("metadata: {name: count, namespace: n}\nentity: words\nmax_periods: 5\n")
    (folder / "entities.yaml").write_text(YAML)
    (folder / "prices.yaml").write_text("name: prices\ncompute: 3\n")
    dry = run("entities", "apply", str(folder), "--dry-run")
    assert "produced_by" in dry.output
    assert "prices.yaml: skipped, it declares no entity" in dry.stderr
    assert run("entities", "check", str(folder / "prices.yaml")).exit_code == 1
    assert run("entities", "apply", str(folder / "entities.yaml")).exit_code == 0
    assert world.ask("entities/words")["entity"]["produced_by"][0]["job"] == "package:counting"
