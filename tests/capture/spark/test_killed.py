"""A Spark program that is killed ends as ABORT, and so does what it was writing, whichever of its two processes dies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.scale import suite_takes

pytestmark = pytest.mark.spark

PROGRAM = """
import os, signal, sys, time
from pyspark.sql import SparkSession
from headwater.capture.spark import attach
spark = (SparkSession.builder.master("local[1]").appName("killed").config("spark.ui.enabled", "false")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
attach(spark)
slow = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', cast(600000 as bigint)) is null as x")
print("ready", spark.sparkContext._gateway.proc.pid, flush=True)
slow.write.parquet(sys.argv[1])
"""


@pytest.mark.parametrize("who", suite_takes(["program", "jvm"], ["program"]))
def test_a_killed_program_aborts_itself_and_its_queries(tmp_path: Path, who: str) -> None:
    events = tmp_path / "events.ndjson"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE"))}
    env = {
        **kept,
        "HEADWATER_TRANSPORT": "file",
        "HEADWATER_EVENTS_FILE": str(events),
        "HEADWATER_SPARK_HEARTBEAT": "0.5",
    }
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "out")], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as program:  # fmt: skip
        assert program.stdout is not None
        word, pid = program.stdout.readline().split()
        assert word == "ready"
        wait_for(events, lambda read: beats(read, "killed.out") and beats(read, "killed"))
        if who == "program":
            program.send_signal(signal.SIGTERM)
        else:
            os.kill(int(pid), signal.SIGKILL)
        code = program.wait(60)
    assert code == -signal.SIGTERM if who == "program" else code > 0
    read = [json.loads(line) for line in events.read_text().splitlines()]
    ends = {
        each["job"]["name"]: (each["eventType"], each["run"]["facets"]["errorMessage"]["message"])
        for each in read
        if each["eventType"] not in {"START", "RUNNING"}
    }
    reason = "the program was stopped by SIGTERM" if who == "program" else "the JVM of the driver ended"
    assert ends == dict.fromkeys(("killed", "killed.out"), ("ABORT", reason))
    for each in read:
        announced = each["run"]["facets"].get("headwater_heartbeat", {}).get("seconds")
        assert announced == (0.5 if each["eventType"] in {"START", "RUNNING"} else None)


def beats(read: list[dict[str, Any]], job: str) -> bool:
    return any(each["job"]["name"] == job and each["eventType"] == "RUNNING" for each in read)


def wait_for(events: Path, condition: Any) -> None:
    for _ in range(1200):
        if events.exists() and condition([json.loads(line) for line in events.read_text().splitlines()]):
            return
        time.sleep(0.05)
    raise AssertionError("the program sent no sign of life")
