"""`headwater reconcile` on real storage against the application itself: what differs is found exactly, told once, and nothing is deleted."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.api.status.test_entities import declare, made, say
from tests.fixtures.app import Client
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.client.ask import refusal
from headwater.errors import InvalidQuestion, NotFound
from headwater.store.embedded import EmbeddedPostgres

YAML = """
entity: reads
period: {every: day, from: 2024-01-01, until: 2024-03-01}
---
entity: hours
period: {every: hour, tz: Europe/Paris, from: 2024-10-27}
---
entity: kept
period: {every: day, from: 2024-01-01}
retention: 40 days
states: [estimated, completed]
"""


@pytest.fixture
def headwater(client: Client, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command whose questions go to the application in this process."""

    def ask(
        base: str, path: str, params: Any = None, _key: Any = None, *, method: str = "GET", body: bytes | None = None
    ) -> bytes:
        get = method == "GET"
        reply = client.get(path, **params) if get else client.post(path, body or b"", content_type="application/json")
        if reply.status_code >= 400:
            raise refusal(reply.status_code, reply.content, path)
        return bytes(reply.content)

    monkeypatch.setattr("headwater.capture.storage.reconciler.ask", ask)
    assert declare(client, YAML).status_code == 200

    def run(*words: str) -> Result:
        return CliRunner().invoke(program, ["reconcile", *words], catch_exceptions=False)

    return run


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")


def shown(client: Client, entity: str, instances: str) -> dict[str, int]:
    counts: dict[str, int] = client.get(f"/api/v2/entities/{entity}/status", instances=instances).json()["counts"]
    return counts


def test_looked_at_reported_and_nothing_left(client: Client, headwater: Any, tmp_path: Path) -> None:
    say(client, made("reads", "2024-01-01..2024-01-05"))
    touch(tmp_path, *(f"2024-01-{day:02}.csv" for day in (1, 2, 3, 9)), "2024-01.csv", "\x1b[31mred.csv", "x.txt")
    pattern = f"{tmp_path}/{{period}}.csv"
    dry = headwater("reads", "--files", pattern, "--check")
    assert dry.exit_code == 1
    assert "2 gone, and not reported as removed: 2024-01-04..2024-01-05" in dry.output
    assert "1 there, and not reported: 2024-01-09" in dry.output
    assert "not an instance: 2024-01: " in dry.output
    assert "not an instance: \\x1b[31mred" in dry.output
    assert "\x1b" not in dry.output
    assert "3 agree; 1 other entries ignored" in dry.output
    assert shown(client, "reads", "2024-01-01..2024-01-10") == {"completed": 5, "missing": 5}
    told = headwater("reads", "--files", pattern, "--report")
    assert (told.exit_code, "reported: 2 deleted" in told.output) == (0, True)
    assert shown(client, "reads", "2024-01-01..2024-01-10") == {"completed": 3, "deleted": 2, "missing": 5}
    again = headwater("reads", "--files", pattern, "--report", "--adopt", "--json")
    found = json.loads(again.output)
    assert found["reported"] == {"retention": 0, "external": 0, "adopted": 1, "refused": []}
    assert headwater("reads", "--files", pattern, "--check").exit_code == 0
    assert sorted(each.name for each in tmp_path.iterdir())[:2] == ["\x1b[31mred.csv", "2024-01-01.csv"]


def test_what_was_meant_to_go_is_no_loss(client: Client, headwater: Any, tmp_path: Path) -> None:
    say(client, made("kept", "2024-01-01..2024-01-03", "2026-11-01..2099-01-01", future=True))
    touch(tmp_path, "dt=2024-01-02/part-0", "dt=2024-01-09/part-0")
    out = headwater(
        "kept", "--hive", str(tmp_path), "--report", "--adopt", "--state", "estimated", "--within", "2024-01"
    )
    assert out.exit_code == 0, out.output
    stretches = client.get("/api/v2/entities/kept/status", instances="2024-01-01..2024-01-09").json()["stretches"]
    assert [(each["instances"], [mark["ref"] for mark in each["marks"]]) for each in stretches if each["marks"]] == [
        ("2024-01-01", ["retention"]),
        ("2024-01-02", ["completed"]),
        ("2024-01-03", ["retention"]),
        ("2024-01-09", ["estimated"]),
    ]
    version = client.get("/api/v2/entities/kept/instances/2024-01-09").json()
    assert (version["versions"][0]["run"], version["history"][0]["reason"]) == ("reconcile", f"found in {tmp_path}")
    refused = headwater(
        "kept", "--hive", str(tmp_path), "--report", "--adopt", "--state", "nice", "--within", "2024-01"
    )
    assert refused.exit_code == 0  # nothing is left to adopt
    touch(tmp_path, "dt=2024-01-10/part-0")
    refused = headwater(
        "kept", "--hive", str(tmp_path), "--report", "--adopt", "--state", "nice", "--within", "2024-01"
    )
    assert (refused.exit_code, "there is no state 'nice'" in refused.output) == (1, True)


def test_an_empty_folder_is_a_wrong_path_without_the_option_empty(
    client: Client, headwater: Any, tmp_path: Path
) -> None:
    say(client, made("reads", "2024-01-01"))
    with pytest.raises(InvalidQuestion, match="--empty"):
        headwater("reads", "--files", f"{tmp_path}/{{period}}.csv", "--report")
    with pytest.raises(NotFound, match="nothing was compared"):
        headwater("reads", "--files", f"{tmp_path}/no/{{period}}.csv", "--report", "--empty")
    assert shown(client, "reads", "2024-01-01") == {"completed": 1}
    headwater("reads", "--files", f"{tmp_path}/{{period}}.csv", "--report", "--empty")
    assert shown(client, "reads", "2024-01-01") == {"deleted": 1}


