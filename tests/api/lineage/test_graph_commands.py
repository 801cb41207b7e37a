"""The commands that ask about the graph, against the application itself."""

import json
from typing import Any

import pytest
from tests.api.lineage.test_conflicts import job_event
from tests.api.lineage.test_lineage import chain, send
from tests.events import RUN, columns, dataset, run_event, schema
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.errors import InvalidQuestion, NotFound


@pytest.fixture
def headwater(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command whose questions go to the application in this process."""

    def ask(_base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        given = {key: value for key, value in (params or {}).items() if value is not None}
        reply = client.get(path, **given)
        if reply.status_code >= 400:
            raise InvalidQuestion(reply.json()["message"])
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def run(*words: str) -> Result:
        return CliRunner().invoke(program, words, catch_exceptions=False)

    return run


def test_run_lineage(client: Any, headwater: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "load", ["/src"], ["/a/day=1"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "build", ["/a/day=1"], ["/b"], at="2026-01-02T00:00:00Z"),
        run_event("FAIL", 3, "use", ["/b"], [], at="2026-01-03T00:00:00Z"),
    )
    told = headwater("run", "lineage", RUN.format(2)).stdout
    assert told.splitlines() == [
        "build (ok)  2026-01-02 00:00:00  0.0s",
        f"  run {RUN.format(2)}  test:build",
        "",
        "Upstream",
        "└─ a  (day=1; by time)",
        "   └─ load (ok)  2026-01-01 00:00:00  0.0s  (day=1)",
        "      └─ src",
        "",
        "Downstream",
        "└─ b",
        "   └─ use (FAILED)  2026-01-03 00:00:00  0.0s  (by time)",
    ]
    assert "Downstream" not in headwater("run", "lineage", RUN.format(2), "--upstream").stdout
    assert "more not shown: depth=1 reached" in headwater("run", "lineage", RUN.format(2), "--depth", "1").stdout
    assert '"roots"' in headwater("run", "lineage", RUN.format(2), "--json").stdout


def test_diff(client: Any, headwater: Any) -> None:
    def out(column: str, source: str) -> dict[str, Any]:
        return dataset("/out", **schema(column), **columns({column: [(source, "k", "DIRECT:IDENTITY")]}))

    send(
        client,
        run_event("COMPLETE", 20, "a", ["/old"], [out("x", "/old")], at="2026-01-01T00:00:00Z"),
        *(
            run_event("COMPLETE", n, "a", ["/new"], [out("y", "/new")], at=f"2026-02-{n:02}T00:00:00Z")
            for n in range(1, 11)
        ),
    )
    found = headwater("diff", "/out", "--from", "2026-01-15", "--to", "2026-03-01", "--columns").stdout
    lines = {" ".join(line.split()) for line in found.splitlines()}
    assert {
        "+ dataset file:/new", "- dataset file:/old", "+ edge file:/new → test:a", "- edge file:/old → test:a",
        "+ column file:/new.k → file:/out.y IDENTITY", "- column file:/old.k → file:/out.x IDENTITY",
        "+ field file:/out.y string", "- field file:/out.x string",
    } <= lines  # fmt: skip
    assert headwater("diff", "/out", "--from", "2026-02-15", "--to", "2026-03-01").stdout.strip() == "nothing changed"
    assert "did not exist yet" in headwater("diff", "/out", "--from", "2025-01-01").stdout
    assert "+  dataset" in headwater("diff", "--namespace", "file", "--from", "2026-01-15").stdout
    assert '"known_before"' in headwater("diff", "--from", "2026-01-15", "--json").stdout


def test_paths(client: Any, headwater: Any) -> None:
    chain(client, 2)
    found = headwater("paths", "/0", "/2").stdout.split("\n")
    assert [line.strip() for line in found if line.strip()] == [
        "1.", "file:/0", "↓ test:j1", "file:/1", "↓ test:j2", "file:/2",
    ]  # fmt: skip
    assert "the other way" in headwater("paths", "/2", "/0").stdout
    assert headwater("paths", "/0", "/2", "--max-length", "2").stdout.strip() == "no path: max_length=2 reached"
    assert headwater("paths", "/0", "/2", "--from-column", "x").stdout.strip() == "no path"
    assert '"total": 1' in headwater("paths", "/0", "j2", "--json").stdout
    send(client, run_event("COMPLETE", 9, "other", ["/0"], ["/1"]))
    assert "1 of 2 of this length" in headwater("paths", "/0", "/2", "--limit", "1").stdout


def test_conflicts(client: Any, headwater: Any) -> None:
    chain(client, 1)
    assert headwater("claims").stdout.strip() == "no conflicts"
    for n in (1, 2):
        send(client, job_event(f"j{n}", ["/plan"], ["/1"]), run_event("COMPLETE", n, f"j{n}", [], ["/1"]))
    found = headwater("claims", "j2").stdout
    assert "declared_not_observed" in found
    assert "file:/plan → test:j2" in found
    assert "OBSERVED missing 2026-01-01 00:00:00; JOB_EVENT claims 2026-01-01 00:00:00" in found
    assert "--after" in headwater("claims", "--limit", "1").stdout
    assert '"next"' in headwater("claims", "--json").stdout


def test_lineage_as_asked_for(client: Any, headwater: Any) -> None:
    chain(client, 2)
    found = headwater("lineage", "/2", "--type", "dataset").stdout
    lines = {" ".join(line.split()) for line in found.splitlines()}
    assert "file:/0 file:/1 1 1 not shown observed 2026-01-01 00:00:00" in lines
    assert "2 nodes and 0 edges filtered out" in lines
    groups = {" ".join(line.split()) for line in headwater("lineage", "/2", "--group", "namespace").stdout.splitlines()}
    assert {"file 3 0 0", "test 0 2 0", "file test 2 observed 2026-01-01 00:00:00"} <= groups
    assert headwater("lineage", "/2", "--group", "namespace", "--format", "mermaid").stdout.count("-->") == 2
    both = headwater("lineage", "/2", "--namespace", "file", "--namespace", "te*", "--format", "dot").stdout
    assert both.count("->") == 4


@pytest.mark.parametrize(
    "words",
    [
        ("diff", "--from", "not a date"),
        ("diff", "--from", "2026-01-01", "--to", "not a date"),
        ("paths", "/src", "/b", "--as-of", "not a date"),
        ("conflicts", "--as-of", "not a date"),
        ("lineage", "/b", "--as-of", "not a date"),
        ("lineage", "/b", "--since", "not a date"),
        ("run", "lineage", RUN.format(2), "--as-of", "not a date"),
        ("usage", "--unread-since", "not a date"),
        ("receipts", "--since", "not a date"),
        ("sync", "query-log", "--source", "bigquery", "--input", "x", "--store", "y", "--since", "not a date"),
    ],
    ids=" ".join,
)
def test_a_text_that_is_no_time(client: Any, headwater: Any, words: tuple[str, ...]) -> None:
    """One reading of times for all commands: the message says which text, and how to write one."""
    send(client, run_event("COMPLETE", 2, "build", ["/src"], ["/b"], at="2026-01-02T00:00:00Z"))
    with pytest.raises(InvalidQuestion, match=r"'not a date' is not a time; write 2026-11-21, "):
        headwater(*words)


def test_a_day_is_its_beginning_in_utc(client: Any, headwater: Any) -> None:
    send(client, run_event("COMPLETE", 2, "build", ["/src"], ["/b"], at="2026-01-02T00:00:00Z"))
    by_day, by_time = (
        json.loads(headwater("lineage", "/b", "--json", "--as-of", at).stdout)
        for at in ("2026-01-02", "2026-01-02T01:00:00+01:00")
    )
    assert len(by_day["nodes"]) == 3
    assert by_day["nodes"] == by_time["nodes"]


def test_a_name_that_is_like_no_other_says_what_there_is(client: Any, headwater: Any) -> None:
    with pytest.raises(NotFound, match="nothing has been recorded yet: run a package"):
        headwater("lineage", "qqqqzzzz")
    send(client, run_event("COMPLETE", 1, "load", ["/src"], ["/a"]))
    with pytest.raises(NotFound, match="no name of 2 datasets and 1 job is near it: search for a word of it"):
        headwater("lineage", "qqqqzzzz")
