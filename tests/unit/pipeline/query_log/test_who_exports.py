"""dbt's artifacts of several versions: which query was which node's."""

import json
from pathlib import Path

import pytest

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.exports import DbtQuery, Node, queries, read

INVOCATION = "4da07dc3-e2f1-44d1-a315-46ab6ea0b58f"
NODES = {
    "model.shop.orders": Node(
        database="db", schema="s", alias="fct_orders", name="orders", relation_name='"db"."s"."fct_orders"'
    ),
    "test.shop.t.1": Node(database="db", schema="s_tests", name="t"),
}


def results(*given: dict[str, object], **more: object) -> dict[str, object]:
    return {"metadata": {"invocation_id": INVOCATION}, "results": list(given), **more}


def test_snowflake() -> None:
    told = results(
        {"unique_id": "model.shop.orders", "adapter_response": {"_message": "SUCCESS 1", "query_id": "01b2"}}
    )
    assert queries(told, NODES, Config()) == [
        DbtQuery("01b2", "dbt", "model.shop.orders", INVOCATION, "model.shop.orders", "db.s.fct_orders")
    ]
    built = {**told, "args": {"which": "build"}}
    (found,) = queries(built, NODES, Config(dbt_names="relation", dbt_namespace="shop"))
    assert (found.job_namespace, found.job_name) == ("shop", "db.s.shop.orders.build.run")


def test_bigquery_has_two_names_for_a_job() -> None:
    response = {"job_id": "j1", "project_id": "p", "location": "EU", "bytes_billed": 1}
    found = queries(results({"unique_id": "model.shop.orders", "adapter_response": response}), NODES, Config())
    assert [query.query_id for query in found] == ["j1", "p:EU.j1"]
    alone = queries(results({"unique_id": "model.shop.orders", "adapter_response": {"job_id": "j1"}}), {}, Config())
    assert [(query.query_id, query.relation, query.job_name) for query in alone] == [("j1", None, "model.shop.orders")]


def test_what_is_missing_says_nothing() -> None:
    told = results(
        {"unique_id": "model.shop.orders", "adapter_response": {}},
        {"unique_id": "model.shop.orders", "adapter_response": {"query_id": "N/A"}},
        {"unique_id": "model.shop.orders", "adapter_response": {"query_id": None}},
        {"unique_id": "model.shop.orders"},
        {"adapter_response": {"query_id": "01b2"}},
    )
    assert queries({**told, "metadata": None}, NODES, Config()) == []
    assert queries({"results": 7}, {}, Config()) == []
    odd = results("no result", {"unique_id": "test.shop.t.1", "adapter_response": {"query_id": 7}})  # type: ignore[arg-type]
    (found,) = queries({**odd, "metadata": {}}, NODES, Config(dbt_names="relation"))
    assert (found.query_id, found.job_name, found.job_run_id, found.relation) == ("7", None, None, None)


def test_before_019_the_node_stood_whole_in_its_result() -> None:
    told = results({"node": {"unique_id": "model.shop.orders"}, "adapter_response": {"query_id": "q"}})
    assert [query.node for query in queries(told, {}, Config())] == ["model.shop.orders"]


@pytest.mark.parametrize("version", [1, 4, 7, 12])
def test_files(tmp_path: Path, version: int) -> None:
    """Every version has these fields of a node, among a hundred that differ."""
    node = {
        "database": None if version == 1 else "db",
        "schema": "s",
        "alias": "fct_orders",
        "name": "orders",
        "relation_name": "x",
    }
    node |= {
        "compiled_sql" if version < 7 else "compiled_code": "select 1",
        "config": {"schema": {"a": [1]}},
        "columns": {},
    }
    manifest = {
        "metadata": {"dbt_schema_version": f"v{version}"},
        "nodes": {"model.shop.orders": node},
        "sources": {},
        "macros": {"m": 1},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    told = results({"unique_id": "model.shop.orders", "adapter_response": {"query_id": "q"}})
    (tmp_path / "run_results.json").write_text(json.dumps(told), encoding="utf-8")
    (found,) = read(tmp_path / "run_results.json", tmp_path / "manifest.json")
    assert found.relation == ("s.fct_orders" if version == 1 else "db.s.fct_orders")
    assert read(tmp_path / "run_results.json")[0].relation is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"nodes": 7}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_artifact_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    (tmp_path / "run_results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UnreadableContent, match=r"manifest\.json"):
        read(tmp_path / "run_results.json", path)
    with pytest.raises(UnreadableContent):
        read(tmp_path / "nothing.json")
