"""dk.yaml: what it says when it is right, and where it hurts when it is not."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.scale import full

from headwater.errors import InvalidManifest
from headwater.model.names import DatasetName
from headwater.runner import load
from headwater.runner.manifest import Manifest, Owner, Period

FULL = """
metadata:
  name: flights-clean
  namespace: flights
  version: 1.0.0
  owner: [data-platform, {name: ann, type: MAINTAINER}]
  description: Cleans the flights
  tags: {domain: travel}
run:
  kind: pyspark
  script: main.py
  args: ["--in", "${inputs.raw}", "--out", "${outputs.flights}", "--year", "${year}", "--raw", "$${year}"]
  conf: {spark.sql.shuffle.partitions: "4", spark.x: "${data}"}
parameters: {data: ./data, year: 2013, day: 2013-01-01, where: "${data}/deep", flag: yes}
period: {every: month, start: "${year}-02-01"}
heartbeat: 30
inputs:
  - {name: raw, type: csv, location: "${data}/raw/flights", description: Raw, classification: {pii: yes, sensitivity: internal}}
  - {name: events, type: kafka, servers: "k1:9092,k2:9092", topic: user-events, description: Events}
  - {name: orders, type: jdbc, url: "jdbc:postgresql://db/shop", table: orders, description: Orders}
outputs:
  - {name: flights, type: parquet, location: "${where}/flights/day=2013-01-01", description: Clean}
  - {name: cloud, type: parquet, location: "s3a://bucket/clean/", description: Clean}
  - {name: model, type: table, dataset: {namespace: "databricks://h", name: a.b.c}, description: A table}
