"""Pipelines whose server says little: what the messages of the client alone tell of their flows."""

from typing import Any

import pytest

from conftest import Kept
from headwater.capture.spark.application import Application
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect.collector import Collector
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer, Server
from headwater.capture.spark.connect.sources import Located, Sources
from headwater.capture.spark.datasets import Dataset

pytestmark = pytest.mark.since("4.1")


class Client:
    _session_id = "one"


class Created:
    """The answer to the creation of a graph."""

    class create_dataflow_graph_result:
        dataflow_graph_id = "graph"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    def schema(self: Any, relation: Any) -> list[dict[str, Any]]:
        if relation.WhichOneof("rel_type") == "range":
            return [{"name": "id", "type": "long"}]
        raise NoAnswer("not asked here")

    def table(self: Any, parts: list[str]) -> Located:
        return Located(Dataset("file", f"/lake/{parts[-1]}", []), parts, ["id"])

    monkeypatch.setattr(Server, "schema", schema)
    monkeypatch.setattr(Sources, "table", table)
    emitter = Kept()
    made = Collector(Application(emitter, "test", "app", "4.3.0", {}), Config(), {})
    ask(made, "create_dataflow_graph", default_database="shop")
    ask(made, "define_output", dataflow_graph_id="graph", output_name="numbers", output_type=1)
    ask(made, "define_output", dataflow_graph_id="graph", output_name="copies", output_type=1)
    for name, reads in (("numbers", ""), ("copies", "numbers")):
        message: dict[str, Any] = {"range": {"start": 0, "end": 3, "step": 1}}
        if reads:
            message = {"read": {"named_table": {"unparsed_identifier": reads}}}
        details = {"relation": message}
        ask(
            made, "define_flow", dataflow_graph_id="graph", flow_name=name, target_dataset_name=name, relation_flow_details=details
        )  # fmt: skip
    emitter.events.clear()
    return made


def ask(
    collector: Collector, kind: str, *, said: tuple[str, ...] = (), failure: BaseException | None = None, **fields: Any
) -> None:
    """Let the collector see a command of a pipeline, from its start to its end."""
    from google.protobuf.json_format import ParseDict
    from pyspark.sql.connect.proto import base_pb2, pipelines_pb2

    plan = base_pb2.Plan()
    ParseDict({kind: fields}, plan.command.pipeline_command)
    request = Request(Client(), plan, 1_000, ended=9_000)
    collector.take("start", request)
    request.said = []
    for second, message in enumerate(said, 2):
        event = pipelines_pb2.PipelineEvent(message=message)
        event.timestamp.FromSeconds(second)
        request.said.append(event)
        collector.take("said", request)
    if kind == "create_dataflow_graph":
        request.answers = {"pipeline_command_result": Created}
    request.failure = failure
    collector.take("end", request)


def told(collector: Collector) -> list[tuple[str, str, str, list[str]]]:
    """The events of flows: kind, time, output and inputs."""
    events: list[dict[str, Any]] = collector.application.emitter.events  # type: ignore[attr-defined]
    return [
        (one["eventType"], one["eventTime"][17:19], one["outputs"][0]["name"], [each["name"] for each in one["inputs"]])
        for one in events
        if one["outputs"]
    ]


def test_each_flow_runs_when_the_server_says_so(collector: Collector) -> None:
    said = (
        "Flow spark_catalog.shop.numbers is RUNNING.",
        "Flow spark_catalog.shop.numbers has COMPLETED.",
        "Flow spark_catalog.shop.copies is SKIPPED.",
    )
    ask(collector, "start_run", dataflow_graph_id="graph", said=said)
    assert told(collector) == [("START", "02", "/lake/numbers", []), ("COMPLETE", "03", "/lake/numbers", [])]


def test_flows_end_with_a_pipeline_whose_server_words_it_otherwise(collector: Collector) -> None:
    ask(collector, "start_run", dataflow_graph_id="graph", said=("numbers: done",))
    assert told(collector) == [
        ("START", "01", "/lake/numbers", []),
        ("START", "01", "/lake/copies", ["/lake/numbers"]),
        ("COMPLETE", "09", "/lake/numbers", []),
        ("COMPLETE", "09", "/lake/copies", ["/lake/numbers"]),
    ]


def test_a_flow_that_runs_fails_with_its_pipeline(collector: Collector) -> None:
    said = ("Flow spark_catalog.shop.copies is RUNNING.",)
    ask(collector, "start_run", dataflow_graph_id="graph", said=said, failure=RuntimeError("gone"))
    assert [kind for kind, *_ in told(collector)] == ["START", "FAIL"]


def test_a_dry_run_writes_nothing(collector: Collector) -> None:
    ask(
        collector,
        "start_run",
        dataflow_graph_id="graph",
        dry=True,
        said=("Flow spark_catalog.shop.numbers is RUNNING.",),
    )
    assert told(collector) == []


def test_a_pipeline_that_was_defined_before_is_said(collector: Collector) -> None:
    ask(collector, "start_run", dataflow_graph_id="another")
    (one,) = collector.application.coverage.unseen
    assert "before" in one.why
