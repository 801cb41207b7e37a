"""`headwater sync query-log` from files that products wrote to what a real server answers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.fixtures.query_logs import price_list
from tests.pipeline.test_query_log_cluster import connect_server, environment
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import HeadwaterError, InvalidQuestion, NotInstalled, ServerUnavailable

pytestmark = pytest.mark.spark


def headwater(*words: object) -> dict[str, Any]:
    told = CliRunner().invoke(program, ["sync", "query-log", *map(str, words), "--json"], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def through_connect(folder: Path, *words: object) -> dict[str, Any]:
    """The command with its driver in a Spark Connect server; spark-submit and clusters: test_query_log_cluster.py."""
    with connect_server(folder) as address:
        told = subprocess.run(
            [sys.executable, "-m", "headwater", "sync", "query-log", *map(str, words), "--remote", address, "--json"],
            env=environment(folder / "home"),
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


@pytest.fixture(autouse=True)
def nothing_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep a command in this process from reporting its own runs: its client would outlive the server."""
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    monkeypatch.setenv("HEADWATER_URL", "")
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))


@pytest.fixture
def ask(server_url: str) -> Any:
    def get(path: str, **question: object) -> Any:
        reply = httpx.get(f"{server_url}/api/v2{path}", params={name: str(value) for name, value in question.items()})
        assert reply.status_code == 200, reply.text
        return reply.json()

    return get


def edges(ask: Any, node: str) -> set[tuple[str, str]]:
    """Dataset to dataset, by their last names, over the jobs between."""
    found = ask("/lineage", node=node, columns="true")
    into = [(edge["source"], edge["target"]) for edge in found["edges"]]
    return {
        (source.rsplit(".", 1)[-1], target.rsplit(".", 1)[-1])
        for source, job in into
        for other, target in into
        if job == other and source.startswith("dataset:") and target.startswith("dataset:")
    }


def columns(ask: Any, node: str) -> set[tuple[str, str]]:
    found = ask("/lineage", node=node, columns="true")["column_edges"]
    return {(edge["source_field"], edge["target_field"]) for edge in found if edge["target"] == node}


def test_bigquery_to_published_lineage_usage_and_cost(
    spark: Any, bigquery_log: Path, tmp_path: Path, server_url: str, ask: Any
) -> None:
    given = (
        "--source",
        "bigquery",
        "--input",
        bigquery_log,
        "--store",
        tmp_path / "store",
        "--url",
        server_url,
        "--prices",
        price_list(tmp_path),
    )
    told = through_connect(tmp_path, *given)
    assert (told["files"], told["rows"], told["days"], told["unpublished_days"]) == (4, 60, 4, 0)
    assert told["quarantined"] >= 1
    assert told["published"]["refused"] == 0
    assert told["published"]["accepted"] == told["published"]["events"] > 0

    daily = "dataset:bigquery:acme.shop.daily"
    assert edges(ask, daily) >= {("orders", "orders_clean"), ("orders_clean", "daily")}
    assert columns(ask, daily) >= {("amount", "total"), ("day", "day")}
    usage = {row["name"]: row for row in ask("/usage")["datasets"]}
    assert usage["acme.shop.daily"]["reads_by_people"] > 0
    assert usage["acme.shop.orders_clean"]["reads_by_people"] == 0
    assert usage["acme.shop.orders_clean"]["writes"] > 0
    assert ask("/cost")["total"] > 0
    assert ask("/quality")["days"]

    # The sync is lineage too.
    runs = {run["job"]: run["state"] for run in ask("/runs", limit=100)["runs"] if ":query-log" in run["job"]}
    assert set(runs.values()) == {"COMPLETED"}
    assert {"query-log", "query-log.land", "query-log.daily", "query-log.edges"} <= {
        job.rpartition(":")[2] for job in runs
    }
    (of_sync,) = [run["id"] for run in ask("/runs", limit=100)["runs"] if run["job"].endswith(":query-log")]
    details = ask(f"/runs/{of_sync}")["facets"]["headwater_step"]["details"]
    assert {name: details[name] for name in ("source", "rows", "files")} == {
        "source": "bigquery",
        "rows": 60,
        "files": 4,
    }
    assert details["lag_seconds"] == told["lag_seconds"] > 0
    assert f"dataset:file:{tmp_path}/store/landed" in {
        node["id"] for node in ask("/lineage", node=f"dataset:file:{bigquery_log}")["nodes"]
    }

    again = headwater(*given)
    assert (again["files"], again["files_known"]) == (0, 4)
    assert again["published"]["events"] == 0


