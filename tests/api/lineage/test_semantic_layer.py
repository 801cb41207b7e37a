"""dbt's semantic layer by column: from a table's column over measures and metrics to the dashboard that shows them, and back.

tests/cases/dbt/semantic_layer.json: of the manifest that dbt 1.12 wrote of the jaffle shop with a semantic model, what is read; `card` is a metric as dbt's
newer specification writes it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded
from tests.fixtures.app import Client

from headwater.capture.dbt.manifest import Manifest
from headwater.capture.dbt.semantic_layer import SemanticLayer

MANIFEST = json.loads((Path(__file__).parents[2] / "cases/dbt/semantic_layer.json").read_text(encoding="utf-8"))
TABLES = "duckdb://jaffle.duckdb"


@pytest.fixture
def shop(client: Client) -> Client:
    named = lambda table: {"namespace": TABLES, "name": ".".join(table)}  # noqa: E731
    for event in SemanticLayer(Manifest(json.loads(json.dumps(MANIFEST))), "dbt", named, "duckdb").events():
        reply = client.post("/api/v1/lineage", encoded(event))
        assert (reply.status_code, reply.json()["warnings"]) == (201, [])
    return client


def reached(client: Client, node: str, field: str, direction: str) -> set[tuple[str, str]]:
    """Return the columns whose values flow into this one, or come from it."""
    found = client.get("/api/v2/lineage", node=node, field=field, direction=direction, depth=20, columns="true").json()
    far = "source" if direction == "upstream" else "target"
    return {
        (one[far].rpartition(":")[2], one[f"{far}_field"])
        for one in found["column_edges"]
        if any(kind["type"] == "DIRECT" for kind in one["transformations"])
    }


def test_a_column_leads_to_the_metrics_and_the_dashboard(shop: Client) -> None:
    down = reached(shop, f"dataset:{TABLES}:jaffle.main.orders", "amount", "downstream")
    assert down == {
        ("semantic_model.jaffle.payments", "paid"), ("semantic_model.jaffle.payments", "by_card"), ("metric.jaffle.revenue", "revenue"),
        ("metric.jaffle.total_revenue", "total_revenue"), ("metric.jaffle.average_order", "average_order"), ("metric.jaffle.growth", "growth"),
        ("exposure.jaffle.board", "growth"), ("saved_query.jaffle.weekly", "revenue"),
    }  # fmt: skip
    up = reached(shop, "dataset:dbt:exposure.jaffle.board", "growth", "upstream")
    assert ("jaffle.main.orders", "amount") in up
    assert ("jaffle.main.orders", "order_id") in up
    assert reached(shop, "dataset:dbt:metric.jaffle.card", "card", "upstream") == {("jaffle.main.orders", "credit_card_amount")}  # fmt: skip


def test_what_decides_about_a_metrics_rows_is_no_value(shop: Client) -> None:
    found = shop.get("/api/v2/lineage", node="dataset:dbt:metric.jaffle.revenue", direction="upstream", columns="true", depth=1).json()  # fmt: skip
    told: set[Any] = {(one["source_field"], one["target_field"], one["transformations"][0]["subtype"]) for one in found["column_edges"]}  # fmt: skip
    assert told == {("paid", "revenue", "IDENTITY"), ("status", None, "FILTER")}


def test_the_dashboard_is_listed_with_its_owner_and_metrics_are_not(shop: Client) -> None:
    (board,) = shop.get("/api/v2/dashboards").json()["dashboards"]
    assert (board["id"], board["kind"], board["owners"]) == ("dataset:dbt:exposure.jaffle.board", "DASHBOARD", ["ann@example.test"])  # fmt: skip
