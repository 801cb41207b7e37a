"""The datasets of packages by environment: written once, and read by each package that names them."""

from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidManifest
from headwater.model.names import DatasetName
from headwater.runner import load

# The blocks of seed 003, put together as one file: metadata, inputs, outputs, and no place of anything.
PRINTED = """
metadata:
  name: user-events-to-s3-parquet
  namespace: analytics
inputs:
  - name: user-events
    type: kafka-topic
    description: "Real-time user behavior events from web app"
outputs:
  - name: customer-data
    classification:
      pii: true
      sensitivity: confidential
"""
BINDINGS = """
dev:
  user-events: {servers: "localhost:9092", topic: user-events}
  customer-data: data/customers
prod:
  user-events: {type: kafka-topic, servers: "kafka.prod:9092,kafka2.prod:9092", topic: production/user-events}
  customer-data: {type: parquet, location: "s3://analytics-bucket/processed/"}
"""


def datasets(folder: Path, environment: str | None = None) -> list[tuple[str, str]]:
    manifest = load(folder, {}, {}, environment)
    return [(each.dataset.namespace, each.dataset.name) for each in (*manifest.inputs, *manifest.outputs)]


def problems(folder: Path, environment: str | None = None, environ: dict[str, str] | None = None) -> list[Any]:
    with pytest.raises(InvalidManifest) as caught:
        load(folder, {}, environ or {}, environment)
    found: list[Any] = caught.value.detail["problems"]
    return found


def test_a_manifest_as_printed_is_read_without_a_place_and_without_a_program_named(package: Any) -> None:
    manifest = load(package(PRINTED), {}, {})
    assert (manifest.program.kind, Path(manifest.program.target).name) == ("python", "main.py")
    assert manifest.inputs[0].type == "kafka-topic"
    assert manifest.outputs[0].classification == {"pii": "true", "sensitivity": "confidential"}
    assert [each.dataset for each in (*manifest.inputs, *manifest.outputs)] == [
        DatasetName("analytics", "user-events"), DatasetName("analytics", "customer-data"),
    ]  # fmt: skip
    warned = [each.message for each in manifest.warnings if "no binding" in each.message]
    assert len(warned) == 2


def test_the_environment_says_where_they_are(package: Any) -> None:
    folder = package(PRINTED)
    (folder / "bindings.yaml").write_text(BINDINGS)
    assert datasets(folder, "dev") == [
        ("kafka://localhost:9092", "user-events"), ("file", str(folder / "data/customers"))
    ]  # fmt: skip
    assert datasets(folder, "prod") == [
        ("kafka://kafka.prod:9092", "production/user-events"), ("s3://analytics-bucket", "processed"),
    ]  # fmt: skip
    manifest = load(folder, {}, {"HEADWATER_ENVIRONMENT": "prod"})
    assert (manifest.environment, manifest.outputs[0].type) == ("prod", "parquet")
    assert not [each for each in manifest.warnings if "no binding" in each.message]


def test_no_environment_is_chosen_by_guess(package: Any) -> None:
    folder = package(PRINTED)
    (folder / "bindings.yaml").write_text(BINDINGS)
    assert [each["message"] for each in problems(folder)] == [
        "has 2 environments: choose one with --env or HEADWATER_ENVIRONMENT: dev, prod"
    ]
    (found,) = problems(folder, "prd")
    assert found["message"] == "has no environment 'prd'; did you mean 'prod'?"
    assert found["file"] == str(folder / "bindings.yaml")
    (folder / "bindings.yaml").write_text(BINDINGS.partition("prod:")[0])
    assert datasets(folder)[0] == ("kafka://localhost:9092", "user-events")


def test_one_file_binds_all_packages_below_it_and_paths_are_its_own(tmp_path: Path, package: Any) -> None:
    folder = package(PRINTED)
    (tmp_path / "bindings.yaml").write_text("local: {customer-data: lake/customers}")
    assert datasets(folder)[1] == ("file", str(tmp_path / "lake/customers"))
    (folder / ".git").mkdir()  # another repository: what is above it is not its own
    assert datasets(folder)[1] == ("analytics", "customer-data")


def test_a_dataset_may_have_another_name_in_the_bindings_or_a_place_of_its_own(package: Any) -> None:
    folder = package(
        """
        metadata: {name: clean-flights, namespace: flights}
        bindings: {local: {lake.raw: data/raw, flights: data/elsewhere}}
        inputs: [{name: raw, binding: lake.raw}]
        outputs: [{name: flights, location: out/flights}]
        run: {kind: python, script: main.py, args: ["${inputs.raw}"]}
        """
    )
    assert datasets(folder) == [("file", str(folder / "data/raw")), ("file", str(folder / "out/flights"))]
    assert load(folder, {}, {}).program.args == (str(folder / "data/raw"),)


@pytest.mark.parametrize(
    ("inputs", "field", "message"),
    [
        ("{name: raw, binding: lake.row}", "inputs[0].binding", "'lake.row' is not bound in dev of"),
        ("{name: only_prod}", "inputs[0].name", "'only_prod' is bound in prod and not in dev; add it to dev in"),
        (
            "{name: raw, binding: lake.raw, location: x}",
            "inputs[0].binding",
            "excludes location; give only one of them",
        ),
        ("{name: twofold}", "bindings.dev.twofold", "needs exactly one of: location"),
    ],
)
def test_references_that_match_nothing(package: Any, inputs: str, field: str, message: str) -> None:
    folder = package(
        f"""
        metadata: {{name: clean-flights, namespace: flights}}
        bindings:
          dev: {{lake.raw: data/raw, twofold: {{location: a, servers: "k:9092", topic: b}}}}
          prod: {{only_prod: x}}
        inputs: [{inputs}]
        """
    )
    (found,) = problems(folder, "dev")
    assert found["field"] == field
    assert message in found["message"]


def test_a_name_that_nothing_binds_where_there_are_no_bindings(package: Any) -> None:
    folder = package("metadata: {name: clean-flights, namespace: flights}\ninputs: [{name: raw, binding: lake.raw}]")
    (found,) = problems(folder)
    assert (
        found["message"]
        == "'lake.raw' is bound nowhere: add bindings.yaml beside the package, or `bindings` to this file"
    )
