"""`spark-submit --deploy-mode cluster` on a standalone cluster: the driver runs in a worker, with a home and a folder that are gone when it ends.

Spark takes no Python program there by itself, so what is submitted is the class with which YARN and Kubernetes start one. Nor does it pass the
variables of the shell on: the worker has them, as its spark-env.sh would set them.
"""

import contextlib
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from tests.fixtures.processes import free_port
from tests.receiver import Receiver, receiving

from headwater.capture.spark import environment

HOME = Path(pyspark.__file__).parent
pytestmark = [pytest.mark.spark, pytest.mark.soak]
JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("nightly").getOrCreate()
folder = sys.argv[1]
spark.range(9).write.parquet(folder + "/in")
spark.read.parquet(folder + "/in").selectExpr("id + 1 as next").write.parquet(folder + "/out")
spark.stop()
"""


class Cluster:
    """A master and a worker. `home`: of the worker and its drivers, which `vanish` deletes; `variables`: of the worker, as its spark-env.sh sets them."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder, self.home = folder, folder / "worker"
        self.home.mkdir()
        self.port, self.pages = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.started: list[subprocess.Popen[bytes]] = []
        where = ["--host", "127.0.0.1"]
        self._start("Master", "master", {}, *where, "--port", str(self.port), "--webui-port", str(self.pages))
        self._until(lambda: self.asked()["status"] == "ALIVE")
        given = variables | environment(variables)
        work = ["--cores", "2", "--memory", "3g", "--work-dir", str(self.home / "work"), self.master]
        self._start("Worker", "worker", given, *where, *work)
        self._until(lambda: self.asked()["aliveworkers"] == 1)

    def env(self, **more: str) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HEADWATER_", "OPENLINEAGE_", "SPARK_"))
        }
        spark = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        return kept | spark | {"HOME": str(self.home), "SPARK_LOG_DIR": str(self.folder / "logs")} | more

    def _start(self, kind: str, package: str, variables: dict[str, str], *words: str) -> None:
        command = [str(HOME / "bin/spark-class"), f"org.apache.spark.deploy.{package}.{kind}", *words]
        with (self.folder / f"{kind}.log").open("wb") as log:
            self.started.append(
                subprocess.Popen(command, env=self.env(**variables), stdout=log, stderr=log, start_new_session=True)
            )

    def asked(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.pages}/json/", timeout=5) as reply:
            found: dict[str, Any] = json.load(reply)
        return found

    def _until(self, true: Any, seconds: float = 90) -> Any:
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            try:
                if found := true():
                    return found
            except OSError:
                pass  # it does not listen yet
            time.sleep(0.2)
        raise AssertionError("".join(log.read_text(errors="replace")[-3000:] for log in self.folder.glob("*.log")))

    def run(self, job: Path, *words: str) -> None:
        """Run a program with its driver in the worker, until that has ended well."""
        before = len(self.asked()["completeddrivers"])
        self.submit(job, *words)
        ended = self._until(lambda: (done := self.asked()["completeddrivers"])[before:] and done, 240)
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in (self.home / "work").glob("driver-*/std*"))
        assert ended[0]["state"] == "FINISHED", logs

    def kill(self, true: Callable[[], object]) -> None:
        """Kill the driver that runs, once something is true, and wait until the cluster says that it is killed."""
        self._until(true)
        driver = self.asked()["activedrivers"][0]["id"]
        command = [str(HOME / "bin/spark-class"), "org.apache.spark.deploy.Client", "kill", self.master, driver]
        subprocess.run(command, env=self.env(), check=True, capture_output=True, timeout=120)
        self._until(lambda: [one for one in self.asked()["completeddrivers"] if one["state"] == "KILLED"])

    def submit(self, job: Path, *words: str) -> None:
        """Start a program with its driver in the worker."""
        jar = next((HOME / "jars").glob("spark-tags_*.jar"))
        command = [
            str(HOME / "bin/spark-submit"), "--master", self.master, "--deploy-mode", "cluster", "--driver-memory", "1g",
            "--conf", "spark.ui.enabled=false", "--conf", "spark.executor.memory=1g", "--conf", "spark.driver.host=127.0.0.1",
            "--class", "org.apache.spark.deploy.PythonRunner", f"file://{jar}", str(job), "", *words,
        ]  # fmt: skip
        subprocess.run(command, env=self.env(), check=True, capture_output=True, timeout=120)

    def vanish(self) -> None:
        """Delete what the driver had on its disk."""
        shutil.rmtree(self.home / "work")
        shutil.rmtree(self.home / ".headwater", ignore_errors=True)
        (self.home / "work").mkdir()

    def end(self) -> None:
        for process in reversed(self.started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Cluster]]:
    """Start a cluster whose worker has variables; it ends with the test."""
    with contextlib.ExitStack() as ends:

        def start(**variables: str) -> Cluster:
            found = Cluster(tmp_path_factory.mktemp("cluster"), **variables)
            ends.callback(found.end)
            return found

        yield start


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def ends(events: list[dict[str, Any]]) -> list[str]:
    return sorted(event["job"]["name"] for event in events if event["eventType"] == "COMPLETE")


