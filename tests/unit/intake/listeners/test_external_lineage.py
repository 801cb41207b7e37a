"""The requests to Databricks, against its published fields (databricks-sdk 0.9x, `service/catalog.py`), and which events are lineage to Snowflake."""

import json
from typing import Any

import pytest
from tests.events import columns, dataset, encoded, facet, run_event, schema

from headwater.intake.listeners.external_lineage import METADATA, RELATIONSHIPS, complete_run, databricks_requests
from headwater.model.event import read

# CreateRequestExternalLineage and ExternalMetadata: their fields, which of them are required, and the values of SystemType.
LINEAGE = {"source", "target", "columns", "id", "properties"}
OBJECT = {"table": {"name"}, "path": {"url"}, "external_metadata": {"name"}, "model_version": {"name", "version"}}
EXTERNAL = {"name", "system_type", "entity_type", "columns", "description", "owner", "properties", "url"}
SYSTEMS = {
    "AMAZON_REDSHIFT", "AZURE_SYNAPSE", "CONFLUENT", "DATABRICKS", "GOOGLE_BIGQUERY", "KAFKA", "LOOKER", "MICROSOFT_FABRIC", "MICROSOFT_SQL_SERVER",
    "MONGODB", "MYSQL", "ORACLE", "OTHER", "POSTGRESQL", "POWER_BI", "SALESFORCE", "SAP", "SERVICENOW", "SNOWFLAKE", "STREAM_NATIVE", "TABLEAU",
    "TERADATA", "WORKDAY",
}  # fmt: skip
PG, UNITY = "postgres://db:5432", "unitycatalog://dbc.example"


def requests(inputs: list[Any], outputs: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [
        (one.path, json.loads(one.body))
        for one in databricks_requests(read(encoded(run_event("COMPLETE", 1, "load", inputs, outputs))))
    ]
    for path, body in found:
        if path == METADATA:
            assert body.keys() <= EXTERNAL
            assert {"name", "system_type", "entity_type"} <= body.keys()
            assert body["system_type"] in SYSTEMS
            assert all(isinstance(value, str) for value in body.get("properties", {}).values())
        else:
            assert path == RELATIONSHIPS
            assert body.keys() <= LINEAGE
            for end in (body["source"], body["target"]):
                ((kind, fields),) = end.items()
                assert fields.keys() == OBJECT[kind]
            assert "external_metadata" in body["source"] or "external_metadata" in body["target"]
            assert all(pair.keys() == {"source", "target"} for pair in body.get("columns", ()))
    return found


def of_postgres(fields: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(columns(fields)).replace('"file"', f'"{PG}"'))
    return told


def test_a_table_of_another_system_feeds_one_of_unity_catalog() -> None:
    fields = of_postgres({"total": [("shop.public.orders", "amount", "DIRECT:AGGREGATION")]})
    source = dataset("shop.public.orders", PG, **schema("id", "amount"))
    found = requests([source], [dataset("main.mart.sums", UNITY, **schema("total"), **fields)])
    assert found == [
        (
            METADATA,
            {
                "name": "postgres_db_5432_shop.public.orders_0b9eda7f", "system_type": "POSTGRESQL", "entity_type": "table",
                "properties": {"namespace": PG, "name": "shop.public.orders"}, "columns": ["id", "amount"],
            },
        ),
        (
            RELATIONSHIPS,
            {
                "source": {"external_metadata": {"name": "postgres_db_5432_shop.public.orders_0b9eda7f"}},
                "target": {"table": {"name": "main.mart.sums"}},
                "columns": [{"source": "amount", "target": "total"}],
            },
        ),
    ]  # fmt: skip


def test_what_databricks_knows_itself_is_left_out() -> None:
    inside = dataset("main.raw.orders", UNITY), dataset("main.mart.sums", UNITY)
    assert requests([inside[0]], [inside[1]]) == []
    assert requests([dataset("raw/orders", "s3://lake")], [inside[1]]) == []


def test_a_path_and_a_dashboard() -> None:
    found = requests([dataset("raw/orders", "s3://lake")], [dataset("dashboard/7", "looker")])
    assert [path for path, _ in found] == [METADATA, RELATIONSHIPS]
    assert (found[0][1]["system_type"], found[0][1]["entity_type"]) == ("LOOKER", "dashboard")
    assert found[1][1]["source"] == {"path": {"url": "s3://lake/raw/orders"}}


def test_only_inputs_that_the_columns_name_are_related() -> None:
    fields = of_postgres({"total": [("a", "x", "DIRECT:IDENTITY")]})
    found = requests([dataset("a", PG), dataset("b", PG)], [dataset("c.d.e", UNITY, **fields)])
    assert [body["properties"]["name"] for path, body in found if path == METADATA] == ["a"]
    unreadable = dataset("c.d.e", UNITY, columnLineage=facet(fields=7))
    assert len(requests([dataset("a", PG), dataset("b", PG)], [unreadable])) == 4


@pytest.mark.parametrize("name", ["x" * 900, "ü/ö b", "a/b", "a_b", "", "\u0000"])
def test_names_are_safe_and_of_one_dataset(name: str) -> None:
    def registered(name: str) -> str:
        return requests([dataset(name, PG)], [dataset("c.d.e", UNITY)])[0][1]["name"]  # type: ignore[no-any-return]

    if not name:
        assert requests([dataset(name, PG)], [dataset("c.d.e", UNITY)]) == []  # without a name it is no dataset
        return
    made = registered(name)
    assert 0 < len(made) <= 255
    assert all(char.isascii() and (char.isalnum() or char in "_.-") for char in made)
    assert made != registered(f"{name}?")


def test_only_the_ends_of_runs_are_lineage() -> None:
    whole = run_event("COMPLETE", 1, "load", ["/a"], ["/b"])
    assert complete_run(encoded(whole)) is not None
    for other in (
        whole | {"eventType": "START"},
        whole | {"inputs": []},
        whole | {"outputs": []},
        {key: value for key, value in whole.items() if key != "run"},
    ):
        assert complete_run(encoded(other)) is None
    assert complete_run(b"no json") is None
