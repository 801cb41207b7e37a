"""Places of a subject that no `delete from` cleans: topics, views, materialized views, tables that keep old versions, files in object stores."""

import json
from typing import Any

import pytest
from tests.api.usage.measures import send
from tests.events import columns, dataset, facet, run_event, schema

PG = "postgres://db:5432"


def _target(name: str, namespace: str, **more: Any) -> dict[str, Any]:
    copied = columns({"email": [("db.shop.people", "email", "DIRECT:IDENTITY")]})
    copied["columnLineage"]["fields"]["email"]["inputFields"][0]["namespace"] = PG
    return dataset(name, namespace, **schema("email"), **copied, **more)


@pytest.fixture
def places(client: Any) -> dict[str, Any]:
    source = dataset("db.shop.people", PG, **schema("email"))
    targets = [
        _target("people", "kafka://broker:9092", datasetType=facet(datasetType="TOPIC")),
        _target("db.shop.seen", PG, datasetType=facet(datasetType="VIEW")),
        _target("db.shop.kept", PG, datasetType=facet(datasetType="MATERIALIZED_VIEW")),
        _target("/lake/people", "file", storage=facet(storageLayer="delta", fileFormat="parquet")),
        _target("shop.people_v2", "hive://meta:9083", storage=facet(storageLayer="iceberg", fileFormat="parquet")),
        _target("it's/people.parquet", "s3://lake"),
        _target("db.shop.copy", PG),
    ]
    send(
        client, *(run_event("COMPLETE", n, f"load {n}", [source], [one], namespace=PG) for n, one in enumerate(targets))
    )
    reply = client.post("/api/v2/privacy/deletion", b'{"key": "db.shop.people.email"}', content_type="application/json")
    assert reply.status_code == 200, reply.text
    found = json.loads(reply.json()["document"])["places"]
    return {one["dataset"].removeprefix("dataset:"): one for one in found}


def test_each_place_says_what_ends_its_copies(places: dict[str, Any]) -> None:
    shown = {name: (one["action"], one["delete"] is not None, one["then"]) for name, one in places.items()}
    assert shown == {
        f"{PG}:db.shop.people": ("delete", True, []),
        f"{PG}:db.shop.copy": ("delete", True, []),
        "kafka://broker:9092:people": ("expire", False, []),
        f"{PG}:db.shop.seen": ("nothing", False, []),
        f"{PG}:db.shop.kept": ("make again", False, ["refresh materialized view shop.kept"]),
        "file:/lake/people": ("delete", True, [
            "reorg table delta.`/lake/people` apply (purge)",
            "set spark.databricks.delta.retentionDurationCheck.enabled = false",
            "vacuum delta.`/lake/people` retain 0 hours",
        ]),
        "hive://meta:9083:shop.people_v2": ("delete", True, [
            "call system.rewrite_data_files(table => 'shop.people_v2', options => map('delete-file-threshold', '1'))",
            "call system.rewrite_manifests(table => 'shop.people_v2')",
            "call system.expire_snapshots(table => 'shop.people_v2', older_than => current_timestamp(), retain_last => 1)",
            "call system.remove_orphan_files(table => 'shop.people_v2')",
        ]),
        "s3://lake:it's/people.parquet": ("rewrite", False, []),
    }  # fmt: skip


def test_a_proof_of_files_reads_compressed_ones_and_a_topic_has_none(places: dict[str, Any]) -> None:
    count = "select count(*) from delta.`/lake/people` where position(:subject in cast(email as string)) > 0"
    assert places["file:/lake/people"]["prove"] == [count, "headwater privacy scan -- :subject '/lake/people'"]
    (topic,) = places["kafka://broker:9092:people"]["prove"]
    assert "cannot be scanned" in topic
    (store,) = places["s3://lake:it's/people.parquet"]["prove"]
    assert store.startswith("copy s3://lake/it's/people.parquet to a folder")
    assert places[f"{PG}:db.shop.seen"]["prove"] == []
    assert places[f"{PG}:db.shop.kept"]["prove"][0].startswith("select count(*) from shop.kept")
