"""Commands of a Spark Connect client that are read in part, or not: the run or the application says so."""

import pytest
from pyspark.sql.connect.proto import base_pb2, commands_pb2

from conftest import Kept
from headwater.capture.spark.application import Application
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect.collector import Collector
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.coverage import Coverage


class Client:
    _session_id = "one"


def collected(command: commands_pb2.Command) -> Coverage:
    """Return what the application says of a command."""
    application = Application(Kept(), "test", "app", "4.3.0", {})
    Collector(application, Config(), {}).take("start", Request(Client(), base_pb2.Plan(command=command), 0))
    return application.coverage


@pytest.mark.since("4.0")
def test_a_model_that_is_saved_is_said() -> None:
    command = commands_pb2.Command()
    command.ml_command.fetch.SetInParent()
    assert collected(command).unseen == []
    command.ml_command.write.SetInParent()
    (one,) = collected(command).unseen
    assert "model" in one.why
