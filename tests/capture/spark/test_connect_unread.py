"""Commands of a Spark Connect client that are read in part, or not: the run or the application says so."""

from typing import Any

import pytest
from pyspark.sql.connect.proto import base_pb2, commands_pb2, relations_pb2

from conftest import Kept
from headwater.capture.spark.application import Application
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect import commands
from headwater.capture.spark.connect.collector import Collector
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import Located, Sources
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset


class Client:
    _session_id = "one"


class Silent:
    """A server that tells no columns."""

    def schema(self, relation: Any) -> list[dict[str, Any]]:
        raise NoAnswer("not asked here")


def collected(command: commands_pb2.Command) -> Coverage:
    """Return what the application says of a command."""
    application = Application(Kept(), "test", "app", "4.3.0", {})
    Collector(application, Config(), {}).take("start", Request(Client(), base_pb2.Plan(command=command), 0))
    return application.coverage


@pytest.mark.since("4.1")
def test_a_pipeline_that_runs_is_said() -> None:
    command = commands_pb2.Command()
    command.pipeline_command.define_flow.flow_name = "one"
    assert collected(command).unseen == []
    command.pipeline_command.start_run.dataflow_graph_id = "graph"
    (one,) = collected(command).unseen
    assert "pipeline" in one.why


@pytest.mark.since("4.0")
def test_a_model_that_is_saved_is_said() -> None:
    command = commands_pb2.Command()
    command.ml_command.fetch.SetInParent()
    assert collected(command).unseen == []
    command.ml_command.write.SetInParent()
    (one,) = collected(command).unseen
    assert "model" in one.why


@pytest.mark.since("4.0")
def test_merge_into_names_its_target_and_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def located(self: Any, parts: list[str]) -> Located:
        return Located(Dataset("file", f"/lake/{parts[-1]}", []), [], ["id"])

    monkeypatch.setattr(Sources, "table", located)
    command = commands_pb2.Command()
    command.merge_into_table_command.target_table_name = "people"
    source = relations_pb2.Relation()
    source.read.named_table.unparsed_identifier = "changes"
    command.merge_into_table_command.source_table_plan.CopyFrom(source)
    found = commands.effect(command, Sources(Silent(), Coverage()))  # type: ignore[arg-type]
    assert found is not None
    assert found.analysis is not None
    assert found.write.target is not None
    assert found.write.target.name == "/lake/people"
    assert sorted(one.name for one in found.analysis.inputs) == ["/lake/changes", "/lake/people"]
    assert commands.MERGED in found.analysis.warnings
