"""Commands of a Spark Connect client that are read in part, or not: the run or the application says so."""

import pytest
from pyspark.sql.connect.proto import base_pb2, commands_pb2

from conftest import Kept
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import Write
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect.collector import NO_COUNTS, NO_VERSIONS, Collector
from headwater.capture.spark.connect.commands import Effect
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset, Leaves


class Client:
    _session_id = "one"


def collected(command: commands_pb2.Command) -> Coverage:
    """Return what the application says of a command."""
    application = Application(Kept(), "test", "app", "4.3.0", {})
    Collector(application, Config(), {}).take("start", Request(Client(), base_pb2.Plan(command=command), 0))
    return application.coverage


def test_a_version_that_is_not_known_is_said() -> None:
    collector = Collector(Application(Kept(), "test", "app", "4.3.0", {}), Config(), {})

    def warnings(layer: str) -> list[str]:
        read = Dataset("file", "/t", [], layer=layer)
        effect = Effect(Write(Dataset("file", "/out", [])), Analysis(Leaves({"1": [read]})))
        query = collector._query(Request(Client(), base_pb2.Plan(), 0), effect)
        assert query.analysis is not None
        return query.analysis.warnings

    assert warnings("") == [NO_COUNTS]
    assert warnings("delta") == [NO_COUNTS, NO_VERSIONS]


@pytest.mark.since("4.0")
def test_a_model_that_is_saved_is_said() -> None:
    command = commands_pb2.Command()
    command.ml_command.fetch.SetInParent()
    assert collected(command).unseen == []
    command.ml_command.write.SetInParent()
    (one,) = collected(command).unseen
    assert "model" in one.why
