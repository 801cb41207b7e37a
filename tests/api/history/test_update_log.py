"""Seed 002: how the time series TS01 was updated, by import, correction and force; and who did it."""

from pathlib import Path
from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.cli.program import program

FIRST, SECOND = ("xxh3-128:" + digit * 32 for digit in "ab")


def at(day: int) -> str:
    return f"2021-02-{day:02}T06:00:00Z"


def split(client: Client, number: int, day: int, content: str | None, *, state: str = "COMPLETE", **more: Any) -> str:
    """A run of Split that writes TS01."""
    version = {"version": facet(datasetVersion=content)} if content else {}
    facets = {"headwater_step": facet(**{"version": "1.4.0", **more}), "headwater_user": facet()}
    event = run_event(
        state, number, "Split", ["/landing/meters.csv.gz"], [dataset("TS01", "timeseries", **version)], at=at(day),
        run_facets=facets, job_facets={"ownership": facet(owners=[{"name": "metering"}])},
    )  # fmt: skip
    assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    return RUN.format(number)


@pytest.fixture
def ts01(client: Client) -> Client:
    """TS01 as import, correction, the same again, a failure, and forced."""
    first = split(client, 1, 1, FIRST)
    split(client, 2, 2, SECOND, version="1.5.0")
    split(client, 3, 3, SECOND)
    split(client, 4, 4, FIRST, state="FAIL")
    split(client, 5, 5, FIRST, forced=True, overrides=[first])
    return client


def kinds(client: Client, **question: Any) -> list[str]:
    reply = client.get("/api/v2/update-log", node="dataset:timeseries:TS01", **question)
    assert reply.status_code == 200, reply.text
    return [one["kind"] for one in reply.json()["updates"]]


def test_ts01_as_import_correction_forced(ts01: Client) -> None:
    assert kinds(ts01) == ["forced", "failed", "same", "correction", "import"]
    found = ts01.get("/api/v2/update-log", node="dataset:timeseries:TS01").json()
    forced, *_, correction, imported = found["updates"]
    assert (forced["content"], forced["overrides"], forced["run"]) == (FIRST, [RUN.format(1)], RUN.format(5))
    assert (correction["content"], correction["code"], imported["code"]) == (SECOND, "1.5.0", "1.4.0")
    assert (imported["job"], imported["by"]) == ("job:test:Split", "metering")
    assert (found["total"], found["cut"]) == (5, False)


def test_the_log_as_it_was_at_a_time_and_a_page_of_it(ts01: Client) -> None:
    assert kinds(ts01, as_of=at(2)) == ["correction", "import"]
    assert kinds(ts01, limit=1, offset=3) == ["correction"]


def test_versions_without_a_name_are_imports(client: Client) -> None:
    split(client, 1, 1, None)
    split(client, 2, 2, None)
    assert kinds(client) == ["import", "import"]


def test_headwater_log_timeseries_ts01(ts01: Client, server_url: str) -> None:
    def run(*words: str) -> str:
        env = {"HEADWATER_URL": server_url, "COLUMNS": "220"}
        return CliRunner().invoke(program, words, env=env, catch_exceptions=False).output

    text = run("log", "timeseries/TS01")
    assert [line.split()[2] for line in text.splitlines()[1:] if "Split" in line] == kinds(ts01)
    assert f"{RUN.format(5)} over {RUN.format(1)[:13]}" in text
    assert run("log", "TS01") == text == run("log", "timeseries:TS01")
    page = (Path(__file__).parents[3] / "docs/howto/trace.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        assert " ".join(line.split()) in {" ".join(each.split()) for each in page.splitlines()}, (
            "the page shows another log"
        )