def taken(receiver: Receiver) -> list[dict[str, Any]]:
    """The events that the receiver has answered well."""
    found: list[dict[str, Any]] = []
    for one in receiver.requests:
        if one.status < 300:
            body = gzip.decompress(one.body) if one.headers.get("content-encoding") == "gzip" else one.body
            found += told if isinstance(told := json.loads(body), list) else [told]
    return found


ALL = ["nightly", "nightly.in", "nightly.out"]


def test_a_server_that_comes_back_within_the_bound_has_it_all(
    clusters: Callable[..., Cluster], job: Path, tmp_path: Path
) -> None:
    """The end of the driver waits for it, beyond the 5 seconds that a program waits by default."""
    with receiving() as receiver:
        begun = time.monotonic()
        away = threading.Event()
        receiver.answer = lambda _path, _body: (204, b"") if away.is_set() else (503, b"")

        def back() -> None:  # 12 s after the second write is there
            while not (tmp_path / "out/_SUCCESS").exists() and time.monotonic() - begun < 200:
                time.sleep(0.2)
            time.sleep(12)
            away.set()

        waiter = threading.Thread(target=back)
        waiter.start()
        cluster = clusters(HEADWATER_URL=receiver.url, HEADWATER_FLUSH_SECONDS="60", HEADWATER_FLUSH_AWAY="retry")
        cluster.run(job, str(tmp_path))
        waiter.join()
        events = taken(receiver)
    cluster.vanish()
    assert ends(events) == ALL
    assert {
        event["run"]["facets"]["headwater_spark"]["deployMode"]
        for event in events
        if event["job"]["name"] == "nightly.out"
    } == {"cluster"}


def test_a_spool_on_a_shared_folder_outlives_the_driver(
    clusters: Callable[..., Cluster], job: Path, tmp_path: Path
) -> None:
    """The server is away until long after the driver and its disk are gone."""
    spool = tmp_path / "shared/nightly"
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (503, b"")
        variables = {"HEADWATER_URL": receiver.url, "HEADWATER_SPOOL": str(spool), "HEADWATER_FLUSH_SECONDS": "1"}
        cluster = clusters(**variables)
        cluster.run(job, str(tmp_path))
        cluster.vanish()
        receiver.answer = lambda _path, _body: (204, b"")
        command = [sys.executable, "-m", "headwater", "events", "spool", "drain", "--url", receiver.url]
        env = cluster.env(HEADWATER_SPOOL=str(spool))
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        events = taken(receiver)
    assert done.returncode == 0, done.stderr
    assert ends(events) == ALL


SLOW = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("nightly").getOrCreate()
sleep = "java_method('java.lang.Thread', 'sleep', cast(600000 as bigint)) is null as x"
spark.range(1).selectExpr(sleep).write.parquet(sys.argv[1] + "/out")
"""


def test_a_driver_that_the_cluster_kills_says_so(clusters: Callable[..., Cluster], job: Path, tmp_path: Path) -> None:
    """`Client kill` stops the driver's JVM. Its run and the query that it was in end as ABORT."""
    job.write_text(SLOW)
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (204, b"")
        cluster = clusters(HEADWATER_URL=receiver.url, HEADWATER_SPARK_HEARTBEAT="1")
        cluster.submit(job, str(tmp_path))

        def states(kind: str) -> list[str]:
            return sorted(event["job"]["name"] for event in taken(receiver) if event["eventType"] == kind)

        cluster.kill(lambda: "nightly.out" in states("RUNNING"))
        cluster._until(lambda: states("ABORT") == ["nightly", "nightly.out"], 20)


def test_a_folder_of_a_file_system_of_spark_outlives_the_driver(
    clusters: Callable[..., Cluster], job: Path, tmp_path: Path
) -> None:
    """The server is away until the first driver and its disk are gone; the next driver delivers for both."""
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (503, b"")
        variables = {"HEADWATER_SPARK_SPOOL": f"file:{tmp_path}/bucket/spool", "HEADWATER_FLUSH_SECONDS": "1"}
        cluster = clusters(HEADWATER_URL=receiver.url, **variables)
        for folder in ("first", "second"):
            cluster.run(job, str(tmp_path / folder))
            cluster.vanish()
            receiver.answer = lambda _path, _body: (204, b"")
        assert ends(taken(receiver)) == sorted([*ALL, *ALL])
