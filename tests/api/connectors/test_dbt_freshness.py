"""The results of `dbt source freshness`, from dbt's file to the check of a table."""

import json
from pathlib import Path

from tests.fixtures.app import Client

from headwater.connectors import connector
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask

SOURCE = "source.shop.raw.orders"
NODE = {"resource_type": "source", "source_name": "raw", "name": "orders", "database": "shop", "schema": "raw", "identifier": "orders"}  # fmt: skip
MANIFEST = {
    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "project_name": "shop", "adapter_type": "postgres", "generated_at": "2026-11-26T01:00:00Z"},
    "nodes": {}, "sources": {SOURCE: NODE},
}  # fmt: skip


def test_a_stale_source_is_a_failed_check(client: Client, tmp_path: Path) -> None:
    looked = {
        "unique_id": SOURCE, "status": "error", "max_loaded_at": "2026-11-26T20:00:00+00:00", "snapshotted_at": "2026-11-28T08:30:00+00:00",
        "max_loaded_at_time_ago_in_s": 131_400.0, "criteria": {"warn_after": {"count": None, "period": None}, "error_after": {"count": 1, "period": "day"}},
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "sources.json").write_text(json.dumps({"metadata": {"invocation_id": "i"}, "results": [looked]}))
    options, secrets = check_options(KINDS["dbt"], {"artifacts": str(tmp_path), "namespace": "postgres://db:5432"})
    sent: list[object] = []
    connector("dbt").pull(ConnectorTask("pull", "dbt", "one", {**options, **secrets}, None), sent.append)
    assert client.post("/api/v1/lineage/batch", json.dumps(sent).encode()).json()["status"] == "success"
    found = client.get("/api/v2/datasets/postgres%3A%2F%2Fdb%3A5432/shop.raw.orders/freshness").json()["quality"]
    assert (found["state"], [one["assertion"] for one in found["assertions"]]) == ("failing", ["freshness"])
