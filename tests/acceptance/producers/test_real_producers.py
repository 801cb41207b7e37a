"""Dagster, Prefect, Great Expectations and PyFlink run for real, and report to a real server: their edges from both ends, runs, parents and checks."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml
from tests.api.lineage.test_sent_by_producers import expected, node, shown
from tests.api.lineage.test_sent_by_producers import told_by_v2 as read_edges
from tests.fixtures.processes import free_port

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
CASES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "tests/cases/real_producers.yaml").read_text("utf-8"))
_WAIT = 60.0
_KEPT = ("HEADWATER_", "OPENLINEAGE_", "AIRFLOW", "PYTHON", "VIRTUAL_ENV", "PREFECT", "DAGSTER")


class Server:
    """A client of a server in another process, with the calls of `tests.fixtures.app.Client`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=60)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self._http.get(path, params=params)


def find_programs(*script: str) -> list[str]:
    """Return what a script of scripts/ prints: a Python, and what it brought beside it."""
    done = subprocess.run([ROOT / "scripts" / script[0], *script[1:]], capture_output=True, text=True, check=True)
    return done.stdout.split()


def run_program(server: str, python: str, name: str, *words: str | Path, **more: str) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_KEPT)}
    done = subprocess.run(
        [python, HERE / name, *words], env=kept | {"OPENLINEAGE_URL": server, **more},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run_dagster(server: str, folder: Path) -> None:
    (folder / "dagster.yaml").write_text(
        (ROOT / "tests/cases/dagster.yaml").read_text("utf-8").replace("FOLDER", str(folder)), "utf-8"
    )
    python = find_programs("environment", "dagster")[0]
    run_program(server, python, "inside_dagster.py", DAGSTER_HOME=str(folder), HOME=str(folder))


def run_prefect(server: str, folder: Path) -> None:
    python = find_programs("environment", "prefect")[0]
    run_program(
        server, python, "inside_prefect.py", folder / "server.log", str(free_port()), PREFECT_HOME=str(folder),
        OPENLINEAGE_NAMESPACE="prefect", PREFECT_SERVER_ANALYTICS_ENABLED="false", DO_NOT_TRACK="1",
    )  # fmt: skip


def run_great_expectations(server: str, folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("create table customer_totals (customer text, total numeric)")
        shop.execute("insert into customer_totals values ('anna', 6), ('ben', -7)")
    python = find_programs("environment", "great-expectations")[0]
    run_program(server, python, "inside_great_expectations.py", folder / "shop.db", GX_ANALYTICS_ENABLED="false")


def run_flink(server: str, folder: Path) -> None:
    python, jar = find_programs("flink")
    run_program(server, python, "inside_flink.py", folder, jar)


def ends_of(case: dict[str, Any]) -> set[str]:
    """Return the node ids of every dataset that the case names."""
    named = {end for edge in case.get("tables", ()) for end in edge.split(" -> ")}
    return {node(one) for one in named | {*case.get("alone", ())}}


RUNS: dict[str, Callable[[str, Path], None]] = {
    "dagster": run_dagster,
    "prefect": run_prefect,
    "great expectations": run_great_expectations,
    "flink": run_flink,
}


def read_jobs(client: Server, jobs: Iterable[str]) -> dict[str, list[str | None]]:
    """Return state of the latest run, and parent, of those of the jobs that are there."""
    there = client.get("/api/v2/jobs", limit=1000, children="true").json()["jobs"]
    return {one["id"]: [one["last_run"]["state"], one["parent"]] for one in there if one["id"] in jobs}


def wait_for_jobs(client: Server, jobs: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    """Producers report from threads and processes of their own."""
    until = time.monotonic() + _WAIT
    while (found := read_jobs(client, jobs)) != jobs and time.monotonic() < until:
        time.sleep(0.5)
    return found


def read_checks(client: Server, dataset: str) -> dict[str, bool]:
    namespace, _, name = dataset.partition("!")
    found = client.get(f"/api/v2/datasets/{quote(namespace, '')}/{quote(name, '')}/freshness").json()["quality"]
    return {
        one["assertion"] + (f" ({one['column']})" if one["column"] else ""): one["success"]
        for one in found["assertions"]
    }


def read_warnings(client: Server, producer: str) -> set[str]:
    """Return codes of the warnings about a producer's events; `producer`: a part of its address."""
    producers = client.get("/api/v2/producers").json()["producers"]
    return {each["code"] for one in producers if producer in one["producer"] for each in one["warnings"]}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CASES)
def test_a_real_run_has_its_lineage_from_both_ends(server_process: str, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    RUNS[name](server_process, tmp_path)
    with Server(server_process) as client:
        check_answers(client, case)


def check_answers(client: Server, case: dict[str, Any]) -> None:
    assert wait_for_jobs(client, case["jobs"]) == case["jobs"]
    tables, columns = expected(case)
    for direction in ("upstream", "downstream"):
        found = [read_edges(client, end, direction) for end in ends_of(case)]
        assert shown({edge for some, _ in found for edge in some}) == shown(tables), direction
        assert shown({edge for _, some in found for edge in some}) == shown(columns), direction
    for dataset, checks in case.get("checks", {}).items():
        assert read_checks(client, dataset) == checks
    assert read_warnings(client, case["producer"]) == set(case.get("warnings", ()))
