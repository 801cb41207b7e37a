"""The distribution `headwater-capture` in an environment that has nothing else of ours, and the check that runs there."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import msgspec
import py4j
import pyspark
import pytest

from collector import Collector, running

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("nightly").getOrCreate()
spark.range(3).selectExpr("id + 1 as k").write.parquet(sys.argv[1])
spark.stop()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([ROOT / "scripts/capture-wheel", folder], check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, msgspec and PySpark."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    for module in (msgspec, pyspark, py4j):
        home = Path(str(module.__file__)).parent
        (packages / home.name).symlink_to(home)
    return folder / "bin/python"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running() as server:
        yield server


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    left = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HEADWATER_", "OPENLINEAGE_", "PY", "SPARK_"))
    }
    return left | {"HEADWATER_HOME": str(tmp_path), "HEADWATER_FLUSH_SECONDS": "30"} | more


def test_it_is_small_and_needs_msgspec_alone(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    assert wheel.stat().st_size < 2_000_000
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    required = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist")
    assert [one for one in required if "extra ==" not in one] == ["msgspec>=0.20"]
    assert "headwater_capture.pth" in archive.namelist()
    assert not [
        name for name in archive.namelist() if name.startswith(("headwater/store", "headwater/api", "headwater/answer"))
    ]


def test_each_module_imports(wheel: Path, bare: Path, tmp_path: Path) -> None:
    names = [name[:-3].replace("/", ".") for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]
    # What these need is asked for when it is used: a broker's client, OpenLineage's own client, libraries of fingerprints, the parser of SQL.
    apart = (
        "client.amqp",
        "client.openlineage",
        "client.fingerprint",
        "spark.fingerprint",
        "headwater.columns",
        "sitecustomize",
        "__main__",
    )
    wanted = [name.removesuffix(".__init__") for name in names if not any(part in name for part in apart)]
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    done = subprocess.run(
        [bare, "-W", "error", "-c", code, *wanted],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_an_interpreter_without_the_variable_has_nothing_of_it(bare: Path, tmp_path: Path) -> None:
    code = "import sys; print([name for name in sys.modules if name.startswith('headwater')])"
    done = subprocess.run([bare, "-c", code], capture_output=True, text=True, env=environment(tmp_path), check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("launcher", ["spark-submit", pytest.param("python", marks=pytest.mark.soak)])
def test_one_variable_captures_a_program(bare: Path, tmp_path: Path, collector: Collector, launcher: str) -> None:
    program = tmp_path / "nightly.py"
    program.write_text(PROGRAM)
    submit = Path(str(pyspark.__file__)).parent / "bin/spark-submit"
    command = [submit, "--master", "local[1]", program] if launcher == "spark-submit" else [bare, program]
    env = environment(tmp_path, HEADWATER_CAPTURE="spark", HEADWATER_URL=collector.url, HEADWATER_NAMESPACE="etl")
    env |= {"PYSPARK_PYTHON": str(bare), "MASTER": "local[1]"}
    done = subprocess.run(
        [*command, str(tmp_path / "out")], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (written,) = [event for event in collector.events if event["eventType"] == "COMPLETE" and event.get("outputs")]
    assert (written["job"]["namespace"], written["job"]["name"]) == ("etl", "nightly.out")
    assert written["outputs"][0]["name"] == str(tmp_path / "out")


def test_the_check_says_what_was_seen_and_where_it_went(bare: Path, tmp_path: Path, collector: Collector) -> None:
    env = environment(tmp_path, HEADWATER_URL=collector.url)
    done = subprocess.run(
        [bare, "-m", "headwater.capture.spark", "check", "--json"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0, (report, done.stderr)
    assert report["problems"] == []
    assert report["setting"]["installed"]
    assert {step["does"]: step["state"] for step in report["steps"]} == {
        "read CSV, and infer its schema": "seen",
        "write Parquet: the sum of a column by another": "seen",
        "a pandas function": "skipped",
        "an RDD: text lines, read and written": "seen",
    }
    (sent,) = report["sent"]
    assert (sent["delivered"], sent["waiting"], sent["refused"]) == (report["events"], 0, 0)
    assert report["run"] in {event["run"]["runId"] for event in collector.events}