def test_what_happens_meanwhile_is_no_drift(
    client: Client, headwater: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(client, made("reads", "2024-01-01"))
    touch(tmp_path, "2024-01-01.csv")
    from headwater.capture.storage import files

    real = files.inside

    def inside(*given: Any) -> Iterator[tuple[str, bool]]:
        yield from real(*given)
        say(client, made("reads", "2024-01-02"))  # after its folder was read

    monkeypatch.setattr(files, "inside", inside)
    found = json.loads(headwater("reads", "--files", f"{tmp_path}/{{period}}.csv", "--report", "--json").output)
    assert (found["drift"]["external"]["count"], found["drift"]["underway"]["instances"]) == (0, ["2024-01-02"])
    assert shown(client, "reads", "2024-01-02") == {"completed": 1}


def test_rows_of_a_database(client: Client, headwater: Any, postgres: EmbeddedPostgres, monkeypatch: Any) -> None:
    say(client, made("hours", "2024-10-27T02+02:00", "2024-10-27T02+01:00", "2024-10-27T03+01:00"))
    rows = "(timestamptz '2024-10-27 00:30Z'), ('2024-10-27 02:59Z'), ('2024-10-27 03:00Z'), (null)"
    monkeypatch.setenv("WAREHOUSE", postgres.url)
    query = f"select date_trunc('hour', at) from (values {rows}) x (at)"
    found = json.loads(headwater("hours", "--sql", "env:WAREHOUSE", "--query", query, "--json").output)
    assert (found["drift"]["agree"], found["ignored"]) == (2, 1)
    assert found["drift"]["external"]["instances"] == ["2024-10-27T02+01:00"]
    assert found["drift"]["unknown"]["instances"] == ["2024-10-27T04+01:00"]
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("create table reconciled_reads (day date)")
        connection.execute(
            "insert into reconciled_reads select '2024-01-01'::date + i / 9 from generate_series(0, 99) i"
        )
        say(client, made("reads", "2024-01-01..2024-01-14"))
        query = "select distinct day from reconciled_reads"
        found = json.loads(headwater("reads", "--sql", postgres.url, "--query", query, "--json").output)
        connection.execute("drop table reconciled_reads")
    assert (found["drift"]["agree"], found["drift"]["external"]["instances"]) == (12, ["2024-01-13..2024-01-14"])


def test_other_databases(client: Client, headwater: Any, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "lake.db") as connection:
        connection.execute("create table reads (day text)")
        connection.execute("insert into reads values ('2024-01-01'), ('20240102')")
    connection.close()
    words = ("reads", "--sql", str(tmp_path / "lake.db"), "--driver", "sqlite3", "--query", "select day from reads")
    found = json.loads(headwater(*words, "--report", "--adopt", "--json").output)
    assert found["drift"]["unknown"]["instances"] == ["2024-01-01..2024-01-02"]


def test_random_drift_is_found_exactly_and_gone_when_it_is_told(client: Client, headwater: Any, tmp_path: Path) -> None:
    draw = random.Random(7)
    days = [f"2024-{month:02}-{day:02}" for month, last in ((1, 31), (2, 29)) for day in range(1, last + 1)]
    known: set[str] = set()
    for trial in range(5):
        new = draw.sample(days, draw.randrange(1, 20))
        known |= set(new)
        say(client, made("reads", *new))
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        stored = {day for day in days if draw.random() < draw.choice([0.2, 0.5, 0.95])} | {"2024-02-29"}
        for day in stored:
            year, month, number = day.split("-")
            kind = draw.choice(["csv", "folder"])
            name = f"t/{year}/{month}/{number}.csv" if kind == "csv" else f"t/{year}/{month}/{number}.csv/part-0"
            touch(tmp_path, name, f"t/{year}/{month}/notes-{number}.txt")
        words = ["reads", "--files", f"{tmp_path}/t/{{year}}/{{month}}/{{day}}.csv", "--json"]
        found = json.loads(headwater(*words).output)["drift"]
        assert members(found["external"]["instances"], days) == known - stored
        assert members(found["unknown"]["instances"], days) == stored - known
        assert found["agree"] == len(known & stored)
        adopt = draw.random() < 0.5
        headwater(*words, "--report", *(["--adopt"] if adopt else []))
        known = known & stored | (stored if adopt else set())
        left = json.loads(headwater(*words).output)["drift"]
        assert left["external"]["count"] == 0
        assert members(left["unknown"]["instances"], days) == stored - known, trial


def members(ranges: list[str], days: list[str]) -> set[str]:
    found: set[str] = set()
    for each in ranges:
        low, _, high = each.partition("..")
        found |= {day for day in days if low <= day <= (high or low)}
    return found


def test_questions_that_make_no_sense(headwater: Any, tmp_path: Path) -> None:
    for words, why in (
        ([], "one of --files"),
        (["--files", "x", "--hive", "y"], "2 are given"),
        (["--sql", "x"], "--query"),
        (["--files", "x/{period}", "--columns", "dt"], "--columns goes"),
        (["--files", "x", "--adopt"], "--report"),
    ):
        with pytest.raises(InvalidQuestion, match=why):
            headwater("reads", *words)
    with pytest.raises(NotFound, match="raeds"):
        headwater("raeds", "--files", f"{tmp_path}/{{period}}")
