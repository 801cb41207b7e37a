"""Programs that HEADWATER_CAPTURE finds: with a context alone, and with a session that was there first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ALONE = """
import sys
from pyspark import SparkContext
sc = SparkContext("local[1]", "words")
sc.textFile("in.txt").map(str.upper).saveAsTextFile("out")
sc.stop()
"""
LATE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").appName("words").getOrCreate()
import headwater.capture.spark.waiting
spark.read.text("in.txt").write.text("out")
"""


@pytest.mark.parametrize("program", [ALONE, LATE], ids=["a context alone", "capture imported last"])
def test_it_is_captured(program: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    (tmp_path / "job.py").write_text(program)
    left = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    paths = (
        [str(ROOT / "src")] if program is LATE else [str(ROOT / "src/headwater/capture/spark/site"), str(ROOT / "src")]
    )
    env = left | {
        "PYTHONPATH": os.pathsep.join(paths),
        "HEADWATER_TRANSPORT": "file",
        "HEADWATER_EVENTS_FILE": str(tmp_path / "events"),
        "HEADWATER_HOME": str(tmp_path / "home"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if program is ALONE:
        env["HEADWATER_CAPTURE"] = "spark"
    ended = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    (end,) = [event for event in events if event["eventType"] == "COMPLETE" and event["outputs"]]
    assert [one["name"] for one in end["inputs"]] == [str(tmp_path / "in.txt")]
    assert [one["name"] for one in end["outputs"]] == [str(tmp_path / "out")]