def test_postgresql_to_published_lineage_by_a_server_that_was_away(
    spark: Any, postgres_log: Path, tmp_path: Path, server_url: str, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log that a real PostgreSQL wrote. A server that is away costs nothing but the publishing."""
    from headwater.pipeline.query_log import publish

    real = publish.publish_runs
    monkeypatch.setattr(publish, "publish_runs", lambda *given, **named: real(*given, **named, patience=0.1))
    namespace = "postgres://db.example:5432"
    given = (
        "--source",
        "postgres",
        "--namespace",
        namespace,
        "--input",
        f"{postgres_log}/*.json",
        "--store",
        tmp_path / "store",
    )
    with pytest.raises(ServerUnavailable):
        headwater(*given, "--url", "http://127.0.0.1:9")
    told = headwater(*given, "--no-publish")
    assert (told["files"], told["files_known"]) == (0, 1)
    assert (told["published"], told["unpublished_days"]) == (None, 1)
    shown = CliRunner().invoke(program, ["sync", "query-log", *map(str, given), "--no-publish"], catch_exceptions=False)
    assert shown.stdout.startswith("0 rows of 0 files")
    assert "1 days are not published yet" in shown.stdout
    told = headwater(*given, "--url", server_url)
    assert (told["files"], told["files_known"], told["unpublished_days"]) == (0, 1, 0)
    assert told["published"]["accepted"] > 0
    assert told["published"]["refused"] == 0
    found = {row["name"]: row for row in ask("/usage", namespace=namespace)["datasets"]}
    assert set(found) == {"postgres.public.orders", "postgres.public.per_day"}
    per_day = found["postgres.public.per_day"]
    assert (per_day["writes"], per_day["reads"]) == (3, 1)
    assert ("orders", "per_day") in edges(ask, per_day["id"])
    assert {("amount", "total"), ("day", "day")} <= columns(ask, per_day["id"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--source", "oracle", "--input", "x"), "oracle"),
        (("--source", "bigquery", "--input", "/nowhere/*.json"), "no file matches /nowhere"),
        (("--source", "bigquery", "--input", "x", "--since", "soon"), "soon"),
        (("--source", "bigquery", "--input", "x", "--since", "2026-02-01", "--until", "2026-01-01"), "is not before"),
        (("--source", "bigquery", "--input", "x", "--master", "local", "--remote", "sc://x"), "give only one"),
        (("--source", "bigquery", "--input", "x", "--conf", "a"), "is not K=V"),
        (("--source", "bigquery", "--input", "x", "--runs", "some"), "none of latest, daily, every"),
        (("--source", "bigquery", "--input", "x", "--prices", "/nowhere.yaml"), "/nowhere.yaml"),
    ],
)
def test_questions_that_make_no_sense_are_said_as_such(
    spark: Any, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(HeadwaterError, match=said) as told:
        headwater(*words, "--store", tmp_path / "store", "--no-publish")
    if "/nowhere" not in said:
        assert isinstance(told.value, InvalidQuestion)
    assert not (tmp_path / "store").exists()


def test_without_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.cli.extras.find_spec", lambda name: None if name == "pyspark" else name)
    with pytest.raises(NotInstalled, match=r"needs pyspark: pip install 'headwater\[spark\]'"):
        headwater("--source", "bigquery", "--input", "x")
