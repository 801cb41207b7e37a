"""Partition keys of Airflow 3.3, in events that a real one sent (tests/acceptance/airflow/test_partition_keys_airflow.py runs it again)."""

from pathlib import Path

from tests.fixtures.app import Client

EVENTS = Path(__file__).parents[2] / "cases/airflow/partitions.ndjson"


def test_runs_are_found_by_their_partition_and_by_the_part_of_the_asset_that_triggered_them(client: Client) -> None:
    for line in EVENTS.read_text("utf-8").splitlines():
        assert client.post("/api/v1/lineage", line.encode()).status_code == 201

    def find_jobs(label: str) -> list[str]:
        return sorted(one["job"] for one in client.get("/api/v2/runs", label=label).json()["runs"])

    everything = ["adding", "adding.add", "loading", "loading.load"]
    assert find_jobs("partition=2026-11-26") == [f"job:airflow:{name}" for name in everything]
    assert find_jobs("asset:s3://lake/orders=2026-11-26") == ["job:airflow:adding"]
    assert find_jobs("asset:s3://lake/orders=2026-11-28") == []
    job = client.get("/api/v2/jobs/airflow/adding").json()
    assert [one["job"] for one in job["runs_after"]] == ["job:airflow:loading.load"]
