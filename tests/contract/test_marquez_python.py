"""Every reading method of marquez-python 0.50 against a real server."""

import json
import urllib.request
import warnings
from typing import Any

import pytest
from tests.events import RUN, columns, dataset, encoded, facet, parent, run_event, schema

with warnings.catch_warnings():
    # The client's own: packages it imports, and docstrings with escapes that Python no longer likes.
    warnings.simplefilter("ignore")
    from marquez_client import MarquezClient
    from marquez_client.errors import APIError

# The client marks some of its own methods as deprecated.
pytestmark = pytest.mark.filterwarnings("ignore")

NS = "s3://lake:9000"


@pytest.fixture
def marquez(server_url: str) -> Any:
    """A client of a server with two runs of a job in `NS`: from `in` to `out`, column by column."""
    made = dataset("out", NS, **schema("a", "b"), **columns({"a": [("/raw", "x", "DIRECT:IDENTITY")]}))
    source = dataset(
        "/raw", dataSource=facet(name="disk", uri="file:///"), tags=facet(tags=[{"key": "raw", "value": "true"}])
    )
    for number in (1, 2):
        for kind, minute in (("START", 0), ("COMPLETE", 5)):
            event = run_event(
                kind, number, "load", [source], [made], namespace=NS, at=f"2026-01-0{number}T00:0{minute}:00Z",
                run_facets=parent(7, "nightly", NS),
            )  # fmt: skip
            request = urllib.request.Request(f"{server_url}/api/v1/lineage", encoded(event), method="POST")
            with urllib.request.urlopen(request) as reply:
                assert reply.status == 201
                json.load(reply)
    return MarquezClient(url=server_url)


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in found]


def test_namespaces(marquez: Any) -> None:
    assert marquez.get_namespace(NS)["ownerName"] == "anonymous"
    assert names(marquez.list_namespaces()["namespaces"]) == ["default", "file", NS]
    assert names(marquez.list_namespaces(limit=1, offset=2)["namespaces"]) == [NS]


def test_events(marquez: Any) -> None:
    reply = marquez.list_events()
    assert (len(reply["events"]), reply["totalCount"]) == (4, 4)
    assert marquez.list_events(NS, limit=3)["totalCount"] == 4
    assert marquez.list_events("unknown") == {"events": [], "totalCount": 0}


def test_sources(marquez: Any) -> None:
    assert marquez.get_source("disk")["connectionUrl"] == "file:///"
    assert names(marquez.list_sources()["sources"]) == ["default", "disk"]


def test_datasets(marquez: Any) -> None:
    one = marquez.get_dataset(NS, "out")
    assert names(one["fields"]) == ["a", "b"]
    assert one["columnLineage"][0]["inputFields"][0]["dataset"] == "/raw"
    assert marquez.list_datasets(NS) == {"datasets": [one], "totalCount": 1}
    assert marquez.get_dataset("file", "/raw")["tags"] == ["raw"]


def test_versions_of_datasets(marquez: Any) -> None:
    reply = marquez.list_dataset_versions(NS, "out")
    assert reply["totalCount"] == 2
    for one in reply["versions"]:
        assert marquez.get_dataset_version(NS, "out", one["version"]) == one
    assert marquez.list_dataset_versions(NS, "out", limit=1, offset=1)["versions"] == reply["versions"][1:]


def test_jobs(marquez: Any) -> None:
    # Asked by its own name the client is sent on to the full one.
    assert marquez.get_job(NS, "load")["name"] == marquez.get_job(NS, "nightly.load")["name"] == "nightly.load"
    assert sorted(names(marquez.list_jobs(NS)["jobs"])) == ["nightly", "nightly.load"]
    assert marquez.list_jobs(NS, limit=1)["totalCount"] == 2


def test_runs(marquez: Any) -> None:
    reply = marquez.list_job_runs(NS, "nightly.load")
    assert ([one["id"] for one in reply["runs"]], reply["totalCount"]) == ([RUN.format(2), RUN.format(1)], 2)
    one = marquez.get_job_run(RUN.format(2))
    assert (one["state"], one["durationMs"], one["args"]["name"]) == ("COMPLETED", 300_000, "nightly")
    assert one == reply["runs"][0]


def ids(reply: dict[str, Any]) -> set[str]:
    return {one["id"] for one in reply["graph"]}


def test_column_lineage(marquez: Any) -> None:
    both = {"datasetField:file:/raw:x", f"datasetField:{NS}:out:a"}
    assert ids(marquez.get_column_lineage_by_dataset(NS, "out")) == both
    assert ids(marquez.get_column_lineage_by_dataset_field(NS, "out", "a", depth=1)) == both
    assert ids(marquez.get_column_lineage_by_dataset_field("file", "/raw", "x", with_downstream=True)) == both
    assert ids(marquez.get_column_lineage_by_job(NS, "nightly.load")) == both
    version = marquez.get_dataset(NS, "out")["currentVersion"]
    assert f"datasetField:{NS}:out:a#{version}" in ids(
        marquez.get_column_lineage_by_dataset(NS, "out", version=version)
    )


def test_tags(marquez: Any) -> None:
    assert names(marquez.list_tags()["tags"]) == ["PII", "SENSITIVE", "raw"]
    assert names(marquez.list_tags(limit=1, offset=2)["tags"]) == ["raw"]


def test_what_is_not_there_raises(marquez: Any) -> None:
    for ask in (
        lambda: marquez.get_namespace("none"),
        lambda: marquez.get_dataset(NS, "none"),
        lambda: marquez.get_job(NS, "none"),
        lambda: marquez.get_source("none"),
        lambda: marquez.get_job_run(RUN.format(99)),
        lambda: marquez.get_column_lineage_by_dataset(NS, "none"),
    ):
        with pytest.raises(APIError):
            ask()
