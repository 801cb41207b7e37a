"""Events that were not delivered when a driver ended, whose disk is gone: the next program with the same folder sends them."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.receiver import Receiver, receiving

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from headwater.capture.spark import attach
spark = SparkSession.builder.master("local[1]").appName(sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
attach(spark)
spark.range(1).write.parquet(sys.argv[2])
spark.stop()
"""


def run(name: str, folder: Path, receiver: Receiver) -> None:
    """Run a program whose own disk is gone afterwards."""
    disk = folder / f"disk-{name}"
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE"))}
    variables |= {
        "HOME": str(disk),
        "HEADWATER_URL": receiver.url,
        "HEADWATER_SPOOL": str(disk / "spool"),
        "HEADWATER_FLUSH_SECONDS": "1",
        "HEADWATER_SPARK_SPOOL": f"file:{folder}/bucket/spool",
    }
    command = [sys.executable, "-c", PROGRAM, name, str(folder / f"out-{name}")]
    subprocess.run(command, env=variables, check=True, capture_output=True, timeout=120)
    shutil.rmtree(disk)


def ended(receiver: Receiver) -> set[str]:
    """The jobs whose last event the receiver took."""
    found: list[dict[str, Any]] = []
    for one in receiver.requests:
        if one.status < 300:
            body = gzip.decompress(one.body) if one.headers.get("content-encoding") == "gzip" else one.body
            read = json.loads(body)
            found += read if isinstance(read, list) else [read]
    return {event["job"]["name"] for event in found if event["eventType"] == "COMPLETE"}


def test_the_next_program_delivers_what_a_driver_without_a_disk_left(tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (503, b"")
        run("first", tmp_path, receiver)
        run("second", tmp_path, receiver)  # takes over what the first left, and leaves it with its own
        left = [path for path in (tmp_path / "bucket/spool").iterdir() if path.suffix == ".ndjson"]
        assert ended(receiver) == set()
        assert len(left) == 1
        receiver.answer = lambda _path, _body: (204, b"")
        run("third", tmp_path, receiver)
        assert ended(receiver) == {
            f"{name}{part}" for name in ("first", "second", "third") for part in ("", f".out-{name}")
        }
    assert not [path for path in (tmp_path / "bucket/spool").iterdir() if path.suffix == ".ndjson"]
