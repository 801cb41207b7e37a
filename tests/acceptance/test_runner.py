"""`headwater run` as its users start it: a process of its own, a real server, real signals."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from collector import Collector, running

HEAD = "metadata: {name: clean-flights, namespace: flights, owner: data-platform, description: Cleans}\n"
PYTHON = HEAD + "run: {kind: python, script: main.py}\n"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running() as server:
        yield server


@pytest.fixture
def start(tmp_path: Path, collector: Collector) -> Iterator[Start]:
    """Starts `headwater run` on a package made of a dk.yaml and a program."""
    started: list[subprocess.Popen[str]] = []

    def begin(manifest: str, program: str, *words: str, **env: str) -> "subprocess.Popen[str]":
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (folder / "dk.yaml").write_text(manifest)
        (folder / "main.py").write_text(dedent(program))
        environ = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("HEADWATER_", "OPENLINEAGE_", "SPARK_", "PYSPARK_"))
        }
        environ |= {
            "HEADWATER_URL": collector.url,
            "HEADWATER_SPOOL": str(tmp_path / "spool"),
            "HOME": str(tmp_path),
        } | env
        process = subprocess.Popen(
            [sys.executable, "-m", "headwater.cli.capture.run", str(folder), *words],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[str]", timeout: float = 60) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def wait_until(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


def test_complete(start: Start, collector: Collector, tmp_path: Path) -> None:
    manifest = PYTHON + dedent(
        """\
        inputs: [{name: raw, type: csv, location: raw, description: Raw, classification: {pii: true}}]
        outputs: [{name: flights, type: parquet, location: out/flights, description: Clean}]
        parameters: {year: 2013}
        """
    )
    program = """
        import os, pathlib, sys
        out = pathlib.Path("out/flights"); out.mkdir(parents=True)
        (out / "part-0.parquet").write_bytes(b"x" * 100)
        print("on stdout", os.environ["HEADWATER_PARAM_YEAR"], *sys.argv[1:])
        print("on stderr", file=sys.stderr)
    """
    code, out, err = ended(start(manifest, program, "--param", "year=2014", "--", "--limit", "3"))
    assert (code, out) == (0, "on stdout 2014 --limit 3\n")
    assert "on stderr" in err
    assert collector.types() == ["START", "COMPLETE"]
    first, last = collector.events
    assert first["job"]["namespace"] == "flights"
    assert first["job"]["name"] == "clean-flights"
    assert first["run"]["runId"] == last["run"]["runId"]
    assert first["inputs"][0]["name"] == str(tmp_path / "package" / "raw")
    assert first["inputs"][0]["facets"]["tags"]["tags"][0]["key"] == "pii"
    assert first["run"]["facets"]["executionParameters"]["parameters"] == [{"key": "year", "value": "2014"}]
    statistics = last["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (statistics["size"], statistics["fileCount"]) == (100, 1)
    assert f"run {first['run']['runId']}" in err


def test_json_summary_comes_last(start: Start) -> None:
    code, out, _ = ended(start(PYTHON, "print('mine')", "--json"))
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "mine")
    summary = json.loads(lines[-1])
    assert (summary["state"], summary["exit_code"], summary["events_pending"]) == ("COMPLETE", 0, 0)


def test_fail(start: Start, collector: Collector) -> None:
    program = """
        def broken():
            raise ValueError("no such airport: XXX")
        broken()
    """
    code, out, err = ended(start(PYTHON, program))
    assert (code, out) == (1, "")
    assert err.count("ValueError: no such airport: XXX") == 2, "once from the program, once in the summary"
    assert collector.types() == ["START", "FAIL"]
    error = collector.events[-1]["run"]["facets"]["errorMessage"]
    assert error["message"] == "ValueError: no such airport: XXX"
    assert error["programmingLanguage"] == "python"
    assert "line 3, in broken" in error["stackTrace"]


def test_the_exit_code_is_the_programs(start: Start, collector: Collector) -> None:
    assert ended(start(PYTHON, "raise SystemExit(42)"))[0] == 42
    assert collector.types() == ["START", "FAIL"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_abort_when_told_to_stop(
    start: Start, collector: Collector, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    program = """
        import pathlib, time
        pathlib.Path("ready").touch()
        try:
            time.sleep(60)
        finally:
            pathlib.Path("cleaned").touch()
    """
    process = start(PYTHON, program)
    wait_until(tmp_path / "package" / "ready")
    process.send_signal(number)
    assert ended(process)[0] == code
    assert collector.types() == ["START", "ABORT"]
    assert number.name in collector.events[-1]["run"]["facets"]["errorMessage"]["message"]
    assert (tmp_path / "package" / "cleaned").exists() == (number == signal.SIGINT), "SIGINT lets Python clean up"


def test_at_a_terminal_the_program_is_interrupted_once_and_may_read(tmp_path: Path, collector: Collector) -> None:
    """The terminal sends Ctrl-C to the whole group: passing it on too would interrupt the program's clean-up."""
    import fcntl
    import termios

    program = """
        import os, signal, time
        heard, say = os.pipe()
        os.set_blocking(say, False)
        signal.set_wakeup_fd(say)  # a byte for every signal, also when Python runs its handler once for two
        signal.signal(signal.SIGINT, lambda *_: None)
        print("ready", flush=True)
        count = len(os.read(heard, 1))
        time.sleep(0.4)
        os.set_blocking(heard, False)
        try:
            count += len(os.read(heard, 100))
        except BlockingIOError:
            pass
        print(f"interrupted {count}, read {input()}", flush=True)
    """
    (tmp_path / "dk.yaml").write_text(PYTHON)
    (tmp_path / "main.py").write_text(dedent(program))
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater.cli.capture.run", str(tmp_path)],
        env=os.environ | {"HEADWATER_URL": collector.url, "HEADWATER_SPOOL": str(tmp_path / "spool")},
        stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - there is no other way to a controlling terminal
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"ready" not in shown:
        shown += os.read(ours, 1000)
    os.write(ours, b"\x03")
    time.sleep(0.1)
    os.write(ours, b"hello\n")
    while b"read hello" not in shown:
        shown += os.read(ours, 1000)
    assert process.wait(20) == 130
    assert b"interrupted 1, read hello" in shown
    assert collector.types() == ["START", "ABORT"]
    os.close(ours)


