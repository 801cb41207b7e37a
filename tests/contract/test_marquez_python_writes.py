"""Every writing method of marquez-python 0.50 against a real server."""

import uuid
import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    # The client's own: packages it imports, and docstrings with escapes that Python no longer likes.
    warnings.simplefilter("ignore")
    from marquez_client import MarquezClient
    from marquez_client.errors import APIError
    from marquez_client.models import DatasetId, DatasetType, JobType

# The client marks its own methods as deprecated; that they still work is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore")

NS = "s3://lake:9000"


@pytest.fixture
def marquez(server_url: str) -> Any:
    return MarquezClient(url=server_url)


@pytest.fixture
def told(marquez: Any) -> Any:
    """A namespace, a source and two datasets."""
    marquez.create_namespace(NS, "ops", description="the lake")
    marquez.create_source("lake", "postgresql", "jdbc:postgresql://db:5432/lake", description="all of it")
    for name in ("public.t", "public.u"):
        marquez.create_dataset(
            NS, name, DatasetType.DB_TABLE, name, "lake", description="a table", tags=["PII"],
            fields=[{"name": "id", "type": "INTEGER", "description": "the key", "tags": ["KEY"]}],
        )  # fmt: skip
    return marquez


def test_create_namespace(marquez: Any) -> None:
    made = marquez.create_namespace(NS, "ops", description="the lake")
    assert (made["name"], made["ownerName"], made["description"]) == (NS, "ops", "the lake")
    assert marquez.get_namespace(NS) == made
    assert NS in [one["name"] for one in marquez.list_namespaces()["namespaces"]]


def test_create_source(told: Any) -> None:
    made = told.get_source("lake")
    assert (made["type"], made["connectionUrl"]) == ("POSTGRESQL", "jdbc:postgresql://db:5432/lake")
    assert made in told.list_sources()["sources"]


def test_create_dataset(told: Any) -> None:
    made = told.get_dataset(NS, "public.t")
    assert (made["sourceName"], made["tags"], made["fields"][0]["tags"]) == ("lake", ["PII"], ["KEY"])
    assert told.list_datasets(NS)["totalCount"] == 2
    (version,) = told.list_dataset_versions(NS, "public.t")["versions"]
    assert told.get_dataset_version(NS, "public.t", version["version"])["fields"][0]["name"] == "id"


def test_create_a_stream(told: Any) -> None:
    made = told.create_dataset(
        NS, "topic", DatasetType.STREAM, "topic", "lake", schema_location="http://registry:8081/1"
    )
    assert (made["type"], made["schemaLocation"]) == ("STREAM", "http://registry:8081/1")


def test_create_tag_and_tag(told: Any) -> None:
    assert told.create_tag("SENSITIVE", "be careful") == {"name": "SENSITIVE", "description": "be careful"}
    assert told.create_tag("plain") == {"name": "plain", "description": None}
    assert told.tag_dataset(NS, "public.t", "SENSITIVE")["tags"] == ["PII", "SENSITIVE"]
    assert told.tag_dataset_field(NS, "public.t", "id", "SENSITIVE")["fields"][0]["tags"] == ["KEY", "SENSITIVE"]
    assert {"SENSITIVE", "plain", "KEY"} <= {one["name"] for one in told.list_tags()["tags"]}


def test_create_job_and_its_runs(told: Any) -> None:
    sides = {"inputs": [DatasetId(NS, "public.t")], "outputs": [DatasetId(NS, "public.u")]}
    job = told.create_job(NS, "etl", JobType.BATCH, location="https://git.example.org/x", description="d", **sides)
    assert job["inputs"] == [{"namespace": NS, "name": "public.t"}]
    run_id = str(uuid.uuid4())
    run = told.create_job_run(
        NS, "etl", run_id=run_id, nominal_start_time="2026-01-01T00:00:00Z", nominal_end_time="2026-01-01T01:00:00Z",
        run_args={"email": "me@example.org"},
    )  # fmt: skip
    assert (run["id"], run["state"], run["args"]["email"]) == (run_id, "NEW", "me@example.org")
    assert told.mark_job_run_as_started(run_id)["state"] == "RUNNING"
    assert told.create_job(NS, "etl", JobType.BATCH, run_id=run_id, **sides)["latestRun"]["id"] == run_id
    made = told.create_dataset(NS, "public.u", DatasetType.DB_TABLE, "public.u", "lake", run_id=run_id)
    assert made["name"] == "public.u"
    assert told.mark_job_run_as_completed(run_id)["state"] == "COMPLETED"
    assert told.get_job_run(run_id)["state"] == "COMPLETED"
    assert told.list_job_runs(NS, "etl")["totalCount"] == 1
    assert told.get_job(NS, "etl")["latestRun"]["state"] == "COMPLETED"
    assert [one["name"] for one in told.list_jobs(NS)["jobs"]] == ["etl"]


def test_runs_that_end_otherwise(told: Any) -> None:
    told.create_job(NS, "etl", JobType.STREAM, inputs=[DatasetId(NS, "public.t")])
    failed = told.create_job_run(NS, "etl", mark_as_running=True)
    assert failed["state"] == "RUNNING"
    assert told.mark_job_run_as_failed(failed["id"])["state"] == "FAILED"
    aborted = told.create_job_run(NS, "etl")
    assert told.mark_job_run_as_aborted(aborted["id"], at="2026-01-01T00:00:00Z")["state"] == "ABORTED"


def test_what_is_refused_is_an_error_of_the_client(told: Any) -> None:
    with pytest.raises(APIError):
        told.create_dataset("none", "t", DatasetType.DB_TABLE, "t", "lake")
    with pytest.raises(APIError):
        told.create_job_run(NS, "none")
    with pytest.raises(APIError):
        told.mark_job_run_as_started(str(uuid.uuid4()))
    with pytest.raises(APIError):
        told.tag_dataset_field(NS, "public.t", "none", "PII")
