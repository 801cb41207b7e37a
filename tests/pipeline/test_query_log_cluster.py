"""The same sync on a standalone cluster, through spark-submit, and through Spark Connect ends with the tables of `local[2]`.

`make soak` runs these; in the suite test_query_log_end_to_end.py syncs through Spark Connect on one machine.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from tests.fixtures.pipeline import FAST
from tests.fixtures.processes import free_port
from tests.fixtures.query_logs import bigquery_jobs, json_lines, price_list
from tests.pipeline.test_query_log_sync import tables

from headwater.errors import InvalidQuestion, NotInstalled, SparkUnavailable, StageFailed, UnreachableFolder
from headwater.pipeline import workers
from headwater.pipeline.folder import LocalFolder
from headwater.pipeline.session import PROXIES, reachable, session

pytestmark = pytest.mark.spark

SPARK_HOME = Path(pyspark.__file__).parent
SUBMIT = Path(__file__).parents[2] / "src/headwater/cli/capture/submit.py"
ON_THIS_MACHINE = {
    **{name: value for name, value in FAST.items() if name != "spark.sql.warehouse.dir"},
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def properties(**more: str) -> list[str]:
    return [word for name, value in {**ON_THIS_MACHINE, **more}.items() for word in ("--conf", f"{name}={value}")]


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    return {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=400m",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOG_DIR": str(home / "logs"),
        "SPARK_PID_DIR": str(home / "pids"),
        "PYSPARK_PYTHON": sys.executable,
        "HEADWATER_HOME": str(home),
    }


Start = Callable[..., subprocess.Popen[bytes]]


@contextlib.contextmanager
def daemons(home: Path) -> Iterator[Start]:
    """Programs of Spark's, ended with all that they started."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, command: Sequence[object], memory: str = "256m") -> subprocess.Popen[bytes]:
        with (home / f"{name}.log").open("wb") as sink:
            process = subprocess.Popen(
                list(map(str, command)),
                env=environment(home) | {"SPARK_DAEMON_MEMORY": memory},
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        yield begin
    finally:
        for process in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with daemons(tmp_path_factory.mktemp("daemons")) as begin:
        yield begin


def until(true: Callable[[], Any], what: str, seconds: float = 120) -> Any:
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        with contextlib.suppress(OSError):
            if found := true():
                return found
        time.sleep(0.2)
    raise AssertionError(f"not in {seconds} s: {what}")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("log")
    rows = bigquery_jobs()
    for number in range(2):
        json_lines(
            there / f"jobs-{number}.json", rows[number * 30 : number * 30 + 30], "" if number else '{"job_id": "cut'
        )
    return there


def told(command: Sequence[object], home: Path) -> dict[str, Any]:
    done = subprocess.run(list(map(str, command)), env=environment(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def words(log: Path, store: Path) -> list[object]:
    asked = ["sync", "query-log", "--source", "bigquery", "--input", log, "--store", store]
    return [*asked, "--prices", price_list(store.parent), "--no-publish", "--json"]


class Cluster(NamedTuple):
    master: str
    folder: Path

    def executors(self) -> list[Path]:
        """Return the workers that had an executor."""
        return [worker for worker in sorted(self.folder.iterdir()) if list(worker.glob("app-*/*/stderr"))]


@pytest.fixture(scope="module")
def cluster(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    folder = tmp_path_factory.mktemp("cluster")
    port, pages = free_port(), free_port()
    program, master = SPARK_HOME / "bin" / "spark-class", f"spark://127.0.0.1:{port}"
    where = ("--host", "127.0.0.1")
    start("master", [program, "org.apache.spark.deploy.master.Master", *where, "--port", port, "--webui-port", pages])

    def told() -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{pages}/json/", timeout=5) as reply:
            found: dict[str, Any] = json.load(reply)
        return found

    until(told, "a master")
    count = 2
    for number in range(count):
        worker = [program, "org.apache.spark.deploy.worker.Worker", *where, "--cores", 1, "--memory", "1g"]
        more = ["--webui-port", 0, "--work-dir", folder / f"worker-{number}", master]
        start(f"worker-{number}", [*worker, *more])
    until(lambda: told()["aliveworkers"] == count, "the workers")
    return Cluster(master, folder)


def is_plain(
    spark: Any, done: dict[str, Any], store: Path, plain_tables: dict[str, list[str]], cluster: Cluster | None
) -> None:
    assert (done["files"], done["rows"], done["days"]) == (2, 60, 4)
    assert tables(spark, store) == plain_tables
    if cluster is not None:
        # Each worker had an executor, and it was theirs that wrote: each ran Python.
        assert len(cluster.executors()) == 2
        assert not list(store.glob("probe*"))


THROUGH = {
    "spark-submit to a cluster": (True, False),
    "Spark Connect on one machine": (False, True),
    "Spark Connect on a cluster": (True, True),
}


@pytest.mark.soak
@pytest.mark.parametrize("way", THROUGH)
def test_each_way_ends_as_one_machine_does(
    spark: Any,
    log: Path,
    plain_tables: dict[str, list[str]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    way: str,
) -> None:
    on_cluster, connect = THROUGH[way]
    cluster: Cluster | None = request.getfixturevalue("cluster") if on_cluster else None
    master = "local[2]" if cluster is None else cluster.master
    sized = properties() if cluster is None else properties(**{"spark.executor.memory": "768m"})
    store, home = tmp_path / "store", tmp_path / "home"
    if not connect:
        done = told([SPARK_HOME / "bin" / "spark-submit", "--master", master, *sized, SUBMIT, *words(log, store)], home)
        is_plain(spark, done, store, plain_tables, cluster)
        return
    command = [sys.executable, "-m", "headwater", *words(log, store)]
    with connect_server(tmp_path, "--master", master, *sized) as address:
        done = told([*command, "--remote", address], home)
        is_plain(spark, done, store, plain_tables, cluster)
        # A store that a client without a JVM cannot reach is refused before any work.
        far = [*command, "--remote", address, "--store", "s3a://bucket/store"]
        refused = subprocess.run(
            list(map(str, far)), env=environment(home), capture_output=True, text=True, check=False
        )
    assert refused.returncode == 1
    assert "headwater: s3a://bucket/store is reached through the session's JVM" in refused.stderr


@contextlib.contextmanager
def connect_server(folder: Path, *more: str) -> Iterator[str]:
    """The address of a Spark Connect server on this machine, on two threads unless said otherwise."""
    port = free_port()
    binding = {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    command = ["bash", SPARK_HOME / "sbin/start-connect-server.sh", *(more or ("--master", "local[2]"))]
    with daemons(folder) as start:
        serving = start("connect", [*command, *properties(**binding)], memory="1g")
        address = f"sc://127.0.0.1:{port}"
        until(lambda: serving.poll() is not None or _answers(address), "a Spark Connect server")
        yield address


def _answers(address: str) -> bool:
    try:
        reachable(address)
    except SparkUnavailable:
        return False
    return True


def test_a_spark_connect_server_that_is_not_there_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    began = time.monotonic()
    monkeypatch.setattr("headwater.pipeline.session.find_spec", lambda name: name)
    with pytest.raises(SparkUnavailable, match=r"no Spark Connect server answers at 127\.0\.0\.1:\d+"):
        session(remote=f"sc://127.0.0.1:{free_port()}")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("address", ["127.0.0.1:15002", "spark://127.0.0.1:15002", "sc://", "sc://host:port"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InvalidQuestion, match="is no Spark Connect server; write sc://host:15002"):
        session(remote=address)


def test_what_spark_connect_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.pipeline.session.find_spec", lambda name: None if name == "grpc" else name)
    with pytest.raises(NotInstalled, match=r"needs grpc: pip install 'headwater\[spark-connect\]'"):
        session(remote="sc://127.0.0.1")


class TestWorkers:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "_alone", lambda _: False)

    def test_that_can_work(self, spark: Any, tmp_path: Path) -> None:
        workers.check(spark, str(tmp_path / "store"))
        workers.check(spark, "s3a://bucket/nobody/looks")
        assert list((tmp_path / "store").iterdir()) == []

    def test_that_do_not_see_the_folder(self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(LocalFolder, "create", lambda *_: True)
        with pytest.raises(UnreachableFolder, match="that not all of Spark's machines see: give one that all"):
            workers.check(spark, str(tmp_path / "store"))

    def test_that_have_another_headwater(self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "__version__", "9.9")
        with pytest.raises(NotInstalled, match=r"workers have Headwater .*, and this is 9\.9"):
            workers.check(spark, str(tmp_path / "store"))

    @pytest.mark.parametrize(
        ("missing", "error", "said"),
        [
            ("headwater", NotInstalled, "workers has no Headwater: install it there"),
            ("pyarrow", StageFailed, "workers do not work: ModuleNotFoundError: No module named 'pyarrow'"),
        ],
    )
    def test_that_lack_something(
        self,
        spark: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        missing: str,
        error: type[Exception],
        said: str,
    ) -> None:
        def look(_batches: object, _mark: str) -> Iterator[object]:
            raise ModuleNotFoundError(f"No module named {missing!r}")

        monkeypatch.setattr(workers, "_look", look)
        with pytest.raises(error, match=said):
            workers.check(spark, str(tmp_path / "store"))
        assert list((tmp_path / "store").iterdir()) == []


def test_submit_says_where_it_is() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "headwater.cli.capture.submit"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(SUBMIT)
