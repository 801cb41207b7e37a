"""Events as dicts: the spelling of OpenLineage 2-0-2, checked against the official client's own model."""

import threading
import time
import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent

from headwater.client import event


def test_a_run_event_has_what_the_specification_requires() -> None:
    run_id = event.run_id()
    made = event.run(
        "START",
        run_id=run_id,
        job=("ns", "name"),
        inputs=[event.dataset("file", "/a")],
        event_time="2026-01-01T00:00:00Z",
    )
    assert made == {
        "eventType": "START",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": run_id, "facets": {}},
        "job": {"namespace": "ns", "name": "name", "facets": {}},
        "inputs": [{"namespace": "file", "name": "/a", "facets": {}}],
        "outputs": [],
        "producer": event.PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


def test_the_official_client_reads_our_run_event() -> None:
    made = event.run(
        "COMPLETE", run_id=event.run_id(), job=("ns", "n"), outputs=[event.dataset("file", "/o", output_facets={})]
    )
    read = RunEvent(
        eventTime=made["eventTime"],
        run=Run(**made["run"]),
        job=Job(**made["job"]),
        eventType=made["eventType"],
        inputs=[InputDataset(**d) for d in made["inputs"]],
        outputs=[OutputDataset(**d) for d in made["outputs"]],
        producer=made["producer"],
    )
    assert read.schemaURL.endswith("2-0-2/OpenLineage.json#/$defs/RunEvent")


def test_job_and_dataset_events_carry_no_run() -> None:
    job = event.job(("ns", "n"), outputs=[event.dataset("file", "/o")])
    assert "run" not in job
    assert "eventType" not in job
    assert job["schemaURL"].endswith("/JobEvent")
    dataset = event.dataset_event("file", "/o", facets={"x": event.facet("headwater_x")})
    assert dataset["dataset"]["facets"]["x"]["_schemaURL"] == "https://headwater.dev/schema/1-0-0/headwater_x.json"
    assert dataset["schemaURL"].endswith("/DatasetEvent")


@pytest.mark.parametrize(
    "made",
    [
        event.facet("ParentRunFacet/1-1-0", run={}),
        event.facet("ParentRunFacet", "1-1-0", run={}),
    ],
)
def test_a_facet_names_its_schema(made: dict[str, object]) -> None:
    assert made["_producer"] == event.PRODUCER
    assert made["_schemaURL"] == "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet"
    assert made["run"] == {}


def test_a_facet_may_have_a_field_version_and_needs_a_known_schema() -> None:
    assert event.processing_engine("spark", "4.0.0")["version"] == "4.0.0"
    with pytest.raises(ValueError, match="NobodysFacet"):
        event.facet("NobodysFacet")


def test_schema_urls_are_those_the_official_client_writes() -> None:
    from openlineage.client.generated import (
        error_message_run,
        job_type_job,
        nominal_time_run,
        output_statistics_output_dataset,
        ownership_job,
        parent_run,
        processing_engine_run,
        schema_dataset,
        source_code_location_job,
        tags_dataset,
    )

    known = {
        "parent": (event.parent("r", ("a", "b")), parent_run.ParentRunFacet),
        "error": (event.error_message("m"), error_message_run.ErrorMessageRunFacet),
        "type": (event.job_type("BATCH", "X", "Y"), job_type_job.JobTypeJobFacet),
        "nominal": (event.nominal_time("2026-01-01T00:00:00Z"), nominal_time_run.NominalTimeRunFacet),
        "out": (event.output_statistics(rows=1), output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet),
        "owner": (event.ownership([("a", None)]), ownership_job.OwnershipJobFacet),
        "engine": (event.processing_engine("spark", "4"), processing_engine_run.ProcessingEngineRunFacet),
        "schema": (event.schema([]), schema_dataset.SchemaDatasetFacet),
        "code": (event.source_code_location("git", "u"), source_code_location_job.SourceCodeLocationJobFacet),
        "tags": (event.tags({"a": "b"}, "s"), tags_dataset.TagsDatasetFacet),
    }
    for name, (ours, theirs) in known.items():
        assert ours["_schemaURL"] == theirs._get_schema(), name


def test_times_are_utc_with_z() -> None:
    moment = datetime(2026, 1, 1, 2, 0, tzinfo=timezone(timedelta(hours=2)))
    assert event.timestamp(moment) == "2026-01-01T00:00:00.000000Z"
    assert event.timestamp(datetime(2026, 1, 1)) == "2026-01-01T00:00:00.000000Z"  # noqa: DTZ001
    assert event.timestamp().endswith("Z")
    assert abs(datetime.fromisoformat(event.timestamp()) - datetime.now(UTC)) < timedelta(seconds=5)


@given(st.integers(1, 300))
def test_run_ids_are_uuid7_and_increase(count: int) -> None:
    ids = [event.run_id() for _ in range(count)]
    assert ids == sorted(set(ids))
    parsed = [uuid.UUID(value) for value in ids]
    assert all(
        value.version == 7 and value.variant == uuid.RFC_4122 and str(value) == text
        for value, text in zip(parsed, ids, strict=True)
    )
    milliseconds = parsed[-1].int >> 80
    assert abs(milliseconds / 1000 - datetime.now(UTC).timestamp()) < 5


def test_run_ids_increase_when_the_clock_stands_still_or_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns() + 3_600_000_000_000
    ticks = iter([now] * 50 + [now - 5_000_000_000] * 50)
    monkeypatch.setattr(event.time, "time_ns", lambda: next(ticks))
    monkeypatch.setattr(event._Clock, "last", 0)
    ids = [event.run_id() for _ in range(100)]
    assert ids == sorted(set(ids))


def test_run_ids_of_threads_do_not_collide() -> None:
    found: list[list[str]] = []

    def make() -> None:
        found.append([event.run_id() for _ in range(2000)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [value for part in found for value in part]
    assert len(everything) == len(set(everything)) == 8000
    assert all(part == sorted(part) for part in found)
