"""Commands of a Spark Connect client that are read in part, or not: the run or the application says so."""

import logging

import pytest
from pyspark.sql.connect.proto import base_pb2, commands_pb2

from conftest import Kept
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import Write
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect.collector import NO_COUNTS, NO_VERSION_LEFT, NO_VERSIONS, Collector
from headwater.capture.spark.connect.commands import Effect
from headwater.capture.spark.connect.models import ModelNotes
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.datasets import Dataset, Leaves


class Client:
    _session_id = "one"


def collected(command: commands_pb2.Command) -> Coverage:
    """Return what the application says of a command."""
    application = Application(Kept(), "test", "app", "4.3.0", {})
    Collector(application, Config(), {}).take("start", Request(Client(), base_pb2.Plan(command=command), 0))
    return application.coverage


def warnings_of_end(read: Dataset) -> list[str]:
    """Return what the end of a run that reads a dataset warns of."""
    kept = Kept()
    collector = Collector(Application(kept, "test", "app", "4.3.0", {}), Config(), {})
    effect = Effect(Write(Dataset("file", "/out", [])), Analysis(Leaves({"1": [read]})))
    request = Request(Client(), base_pb2.Plan(), 0)
    collector._close(request, collector._query(request, effect))
    found: list[str] = kept.events[-1]["run"]["facets"]["headwater_warnings"]["warnings"]
    return found


def test_a_version_that_is_not_known_is_said() -> None:
    assert warnings_of_end(Dataset("file", "/t", [])) == [NO_COUNTS]
    assert warnings_of_end(Dataset("file", "/t", [], layer="delta", current=False)) == [NO_COUNTS, NO_VERSIONS]
    assert warnings_of_end(Dataset("file", "/t", [], layer="delta", version="3")) == [NO_COUNTS]


@pytest.mark.since("4.0")
def test_a_model_that_is_saved_is_said() -> None:
    command = commands_pb2.Command()
    command.ml_command.fetch.SetInParent()
    assert collected(command).unseen == []
    command.ml_command.write.path = "file:/models/clusters"
    command.ml_command.write.operator.name = "org.apache.spark.ml.clustering.KMeans"  # not fitted: no model
    assert collected(command).unseen == []
    command.ml_command.write.obj_ref.id = "one"
    (one,) = collected(command).unseen
    assert "model" in one.why


def test_other_data_in_the_folder_of_a_model_is_reported() -> None:
    notes, model = ModelNotes(), Dataset("file", "/models/clusters", [])
    notes.note_place(model)
    part, beside = Dataset("file", "/models/clusters/stages", []), Dataset("file", "/models/clusters2", [])
    assert [notes.is_inside(one) for one in (model, part, beside)] == [False, True, False]
    assert [notes.is_model(one) for one in (model, part, beside)] == [True, True, False]


@pytest.mark.parametrize(("is_overtaken", "logged"), [(True, 0), (False, 1)])
def test_a_version_of_a_table_that_is_gone_again(
    is_overtaken: bool, logged: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise NoAnswer("[TABLE_OR_VIEW_NOT_FOUND] ice.db.c.snapshots")

    kept, client = Kept(), Client()
    collector = Collector(Application(kept, "test", "app", "4.3.0", {}), Config(), {})
    sources = collector.sources(client)
    sources.is_overtaken = lambda: is_overtaken
    monkeypatch.setattr(sources.versions, "left", refuse)
    effect = Effect(Write(Dataset("file", "/t", [], layer="iceberg")), Analysis(Leaves()))
    request = Request(client, base_pb2.Plan(), 0)
    with caplog.at_level(logging.WARNING, "headwater"):
        collector._close(request, collector._query(request, effect))
    assert len(caplog.records) == logged
    warnings = kept.events[-1]["run"]["facets"]["headwater_warnings"]["warnings"]
    assert (NO_VERSION_LEFT in warnings) == is_overtaken
