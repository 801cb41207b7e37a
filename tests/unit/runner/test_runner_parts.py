"""The runner's smaller parts: git, the error in a stderr, the child's environment, SQL statements, what was written."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client import context, event
from headwater.client.config import destination
from headwater.model.names import DatasetName
from headwater.runner import code_version, command, load
from headwater.runner.announcement import Announcement
from headwater.runner.execution import outcome
from headwater.runner.failure import message_and_trace
from headwater.runner.interpolation import UnknownName
from headwater.runner.manifest import Declared
from headwater.runner.process import Ended
from headwater.runner.sql_session import read_statements
from headwater.runner.sql_statements import split
from headwater.runner.written import Written, measure

# git


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=trunk"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_package_in_a_repository(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "clean"
    package.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    assert code_version.read(package) is None, "no commit yet"
    (package / "main.py").write_text("1")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    git(tmp_path, "remote", "add", "origin", "https://user:ghp_secret@github.com/o/r.git?token=x")
    found = code_version.read(package)
    assert found is not None
    assert found.commit == git(tmp_path, "rev-parse", "HEAD")
    assert (found.branch, found.dirty, found.path) == ("trunk", False, "packages/clean")
    assert found.repository == "https://github.com/o/r.git"
    assert found.url == f"https://github.com/o/r/tree/{found.commit}/packages/clean"
    (package / "main.py").write_text("2")
    git(tmp_path, "checkout", "-q", "--detach")
    found = code_version.read(package)
    assert found is not None
    assert (found.branch, found.dirty) == (None, True)


def test_no_repository_and_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code_version.read(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_version.read(Path(__file__).parent) is None


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r.git"),
        ("ssh://git@host:2222/o/r.git", "https://host/o/r.git"),
        ("https://token@host/o/r", "https://host/o/r"),
        ("https://u:p@host:8443/o/r?private_token=x#y", "https://host:8443/o/r"),
        ("/srv/git/r.git", "/srv/git/r.git"),
        ("file:///srv/r.git", "file:///srv/r.git"),
    ],
)
def test_credentials_of_a_remote_stay_home(remote: str, shown: str) -> None:
    assert code_version.without_credentials(remote) == shown


# what a failed program said

PLAIN = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    1/0\nZeroDivisionError: division by zero\n'
CHAINED = (
    'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1\n\n'
    "During handling of the above exception, another exception occurred:\n\n"
    'Traceback (most recent call last):\n  File "a.py", line 3\nmy.pkg.OddlyNamed: second\n'
)


@pytest.mark.parametrize(
    ("stderr", "message", "trace_has"),
    [
        (PLAIN, "ZeroDivisionError: division by zero", "1/0"),
        (
            "26/01/01 WARN x\n" + PLAIN + "26/01/01 INFO ShutdownHookManager: bye\n",
            "ZeroDivisionError: division by zero",
            "1/0",
        ),
        (CHAINED, "my.pkg.OddlyNamed: second", "KeyError: 1"),
        ('  File "a.py", line 1\n    x = (\nSyntaxError: never closed\n', "SyntaxError: never closed", "x = ("),
        (
            "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: two (2 sub-exceptions)\n"
            "  +-+---------------- 1 ----------------\n    | ValueError: a\n    +------------------------------------\n",
            "ExceptionGroup: two (2 sub-exceptions)",
            "ValueError: a",
        ),
        ("something\nlast words\n\n", "last words", "something"),
        ("", "the program ended with exit code 3", None),
    ],
)
def test_the_error_in_one_line(stderr: str, message: str, trace_has: str | None) -> None:
    found, trace = message_and_trace(stderr, 3)
    assert found == message
    assert (trace is None) if trace_has is None else (trace_has in (trace or ""))


@given(st.text(max_size=400))
def test_any_stderr_has_a_message(stderr: str) -> None:
    message, _ = message_and_trace(stderr, 1)
    assert message
    assert len(message) <= 1000


def test_a_long_trace_is_cut_in_the_middle_and_says_so() -> None:
    _, trace = message_and_trace("Traceback (most recent call last):\n" + "  x\n" * 50_000 + "ValueError: end", 1)
    assert trace is not None
    assert len(trace) < 17_000
    assert trace.endswith("ValueError: end")
    assert "characters left out" in trace


@pytest.mark.parametrize(
    ("returncode", "asked_by", "state", "exit_code"),
    [
        (0, None, "COMPLETE", 0),
        (3, None, "FAIL", 3),
        (-9, None, "ABORT", 137),
        (-11, None, "FAIL", 139),
        (-2, 2, "ABORT", 130),
        (0, 15, "ABORT", 143),
        (7, 15, "ABORT", 7),
    ],
)
def test_how_a_run_ended(returncode: int, asked_by: int | None, state: str, exit_code: int) -> None:
    ended = Ended(returncode, asked_by, "", 1.0)
    assert outcome(ended)[0] == state
    assert ended.exit_code == exit_code


# the child's command and environment

SPARK = """
metadata: {name: clean-flights, namespace: flights}
run: {kind: pyspark, script: main.py, conf: {spark.a: "1 2", spark.master: yarn}}
parameters: {run-date: 2013}
"""


def test_spark_settings_reach_the_child(package: Any) -> None:
    manifest = load(package(SPARK), {}, {})
    choice = command.SparkChoice(master="local[2]", conf={"spark.b": "x"})
    words = shlex.split(command.submit_args(manifest, choice, "--jars a.jar pyspark-shell"))
    assert words == [
        "--jars", "a.jar", "--master", "local[2]", "--conf", "spark.app.name=clean-flights",
        "--conf", "spark.a=1 2", "--conf", "spark.b=x", "pyspark-shell",
    ]  # fmt: skip
    parent = context.own(event.run_id(), manifest.job)
    out = destination({"HOME": "/h"}, url="http://h:1/prefix", api_key="k")
    env = command.environment(
        manifest, parent, out, command.SparkChoice(remote="sc://h"), capture=False, current={"KEEP": "1"}
    )
    assert context.parent(env) == parent
    assert (env["SPARK_REMOTE"], env["KEEP"], env["HEADWATER_PARAM_RUN_DATE"]) == ("sc://h", "1", "2013")
    assert (env["OPENLINEAGE_URL"], env["OPENLINEAGE_ENDPOINT"], env["OPENLINEAGE_API_KEY"]) == (
        "http://h:1",
        "prefix/api/v1/lineage",
        "k",
    )
    assert destination(env).url == out.url
    keyless = destination({"HOME": "/h"}, url="http://h:1")
    env = command.environment(
        manifest, parent, keyless, choice, capture=False, current={"OPENLINEAGE_API_KEY": "of another server"}
    )
    assert "OPENLINEAGE_API_KEY" not in env


def test_argv_by_kind(package: Any) -> None:
    head = "metadata: {name: clean-flights, namespace: flights}\n"
    folder = package(head + "run: {kind: python, module: pkg.mod, args: [a]}")
    manifest = load(folder, {}, {})
    assert command.argv(manifest, ("b",)) == [sys.executable, "-m", "pkg.mod", "a", "b"]
    parent = context.own(event.run_id(), manifest.job)
    out = destination({"HOME": "/h"})
    env = command.environment(
        manifest, parent, out, command.SparkChoice(), capture=False, current={"PYTHONPATH": "/x:rel"}
    )
    assert env["PYTHONPATH"].split(os.pathsep) == [str(folder), "/x", str(Path("rel").absolute())]
    assert "PYSPARK_SUBMIT_ARGS" not in env
    folder = package(head + "run: {kind: sql, file: q.sql}", q_sql="select 1")
    assert command.argv(load(folder, {}, {})) == [
        sys.executable,
        "-m",
        "headwater.runner.sql_session",
        str(folder / "q.sql"),
    ]


# SQL files


def test_statements_are_split_where_sql_says() -> None:
    sql = """-- a; comment
