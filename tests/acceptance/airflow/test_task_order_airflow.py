"""`headwater order` of a DAG in a real Airflow from which one `>>` is removed. Airflow's own OpenLineage provider reports order, data and times."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.airflow.test_airflow import CASES, Headwater
from tests.fixtures.airflow import RealAirflow
from typer.testing import CliRunner

from headwater.capture.airflow.rest import DagRun
from headwater.cli.program import program
from headwater.errors import HeadwaterError

SECONDS = (0, 20, 0)
"""The time that `clean` takes in each run; `report` begins six seconds after `load` at the earliest."""


@pytest.fixture(scope="module")
def nightly(server_process: str) -> Iterator[RealAirflow]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-airflow-"))
    real = RealAirflow(folder, server_process, CASES / "order")
    transport = {"type": "http", "url": server_process, "endpoint": "api/v1/lineage"}
    real.env |= {
        "AIRFLOW__OPENLINEAGE__DISABLED": "False",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
    }
    try:
        yield real.start(("nightly",))
    finally:
        real.close()
        shutil.rmtree(folder, ignore_errors=True)


def is_over(nightly: RealAirflow, run: DagRun) -> bool:
    return nightly.rest.run("nightly", run.dag_run_id).at_rest


def order(server: str) -> dict[str, Any]:
    return dict(Headwater(server).post("/api/v2/task-order", {"node": "job:airflow:nightly"}))


def is_reported(server: str) -> bool:
    """Events come after the run: Airflow sends them from processes of its own."""
    try:
        return sum(one["runs"] for one in order(server)["missing"]) == len(SECONDS)
    except HeadwaterError:
        return False


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_removed_dependency_is_found_with_the_run_in_which_luck_was_out(
    nightly: RealAirflow, server_process: str, tmp_path: Path
) -> None:
    for seconds in SECONDS:
        run = nightly.rest.trigger("nightly", logical_date=None, conf={"seconds": seconds})
        nightly.until(partial(is_over, nightly, run), "the run ends")
        assert nightly.rest.run("nightly", run.dag_run_id).state == "success", nightly.states(run)
    nightly.until(partial(is_reported, server_process), "every run is reported")
    found = order(server_process)
    (missing,) = found["missing"]
    assert (missing["writer"], missing["reader"], missing["datasets"]) == ("clean", "report", ["dataset:lake:clean"])
    assert (missing["runs"], missing["lucky"]) == (3, 2)
    unlucky = missing["races"][0]
    assert not unlucky["lucky"]
    assert unlucky["written_at"] > unlucky["read_at"]
    assert [(one["writer"], one["reader"]) for one in found["backward"]] == [("sum_up", "mail")]
    assert {(one["before"], one["after"]) for one in found["needless"]} == {("load", "audit")}
    assert found["unreported"] == ["wait"]
    done = CliRunner().invoke(program, ["order", "nightly", "--check", "--url", server_process])
    assert done.exit_code == 3, done.output
    assert "clean >> report: no dependency is declared" in done.output
    assert "2 of 3 runs had the right order" in done.output