"""


def problems(folder: Path, **params: str) -> list[dict[str, Any]]:
    with pytest.raises(InvalidManifest) as caught:
        load(folder, params, {})
    found = caught.value.detail["problems"]
    assert isinstance(found, list)
    for each in found:
        assert each["message"] in caught.value.message
    return found


def places(folder: Path, **params: str) -> list[tuple[int, int, str]]:
    return [(each["line"], each["column"], each["field"]) for each in problems(folder, **params)]


def test_a_full_manifest(package: Any) -> None:
    folder = package(FULL)
    manifest = load(folder, {}, {})
    assert isinstance(manifest, Manifest)
    data = f"{folder}/data"
    assert manifest.job == ("flights", "flights-clean")
    assert manifest.owners == (Owner("data-platform"), Owner("ann", "MAINTAINER"))
    assert manifest.tags == {"domain": "travel"}
    assert manifest.program.target == str(folder / "main.py")
    assert manifest.program.args == (
        "--in", f"{data}/raw/flights", "--out", f"{data}/deep/flights/day=2013-01-01", "--year", "2013", "--raw", "${year}",
    )  # fmt: skip
    assert manifest.program.conf == {"spark.sql.shuffle.partitions": "4", "spark.x": "./data"}
    assert manifest.parameters == {
        "data": "./data",
        "year": "2013",
        "day": "2013-01-01",
        "where": "./data/deep",
        "flag": "yes",
    }
    assert manifest.period == Period("month", "2013-02-01T00:00:00Z", "2013-03-01T00:00:00Z")
    assert manifest.heartbeat == 30
    assert [each.dataset for each in manifest.inputs] == [
        DatasetName("file", f"{data}/raw/flights"),
        DatasetName("kafka://k1:9092", "user-events"),
        DatasetName("postgres://db:5432", "shop.public.orders"),
    ]
    assert manifest.inputs[0].classification == {"pii": "true", "sensitivity": "internal"}
    assert [each.dataset for each in manifest.outputs] == [
        DatasetName("file", f"{data}/deep/flights"),
        DatasetName("s3://bucket", "clean"),
        DatasetName("databricks://h", "a.b.c"),
    ]
    assert manifest.names["inputs.events"] == "user-events"
    assert manifest.warnings == ()


def test_parameters_come_from_the_command_line_then_the_environment_then_the_file(package: Any) -> None:
    folder = package(FULL)
    assert load(folder, {}, {"HEADWATER_PARAM_YEAR": "2015"}).parameters["year"] == "2015"
    manifest = load(folder, {"year": "2016"}, {"HEADWATER_PARAM_YEAR": "2015"})
    assert manifest.parameters["year"] == "2016"
    assert manifest.period is not None
    assert manifest.period.start == "2016-02-01T00:00:00Z"


def test_the_environment_is_behind_the_parameters(package: Any) -> None:
    folder = package(
        """
        metadata: {name: a-b, namespace: n}
        run: {kind: python, script: main.py, args: ["${year}", "${ONLY_ENV}"]}
        parameters: {year: 1}
        """
    )
    assert load(folder, {}, {"year": "wrong", "ONLY_ENV": "yes"}).program.args == ("1", "yes")


def test_every_problem_at_once_each_with_its_place(package: Any) -> None:
    folder = package(
        """\
        metadata: {nam: x, namespace: flights}
        run:
          kind: pythn
          script: missing.py
          args: ["${inputs.rw}", [1]]
        parameters: {year: 1, need: null}
        heartbeat: often
        period: {every: fortnight, start: soon}
        extra: 1
        inputs:
          - {name: raw, type: csv, location: a, table: b}
        outputs:
          - {name: out, type: csv, location: a}
          - {name: out, type: csv, location: b}
          - text
        """
    )
    assert places(folder, unknown="1") == [
        (0, 0, "--param unknown"),
        (1, 1, "metadata.name"),
        (1, 12, "metadata.nam"),
        (3, 9, "run.kind"),
        (4, 11, "run.script"),
        (5, 10, "run.args[0]"),
        (5, 26, "run.args[1]"),
        (6, 29, "parameters.need"),
        (7, 12, "heartbeat"),
        (8, 1, "period"),
        (8, 17, "period.every"),
        (9, 1, "extra"),
        (11, 6, "inputs[0]"),
        (14, 12, "outputs[1].name"),
        (15, 5, "outputs[2]"),
    ]


def test_messages_say_what_to_do(package: Any) -> None:
    folder = package(
        """\
        metadata: {name: a, nmespace: b}
        run: {kind: sql, script: main.py, args: ["${inputs.rw}", "${open"]}
        inputs: [{name: raw, type: csv, location: x}]
        """
    )
    text = "\n".join(each["message"] for each in problems(folder))
    assert "did you mean 'namespace'?" in text
    assert "did you mean 'inputs.raw'?" in text
    assert "exactly one of: file" in text
    assert "not closed" in text


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("metadata: {name: a\nrun: [", 2, 4, "not YAML"),
        ("a: 1\n\tb: 2", 2, 1, "not YAML"),
        (b"a: caf\xe9", 1, 7, "not UTF-8: byte 0xe9"),
        (b"a: 1\nb: \x01", 2, 4, "not YAML"),
        ("", 0, 0, "is empty"),
        ("- 1\n- 2", 1, 1, "expected a mapping, got a list"),
        ("a: 1\n---\nb: 2", 2, 1, "not YAML"),
        ("x" * 1_000_001, 0, 0, "a manifest may have 1000000"),
        ("metadata: &m {a: *m}", 1, 11, "too large"),
        ("a: " + "[" * 3000, 0, 0, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_manifest(package: Any, text: str | bytes, line: int, column: int, said: str) -> None:
    found = problems(package(text))
    assert said in found[0]["message"]
    assert (found[0]["line"], found[0]["column"]) == (line, column)


def test_a_billion_laughs_stop_at_once(package: Any) -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "too large" in problems(package("\n".join(lines)))[0]["message"]


def test_duplicate_keys_and_circles(package: Any) -> None:
    folder = package(
        """\
        metadata: {name: a, namespace: b, name: c}
        run: {kind: python, script: main.py}
        parameters: {x: "${y}", y: "${x}"}
        """
    )
    found = problems(folder)
    assert found[0]["message"] == "is defined twice; the first is in line 1"
    assert "in a circle" in found[1]["message"]


def test_a_missing_folder(tmp_path: Path) -> None:
    assert problems(tmp_path / "nowhere") == [
        {
            "file": str(tmp_path / "nowhere" / "dk.yaml"),
            "line": 0,
            "column": 0,
            "field": "",
            "message": "no such file",
        }
    ]


@pytest.mark.parametrize("name", ["pipeline1", "test", "my-job-2", "untitled", "main"])
def test_names_that_say_nothing_are_warned_of(package: Any, name: str) -> None:
    manifest = load(
        package(f"metadata: {{name: {name}, namespace: default}}\nrun: {{kind: python, script: main.py}}"), {}, {}
    )
    assert [each.field for each in manifest.warnings] == [
        "metadata.name", "metadata.namespace", "metadata.description", "metadata.owner", "outputs",
    ]  # fmt: skip
    assert manifest.warnings[0].column == 18


@pytest.mark.parametrize("name", ["user-events-to-s3-parquet", "testing-results", "flights-clean"])
def test_names_that_say_something_are_not(package: Any, name: str) -> None:
    manifest = load(
        package(f"metadata: {{name: {name}, namespace: analytics}}\nrun: {{kind: python, script: main.py}}"), {}, {}
    )
    assert "metadata.name" not in [each.field for each in manifest.warnings]


@pytest.mark.parametrize(
    ("every", "start", "end"),
    [
        ("hour", "2013-01-31T23:00:00Z", "2013-02-01T00:00:00Z"),
        ("day", "2012-02-29T00:00:00Z", "2012-03-01T00:00:00Z"),
        ("week", "2013-12-30T00:00:00Z", "2014-01-06T00:00:00Z"),
        ("month", "2013-12-01T00:00:00Z", "2014-01-01T00:00:00Z"),
        ("year", "2012-01-01T00:00:00Z", "2013-01-01T00:00:00Z"),
    ],
)
def test_a_period_without_an_end_is_one_step(package: Any, every: str, start: str, end: str) -> None:
    text = f"metadata: {{name: a-b, namespace: n}}\nrun: {{kind: python, script: main.py}}\nperiod: {{every: {every}, start: '{start}'}}"
    assert load(package(text), {}, {}).period == Period(every, start, end)


@given(st.text(max_size=60))
@settings(max_examples=full(150, 50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_crashes_the_reader(package: Any, text: str) -> None:
    """Any file yields a manifest or InvalidManifest."""
    document = f"metadata: {{name: a, namespace: b}}\nrun: {{kind: python, script: main.py}}\n{text}"
    try:
        load(package(document.encode("utf-8", "surrogatepass")), {}, {})
    except InvalidManifest as error:
        found = error.detail["problems"]
    else:
        return
    assert found
