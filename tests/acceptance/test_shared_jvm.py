"""`headwater jvm`: packages that share a JVM end as if each had its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.scale import FULL

from headwater.runner import load
from headwater.runner.command import SparkChoice
from headwater.runner.shared_jvm import needs_own_jvm

pytestmark = pytest.mark.spark

HEAD = "metadata: {name: %s, namespace: shared, owner: me, description: One of several}\n"
# The values that each package sees, written as JSON to a path relative to its folder.
LOOK = """
import json, os, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
conf = spark.sparkContext.getConf()
spark.range(3).write.mode("overwrite").parquet("out")
word = F.udf(lambda _: os.environ.get("HEADWATER_PARAM_WORD", "absent"))
seen = {
    "jvm": spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid(),
    "application": spark.sparkContext.applicationId,
    "name": conf.get("spark.app.name"),
    "partitions": conf.get("spark.sql.shuffle.partitions", "absent"),
    "word": spark.range(1).select(word("id")).first()[0],
}
json.dump(seen, open("seen.json", "w"))
"""
DRIVER = """
import json, subprocess, sys
ended = [subprocess.run(["headwater", "run", *words], capture_output=True, text=True) for words in json.loads(sys.argv[1])]
print(json.dumps([[each.returncode, each.stderr] for each in ended]))
"""


def package(folder: Path, name: str, script: str, more: str = "", conf: str = "") -> Path:
    place = folder / name
    place.mkdir()
    (place / "main.py").write_text(script)
    (place / "dk.yaml").write_text(
        HEAD % name + f"run: {{kind: pyspark, script: main.py, conf: {{spark.ui.enabled: false{conf}}}}}\n{more}"
    )
    return place


def environment(folder: Path) -> Mapping[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    return {**env, "HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": str(folder / "events.ndjson")}


class Ended:
    """The values that packages saw, the exit code of each, and the events of all. In the suite three run, in `make soak` six."""

    names = ("first", "second", "own", "last") if FULL else ("first", "second")

    def __init__(self, folder: Path, *runs: list[str]) -> None:
        words = ["headwater", "jvm", "--", sys.executable, "-c", DRIVER, json.dumps(runs)]
        done = subprocess.run(words, env=environment(folder), capture_output=True, text=True, timeout=300, check=True)
        self.codes, self.errors = zip(*json.loads(done.stdout), strict=True)
        self._folder = folder
        self.events = [json.loads(line) for line in (folder / "events.ndjson").read_text().splitlines()]

    def seen(self, name: str) -> Any:
        return json.loads((self._folder / name / "seen.json").read_text())


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("shared")
    first = package(
        folder,
        "first",
        LOOK,
        "parameters: {word: hello}\n",
        conf=', spark.sql.shuffle.partitions: "7", spark.app.name: mine',
    )
    wrong = package(folder, "wrong", LOOK + "spark.range(1).select('nothing').show()\n")
    second = package(folder, "second", LOOK)
    own = package(folder, "own", LOOK, conf=", spark.driver.memory: 600m")
    ends = package(folder, "ends", LOOK + "spark.sparkContext._jvm.java.lang.Runtime.getRuntime().halt(3)\n")
    last = package(folder, "last", LOOK)
    rest = (own, ends, last) if FULL else ()
    return Ended(folder, *([str(each)] for each in (first, wrong, second, *rest)))


def test_each_has_its_own_context_properties_and_folder(ended: Ended) -> None:
    first, second = ended.seen("first"), ended.seen("second")
    assert first["jvm"] == second["jvm"]
    assert first["application"] != second["application"]
    assert (first["name"], first["partitions"], first["word"]) == ("mine", "7", "hello")
    assert (second["name"], second["partitions"], second["word"]) == ("second", "absent", "absent")
    for name in ended.names:
        assert (ended._folder / name / "out/_SUCCESS").exists()


def test_what_each_wrote_is_recorded_for_it(ended: Ended) -> None:
    written = {
        (event["job"]["name"].split(".")[0], output["name"])
        for event in ended.events
        for output in event["outputs"]
        if event["eventType"] == "COMPLETE"
    }
    assert written >= {(name, str(ended._folder / name / "out")) for name in ended.names}


def test_a_failure_is_the_packages_own(ended: Ended) -> None:
    assert ended.codes[:4] == (0, 1, 0, 0)[: len(ended.codes)]
    failed = [event for event in ended.events if event["eventType"] == "FAIL" and event["job"]["name"] == "wrong"]
    assert "nothing" in failed[0]["run"]["facets"]["errorMessage"]["message"]


@pytest.mark.soak
def test_a_package_with_driver_properties_gets_its_own_jvm(ended: Ended) -> None:
    assert ended.seen("own")["jvm"] != ended.seen("first")["jvm"]


@pytest.mark.soak
def test_a_package_that_ends_the_jvm_leaves_the_next_with_its_own(ended: Ended) -> None:
    assert ended.codes[4] != 0
    assert ended.codes[5] == 0
    assert ended.seen("ends")["jvm"] == ended.seen("first")["jvm"] != ended.seen("last")["jvm"]


@pytest.mark.parametrize(
    ("conf", "choice", "env", "own"),
    [
        ("", SparkChoice(), {}, False),
        (', spark.driver.extraJavaOptions: "-XX:+UseSerialGC"', SparkChoice(), {}, False),
        (", spark.sql.shuffle.partitions: 4", SparkChoice(master="local[2]"), {}, False),
        (", spark.driver.memory: 2g", SparkChoice(), {}, True),
        (", spark.jars.packages: a:b:1", SparkChoice(), {}, True),
        (", spark.sql.catalogImplementation: hive", SparkChoice(), {}, True),
        (", spark.master: yarn", SparkChoice(), {}, True),
        ("", SparkChoice(master="spark://host:7077"), {}, True),
        ("", SparkChoice(remote="sc://host"), {}, True),
        ("", SparkChoice(conf={"spark.driver.cores": "2"}), {}, True),
        ("", SparkChoice(), {"PYSPARK_SUBMIT_ARGS": "--jars x.jar pyspark-shell"}, True),
        ("", SparkChoice(), {"PYSPARK_SUBMIT_ARGS": "pyspark-shell"}, False),
    ],
)
def test_who_needs_a_jvm_of_its_own(
    tmp_path: Path, conf: str, choice: SparkChoice, env: Mapping[str, str], own: bool
) -> None:
    manifest = load(package(tmp_path, "one", "", conf=conf), {}, {})
    assert needs_own_jvm(manifest, choice, env) is own


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    words = ("headwater", "jvm", *words)
    return subprocess.run(words, env=environment(folder), capture_output=True, text=True, timeout=60, check=False)


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "--", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "cannot be started: No such file or directory" in " ".join(done.stderr.split())


def test_its_log_is_where_it_is_wanted(tmp_path: Path) -> None:
    done = run(tmp_path, "--log", str(tmp_path / "jvm.log"), "--", "bash", "-c", "echo mine; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "mine\n", "")
    assert (tmp_path / "jvm.log").exists()
    done = run(tmp_path, "--log", str(tmp_path), "--", "true")
    assert done.returncode == 2
    assert "cannot be written: Is a directory" in " ".join(done.stderr.split())