def test_a_program_that_will_not_stop_is_killed_with_its_children(
    start: Start, collector: Collector, tmp_path: Path
) -> None:
    program = """
        import pathlib, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path("ready").write_text(str(child.pid))
        time.sleep(60)
    """
    process = start(PYTHON, program, HEADWATER_GRACE_SECONDS="0.5")
    ready = tmp_path / "package" / "ready"
    wait_until(ready)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert ended(process, 20)[0] == 137
    assert collector.types() == ["START", "ABORT"]
    grandchild = Path(f"/proc/{ready.read_text()}/stat")
    assert not grandchild.exists() or grandchild.read_text().split()[2] == "Z"


def test_abort_when_the_program_is_killed(start: Start, collector: Collector, tmp_path: Path) -> None:
    program = """
        import os, pathlib, time
        pathlib.Path("pid.tmp").write_text(str(os.getpid())); pathlib.Path("pid.tmp").rename("pid")
        time.sleep(60)
    """
    process = start(PYTHON, program)
    wait_until(tmp_path / "package" / "pid")
    os.kill(int((tmp_path / "package" / "pid").read_text()), signal.SIGKILL)
    assert ended(process)[0] == 137
    assert collector.types() == ["START", "ABORT"]
    assert "SIGKILL" in collector.events[-1]["run"]["facets"]["errorMessage"]["message"]


