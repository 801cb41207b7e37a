"""Commands about history and health, from the terminal to the database and back."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, run_event, schema
from typer.testing import CliRunner

from headwater.cli import server
from headwater.cli.program import program
from headwater.errors import InvalidQuestion

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


def ago(**span: float) -> str:
    return (NOW - dt.timedelta(**span)).isoformat()


@pytest.fixture
def told(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command against the application of this process; its output, or with --json its value."""

    def ask(_url: str | None, path: str, **parameters: Any) -> bytes:
        reply = client.get(path, **parameters)
        assert reply.status_code == 200, reply.text
        return bytes(reply.content)

    monkeypatch.setattr(server, "ask", ask)

    def run(*arguments: str) -> str:
        plain = CliRunner().invoke(program, list(arguments), catch_exceptions=False)
        value = CliRunner().invoke(program, [*arguments, "--json"], catch_exceptions=False)
        assert (plain.exit_code, value.exit_code) == (0, 0), plain.output
        assert isinstance(json.loads(value.stdout), dict)
        return plain.stdout

    return run


def send(client: Any, *events: dict[str, Any]) -> list[str]:
    return [client.post("/api/v1/lineage", encoded(event)).json()["id"] for event in events]


def code(revision: str, query: str) -> dict[str, Any]:
    return {
        "sourceCodeLocation": facet(type="git", url="https://git.test/x", version=revision),
        "sql": facet(query=query),
    }


def test_history(client: Any, told: Any) -> None:
    one = dataset("/clean/flights", **schema("a"), version=facet(datasetVersion="41"))
    two = dataset("/clean/flights", **schema("a", "b"), version=facet(datasetVersion="42"))
    first, _ = send(
        client,
        run_event("COMPLETE", 1, "clean", ["/raw"], [one], at=ago(hours=5), job_facets=code("aaa", "select 1")),
        run_event(
            "COMPLETE", 2, "clean", ["/raw", "/more"], [two], at=ago(hours=4), job_facets=code("bbb", "select 2")
        ),
    )
    assert "+ /fields/b" in told("history", "facets", "clean/flights", "--facet", "schema")
    assert "1 change" in told("history", "facets", "job:test:clean", "--facet", "sql")
    versions = told("history", "versions", "clean/flights")
    assert versions.index("42") < versions.index("41")
    assert "changed" in versions
    of_job = told("history", "versions", "job:test:clean")
    assert "bbb  SELECT  (current)" in of_job
    assert "+ input file:/more" in of_job
    assert "+select 2" in of_job
    for words in (("history", "diff"), ("diff",)):
        difference = told(*words, "clean/flights", "41", "42")
        assert "+ column b  string" in difference
        assert "~ code  aaa → bbb" in difference
    assert "+ /fields/b" in told("log", "clean/flights", "--facet", "schema")
    assert "+ column b" in told("log", "clean/flights", "--schema")
    assert "+select 2" in told("log", "job:test:clean")
    assert "test:clean" in told("log", "clean/flights")
    assert client.get("/api/v2/coverage").json() == {
        "namespace": None,
        "datasets": 3,
        "written": 1,
        "with_columns": 0,
        "only_declared": 0,
        "jobs": 1,
        "reporting": 1,
    }
    assert "a job writes it" in told("coverage")
    assert told("history", "diff", "clean/flights").splitlines()[2:] == difference.splitlines()[2:]
    assert "nothing changed" in told("history", "diff", "clean/flights", "42", "42")
    assert "+ column b" in told("history", "schema", "clean/flights")
    found = told("receipt", first[:12])
    assert "dataset:file:/clean/flights" in found
    assert "version 41 of" in found
    assert first in told("receipts")
    assert first not in told("receipts", "--code", "no_producer")


def test_health(client: Any, told: Any) -> None:
    for i in range(12):
        check = {**dataset("/t"), "inputFacets": {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "column": "a", "success": False}])}}  # fmt: skip
        send(
            client,
            run_event("START", i, "w", at=ago(hours=60 - i)),
            run_event("COMPLETE", i, "w", [check], ["/t"], at=ago(hours=60 - i, minutes=-5 if i < 7 else -45)),
        )
    send(client, run_event("START", 99, "w", at=ago(hours=30)))
    late = told("freshness")
    assert "very_late" in late
    assert "hourly" in late
    one = told("freshness", "/t")
    assert "failing, 0 passed, 1 failed" in one
    assert "very late, by" in one
    assert "of 1 datasets: 1 very late" in told("freshness", "--all")
    assert "×9" in told("slower")
    assert f"first in run {RUN.format(7)}" in told("slower", "job:test:w")
    assert "w never ended" in told("producers")
    assert "silent for 30 h 00 min" in told("runs", "--stalled")
    assert RUN.format(99) in told("runs")


@pytest.mark.parametrize("when", ["2026-11-01", "2026-11-01T08:00:00", "2026-11-01T08:00:00+01:00"])
def test_a_time_is_a_day_too(told: Any, when: str) -> None:
    for command in ("slower", "producers", "changes"):
        told(command, "--since", when)


def test_what_is_no_time_is_said() -> None:
    assert server.time(None) is None
    with pytest.raises(InvalidQuestion, match="soon"):
        server.time("soon")