create table `a;b` (x int); /* not; /* nested; */ here */
insert into t values ('it''s; "x"', "d\\";q", 'a\\';b');
;
select 1 -- last; one
"""
    assert [(s.line, s.text.splitlines()[0]) for s in split(sql)] == [
        (2, "create table `a;b` (x int)"),
        (3, """insert into t values ('it''s; "x"', "d\\";q", 'a\\';b')"""),
        (5, "select 1 -- last; one"),
    ]
    assert split("-- nothing\n/* ; */ ;;") == []
    assert [s.text for s in split("select 'open; ")] == ["select 'open;"]


@given(
    st.lists(
        st.sampled_from(["select 1", "select ';'", "select `;`", "/* ; */ select 2", "select 3 -- ;\n", 'select ";"'])
    )
)
def test_as_many_statements_as_were_written(parts: list[str]) -> None:
    assert len(split(";".join(parts))) == len(parts)


def test_names_in_sql(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("select * from parquet.`${inputs.raw}` where y = ${year} and '$${x}' = ''")
    environ = {command.NAMES: json.dumps({"inputs.raw": "/data/raw", "year": "2013"})}
    assert (
        read_statements(file, {"year": "2014"}, environ)[0].text
        == "select * from parquet.`/data/raw` where y = 2014 and '${x}' = ''"
    )
    with pytest.raises(UnknownName, match=r"inputs\.raw"):
        read_statements(file, {}, {})


# outputs


def declared(place: Path) -> Declared:
    return Declared(name="o", type="parquet", place=str(place), dataset=DatasetName("file", str(place)))


def test_what_was_written_is_measured(tmp_path: Path) -> None:
    began = time.time()
    part = tmp_path / "t" / "day=1"
    part.mkdir(parents=True)
    (part / "part-0").write_bytes(b"x" * 10)
    (part / "part-1").write_bytes(b"x" * 5)
    (tmp_path / "t" / "_SUCCESS").write_bytes(b"x")
    (part / ".part-0.crc").write_bytes(b"x")
    assert measure(declared(tmp_path / "t"), began) == Written(15, 2)
    assert measure(declared(part / "part-0"), began) == Written(10, 1)
    assert measure(declared(tmp_path / "t"), began + 100) is None, "not touched by this run"
    assert measure(declared(tmp_path / "nothing"), began) is None


# events


def test_start_says_what_the_contract_asks(package: Any) -> None:
    folder = package(
        """
        metadata: {name: clean-flights, namespace: flights, version: "2", owner: [{name: ann, type: OWNER}], description: Cleans}
        run: {kind: python, script: main.py}
        parameters: {year: 2013, db_password: hunter2}
        period: {every: year, start: "${year}"}
        inputs: [{name: raw, type: csv, location: raw, description: Raw, classification: {pii: true}}]
        """
    )
    top = context.own(event.run_id(), ("airflow", "dag"))
    parent = top.child(event.run_id(), ("airflow", "dag.task"))
    code = code_version.CodeVersion(
        commit="c0ffee", branch="main", dirty=True, repository="https://h/r", path="p", root="/r"
    )
    start = Announcement(manifest=load(folder, {}, {}), run_id="r", parent=parent, code=code).start()
    run, job = start["run"]["facets"], start["job"]["facets"]
    assert run["parent"]["run"]["runId"] == parent.run_id
    assert run["parent"]["root"]["job"] == {"namespace": "airflow", "name": "dag"}
    assert run["executionParameters"]["parameters"] == [
        {"key": "year", "value": "2013"},
        {"key": "db_password", "value": "***"},
    ]
    assert run["nominalTime"]["nominalStartTime"] == "2013-01-01T00:00:00Z"
    assert (run["headwater_code"]["version"], run["headwater_code"]["dirty"]) == ("c0ffee", True)
    assert job["ownership"]["owners"] == [{"name": "ann", "type": "OWNER"}]
    assert job["documentation"]["description"] == "Cleans"
    assert job["sourceCodeLocation"]["version"] == "c0ffee"
    (given_input,) = start["inputs"]
    facets = given_input["facets"]
    assert facets["headwater_declared"]["classification"] == {"pii": "true"}
    assert facets["tags"]["tags"] == [{"key": "pii", "value": "true", "source": "dk.yaml"}]
    assert facets["documentation"]["description"] == "Raw"
    for bag in (run, job, facets):
        assert all({"_producer", "_schemaURL"} <= set(facet) for facet in bag.values())
