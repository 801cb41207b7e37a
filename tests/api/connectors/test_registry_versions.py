"""Versions of a schema registry, as the server shows them: versions of the topic, each with its columns and its compatibility."""

import json
from typing import Any

from tests.recorded import recorded

from headwater.connectors import connector
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask

TOPIC = "/api/v1/namespaces/kafka%3A%2F%2Fbroker%3A9092/datasets/orders"


def test_versions_of_a_subject_are_versions_of_its_topic(client: Any) -> None:
    sent: list[dict[str, Any]] = []
    with recorded("schema_registry") as system:
        settings, _ = check_options(
            KINDS["schema_registry"], {"address": system.url, "namespace": "kafka://broker:9092"}
        )
        connector("schema_registry").pull(ConnectorTask("pull", "schema_registry", "registry", settings), sent.append)
    reply = client.post("/api/v1/lineage/batch", json.dumps(sent).encode())
    assert reply.json()["summary"]["failed"] == 0, reply.text
    versions = client.get(f"{TOPIC}/versions").json()["versions"]
    assert [[field["name"] for field in one["fields"]] for one in versions] == [
        ["id", "at", "to", "to.city"],
        ["id", "at"],
    ]
    assert [one["facets"]["version"]["datasetVersion"] for one in versions] == ["3", "1"]
    assert {one["facets"]["headwater_compatibility"]["compatibility"] for one in versions} == {"FULL"}
