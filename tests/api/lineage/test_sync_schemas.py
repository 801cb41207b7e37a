"""The schemas that a sync is configured to ask the server for."""

import json
import urllib.request
from typing import Any

from tests.events import dataset, facet

from headwater.cli.spark import sync

W = "postgres://db:5432"


def told(name: str, *columns: str, namespace: str = W) -> dict[str, Any]:
    facets = {"schema": facet(fields=[{"name": column, "type": "text"} for column in columns])} if columns else {}
    return {
        "eventTime": "2026-11-20T10:00:00Z",
        "producer": "p",
        "dataset": dataset(name, namespace, **facets),
    }


def test_columns_in_order_of_all_tables_of_a_namespace(server_url: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(sync, "_PAGE", 2)
    events = [
        told("s.a", "z", "a"),
        told("s.b"),
        told("s.c", "x"),
        told("s.d", "k", "x"),
        told("s.a", "other", namespace="bigquery"),
    ]
    request = urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(events).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert json.load(reply)["summary"]["failed"] == 0
    known = {"s.a": ["z", "a"], "s.c": ["x"], "s.d": ["k", "x"]}
    assert sync._server_schemas(server_url, W) == known
    assert sync._server_schemas(server_url, "nowhere://x") == {}