def test_heartbeats(start: Start, collector: Collector) -> None:
    ended(start(PYTHON, "import time; time.sleep(1)", "--heartbeat", "0.2"))
    types = collector.types()
    assert types[0] == "START"
    assert types[-1] == "COMPLETE"
    times = [dt.datetime.fromisoformat(one["eventTime"]) for one in collector.events]
    assert 2 <= types.count("RUNNING") <= (times[-1] - times[0]).total_seconds() / 0.2 + 1


def test_a_run_inside_a_run_keeps_parent_and_root(start: Start, collector: Collector) -> None:
    from headwater.client import context, event

    parent = context.own(event.run_id(), ("airflow", "dag.task"), context.own(event.run_id(), ("airflow", "dag")))
    program = "import os; print(os.environ['OPENLINEAGE_CONTEXT'])"
    _, out, _ = ended(start(PYTHON, program, **context.environment(parent)))
    for each in collector.events:
        facet = each["run"]["facets"]["parent"]
        assert facet["run"]["runId"] == parent.run_id
        assert facet["root"]["run"]["runId"] == parent.root_run_id
    handed = context.parent({"OPENLINEAGE_CONTEXT": out.strip()})
    assert handed == parent.child(collector.events[0]["run"]["runId"], ("flights", "clean-flights"))


def test_the_official_client_joins_the_run(start: Start, collector: Collector) -> None:
    """Requirement K5: plain OpenLineage code in a package, configured by nothing but the environment it finds."""
    program = """
        import os
        from datetime import datetime, timezone
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import parent_run
        from openlineage.client.uuid import generate_new_uuid

        namespace, name, run_id = os.environ["OPENLINEAGE_PARENT_ID"].rsplit("/", 2)
        client = OpenLineageClient()
        now = datetime.now(timezone.utc).isoformat()
        client.emit(RunEvent(eventType=RunState.RUNNING, eventTime=now, run=Run(run_id), job=Job(namespace, name),
                             outputs=[OutputDataset("kafka://k:9092", "alerts")], producer="https://example.com/mine"))
        parent = parent_run.ParentRunFacet(run=parent_run.Run(run_id), job=parent_run.Job(namespace, name))
        client.emit(RunEvent(eventType=RunState.COMPLETE, eventTime=now, run=Run(str(generate_new_uuid()), {"parent": parent}),
                             job=Job(namespace, "my-step"), producer="https://example.com/mine"))
    """
    code, _, err = ended(start(PYTHON, program, HEADWATER_API_KEY="key"))
    assert code == 0, err
    by_type = {(e["eventType"], e["job"]["name"]): e for e in collector.events}
    first = by_type["START", "clean-flights"]
    custom = by_type["RUNNING", "clean-flights"]
    step = by_type["COMPLETE", "my-step"]
    assert custom["run"]["runId"] == first["run"]["runId"]
    assert custom["outputs"][0]["name"] == "alerts"
    assert step["run"]["facets"]["parent"]["run"]["runId"] == first["run"]["runId"]
    assert {headers["Authorization"] for _, headers, _ in collector.requests} == {"Bearer key"}
    assert {path for path, _, _ in collector.requests} == {"/api/v1/lineage/batch", "/api/v1/lineage"}


def test_our_own_client_joins_the_run(start: Start, collector: Collector) -> None:
    program = """
        from headwater.client import context, emitter_from_environment, event
        parent = context.parent()
        emitter_from_environment().emit(event.run("OTHER", run_id=parent.run_id, job=parent.job))
    """
    code, _, err = ended(start(PYTHON, program))
    assert code == 0, err
    assert sorted(collector.types()) == ["COMPLETE", "OTHER", "START"]
    assert len({e["run"]["runId"] for e in collector.events}) == 1


