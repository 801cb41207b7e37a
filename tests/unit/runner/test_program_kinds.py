"""The programs of a package beside Python: a command, a jar, dbt; and the default if it names none."""

import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidManifest
from headwater.runner import command, load
from headwater.runner.command import SparkChoice

HEAD = "metadata: {name: daily-load, namespace: sales}\n"
INPUT = "inputs: [{name: raw, location: 'my data/raw'}]\n"


def argv(folder: Path, *extra: str, spark: SparkChoice | None = None, **environ: str) -> list[str]:
    manifest = load(folder, {}, {})
    return command.argv(manifest, extra, spark=spark or SparkChoice(), environ={"PATH": "", **environ})


def problem(folder: Path) -> tuple[str, str]:
    with pytest.raises(InvalidManifest) as caught:
        load(folder, {}, {})
    (found,) = caught.value.detail["problems"]
    return found["field"], found["message"]


@pytest.mark.parametrize(
    "words", ["[./load.sh, --from, '${inputs.raw}']", "'./load.sh --from ${inputs.raw}'", "'./load.sh --from \"${inputs.raw}\"'"]
)  # fmt: skip
def test_a_command_is_a_list_or_a_text_that_no_shell_runs(package: Any, words: str) -> None:
    folder = package(HEAD + INPUT + f"run: {{kind: command, command: {words}, args: [--fast]}}\n")
    (folder / "load.sh").write_text("")
    assert argv(folder, "--more") == ["./load.sh", "--from", str(folder / "my data/raw"), "--fast", "--more"]


def test_a_jar_is_submitted_to_spark(package: Any) -> None:
    folder = package(
        HEAD + "run: {kind: jar, jar: app.jar, class: org.x.Load, args: [a b], conf: {spark.x: '1', spark.y: '2'}}\n"
    )
    (folder / "app.jar").write_bytes(b"")
    words = argv(folder, spark=SparkChoice("local[2]", None, {"spark.x": "3"}))
    assert words[0] == str(Path(sys.executable).parent / "spark-submit")
    assert words[1:] == [
        "--master", "local[2]", "--conf", "spark.app.name=daily-load", "--conf", "spark.x=3", "--conf", "spark.y=2",
        "--class", "org.x.Load", str(folder / "app.jar"), "a b",
    ]  # fmt: skip


def test_dbt_builds_the_project_of_the_package(package: Any) -> None:
    folder = package(HEAD + "run: {kind: dbt, namespace: 'postgres://h:5432'}\n")
    (folder / "dbt_project.yml").write_text("")
    assert argv(folder)[1:] == ["build", "--project-dir", str(folder)]
    (folder / "profiles.yml").write_text("")
    own = ["--profiles-dir", str(folder)]
    assert argv(folder, "--select", "+x")[1:] == ["build", "--project-dir", str(folder), *own, "--select", "+x"]
    assert argv(folder, DBT_PROFILES_DIR="/elsewhere")[1:] == ["build", "--project-dir", str(folder)]


@pytest.mark.parametrize(
    ("run", "field", "message"),
    [
        ("{kind: comand, command: ls}", "run.kind", "is 'comand'; did you mean 'command'?"),
        ("{kind: command, script: main.py}", "run", "needs exactly one of: command"),
        ("{kind: command, command: []}", "run.command", "is empty"),
        ('{kind: command, command: "\'ls"}', "run.command", "cannot be split into words: No closing quotation"),
        ("{kind: command, command: ./none.sh}", "run.command", "no such file: "),
        ("{kind: jar, jar: main.py}", "run.class", "is required"),
        ("{kind: python, script: main.py, class: org.x.Main}", "run.class", "goes with kind jar"),
        ("{kind: dbt, namespace: x, project: models}", "run.project", "no such file: "),
    ],
)
def test_what_is_wrong_with_a_program(package: Any, run: str, field: str, message: str) -> None:
    found = problem(package(HEAD + f"run: {run}\n"))
    assert found[0] == field
    assert found[1].startswith(message)


def test_dbt_needs_the_namespace_of_its_tables(package: Any) -> None:
    folder = package(HEAD + "run: {kind: dbt}\n")
    (folder / "dbt_project.yml").write_text("")
    assert problem(folder) == ("run.namespace", "is required")


@pytest.mark.parametrize(
    ("file", "text", "kind", "words"),
    [
        ("main.py", "print(1)", "python", [sys.executable, "{file}"]),
        ("main.py", "from pyspark.sql import SparkSession", "pyspark", [sys.executable, "{file}"]),
        ("main.sql", "select 1", "sql", [sys.executable, "-m", "headwater.runner.sql_session", "{file}"]),
        ("main.sh", "ls", "command", ["sh", "{file}"]),
    ],
)
def test_without_run_the_one_program_in_the_folder_counts(
    package: Any, file: str, text: str, kind: str, words: list[str]
) -> None:
    folder = package(HEAD)
    (folder / "main.py").unlink()
    (folder / file).write_text(text)
    assert load(folder, {}, {}).program.kind == kind
    assert argv(folder) == [word.format(file=folder / file) for word in words]


def test_two_programs_in_the_folder_are_no_guess(package: Any) -> None:
    folder = package(HEAD)
    (folder / "main.sh").write_text("ls")
    field, message = problem(folder)
    assert field == "run"
    assert message.endswith("; the folder has main.py and main.sh")