def test_a_dead_server_costs_the_package_nothing(start: Start, collector: Collector, tmp_path: Path) -> None:
    collector.stop()
    code, out, err = ended(start(PYTHON, "print(1)", "--json"))
    assert code == 0
    assert err.count("they are kept in") == 1, err
    assert json.loads(out.splitlines()[-1])["events_pending"] == 2
    collector.start()
    code, _, err = ended(start(PYTHON, "print(1)"))
    assert code == 0
    assert sorted(collector.types()) == ["COMPLETE", "COMPLETE", "START", "START"]
    assert list((tmp_path / "spool").glob("*")) == []


def test_a_wrong_manifest_runs_nothing(start: Start, collector: Collector) -> None:
    code, out, err = ended(start(HEAD + "run: {kind: python, scrpt: main.py}\n", "print('ran')"))
    assert (code, out) == (2, "")
    assert "dk.yaml:2:21: run.scrpt: is not a field here; did you mean 'script'?" in err
    assert collector.events == []


def test_dry_run_shows_names_and_runs_nothing(start: Start, collector: Collector, tmp_path: Path) -> None:
    manifest = PYTHON + "outputs: [{name: flights, type: parquet, location: out/flights, description: Clean}]\n"
    code, out, _ = ended(start(manifest, "raise SystemExit(9)", "--dry-run"))
    assert code == 0
    assert f"dataset:file:{tmp_path}/package/out/flights" in out
    code, out, _ = ended(start(manifest, "raise SystemExit(9)", "--dry-run", "--json"))
    assert json.loads(out)["outputs"][0]["dataset"] == {"namespace": "file", "name": f"{tmp_path}/package/out/flights"}
    assert collector.events == []


@pytest.mark.spark
def test_pyspark_takes_its_settings_from_the_runner(start: Start, collector: Collector) -> None:
    manifest = (
        HEAD
        + "run: {kind: pyspark, script: main.py, conf: {spark.sql.shuffle.partitions: '3', spark.ui.enabled: 'false'}}\n"
    )
    program = """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        conf = spark.sparkContext.getConf()
        print(spark.conf.get("spark.sql.shuffle.partitions"), conf.get("spark.master"), conf.get("spark.app.name"), conf.get("spark.x"))
    """
    words = ("--master", "local[1]", "--conf", "spark.x=a b", "--no-capture")
    code, out, err = ended(start(manifest, program, *words), 120)
    assert (code, out.strip()) == (0, "3 local[1] clean-flights a b"), err
    assert collector.events[0]["run"]["facets"]["processing_engine"]["name"] == "spark"


@pytest.mark.spark
def test_sql(start: Start, collector: Collector, tmp_path: Path) -> None:
    manifest = HEAD + dedent(
        """\
        run: {kind: sql, file: main.py, conf: {spark.ui.enabled: 'false', spark.master: 'local[1]'}}
        parameters: {limit: 3}
        outputs: [{name: n, type: parquet, location: out, description: Numbers}]
        """
    )
    sql = """
        -- numbers; up to a limit
        CREATE TEMP VIEW n AS SELECT id, concat('a;', id) AS name FROM range(${limit});
        INSERT OVERWRITE DIRECTORY '${outputs.n}' USING parquet SELECT /*+ COALESCE(1) */ * FROM n;
        SELECT count(*) AS total FROM parquet.`${outputs.n}`;
    """
    code, out, err = ended(start(manifest, sql, "--no-capture"), 120)
    assert code == 0, err
    assert "|3    |" in out
    assert "[2/3]" in err
    assert collector.types() == ["START", "COMPLETE"]
    assert collector.events[-1]["outputs"][0]["outputFacets"]["outputStatistics"]["fileCount"] >= 1
    code, _, err = ended(start(manifest, "SELECT 1;\nSELECT * FROM nowhere", "--no-capture"), 120)
    assert code == 1
    assert "[2/2] main.py:2 failed" in err
    assert "TABLE_OR_VIEW_NOT_FOUND" in collector.events[-1]["run"]["facets"]["errorMessage"]["message"]
