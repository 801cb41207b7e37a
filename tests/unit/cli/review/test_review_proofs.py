"""A review believes what dbt's tests and contracts prove on both sides of a change, and nothing that they do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options

TESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "id_unique": ("orders", "unique", {"column_name": "id"}),
    "id_not_null": ("orders", "not_null", {"column_name": "id"}),
    "customer_not_null": ("orders", "not_null", {"column_name": "customer"}),
    "customer_there": ("orders", "relationships", {"column_name": "customer", "to": "ref('customers')", "field": "id"}),
    "status_not_null": ("orders", "not_null", {"column_name": "status"}),
    "status_values": ("orders", "accepted_values", {"column_name": "status", "values": ["new", "sent"]}),
}
JOIN = 'select o.id, c.name from "db"."shop"."orders" o {} "db"."shop"."customers" c on o.customer = c.id'
STATUS = 'select id, {} as status from "db"."shop"."orders"'
CHOSEN = 'select id, amount from "db"."shop"."orders"{}'
DISTINCT = 'select {}id, amount from "db"."shop"."orders"'


def write_project(folder: Path, query: str, without: str, config: dict[str, Any], contract: dict[str, Any]) -> None:
    models = {"orders": "select * from raw.orders", "customers": "select * from raw.customers", "result": query}
    nodes: dict[str, Any] = {}
    for name, text in models.items():
        path = folder / f"models/{name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        settings = {"materialized": "table"}
        nodes[f"model.shop.{name}"] = {
            "resource_type": "model", "name": name, "package_name": "shop", "database": "db", "schema": "shop", "alias": name,
            "original_file_path": f"models/{name}.sql", "relation_name": f'"db"."shop"."{name}"', "config": settings,
            "raw_code": text, "compiled_code": text, "depends_on": {"nodes": []},
        }  # fmt: skip
    nodes["model.shop.orders"].update(contract)
    for name, (model, kind, arguments) in TESTS.items():
        if name != without:
            depends = [f"model.shop.{model}", *(["model.shop.customers"] if kind == "relationships" else [])]
            nodes[f"test.shop.{name}"] = {
                "resource_type": "test", "name": name, "original_file_path": "models/schema.yml", "attached_node": depends[0], "config": config,
                "test_metadata": {"name": kind, "kwargs": arguments}, "depends_on": {"nodes": depends},
            }  # fmt: skip
    metadata = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "project_name": "shop"}
    (folder / "target").mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n", encoding="utf-8")
    content = {"metadata": {**metadata, "adapter_type": "postgres"}, "nodes": nodes}
    (folder / "target/manifest.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def severity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def ask(
        old: str,
        new: str,
        without: tuple[str, str] = ("", ""),
        config: dict[str, Any] | None = None,
        contract: dict[str, Any] | None = None,
    ) -> str:
        for side, query, missing in zip(("base", "head"), (old, new), without, strict=True):
            write_project(tmp_path / side / "dbt", query, missing, config or {}, contract or {})
        monkeypatch.chdir(tmp_path / "head")
        review, problems, _ = compare_with("../base", ["dbt"], Options())
        assert problems == []
        return next((one.severity for one in review.affected if Path(one.place).stem == "result"), "")

    return ask


CHANGES = [
    (JOIN.format("join"), JOIN.format("left join"), "", "customer_there"),
    (JOIN.format("left join"), JOIN.format("join"), "", "customer_not_null"),
    (STATUS.format("coalesce(status, 'none')"), STATUS.format("status"), "", "status_not_null"),
    (CHOSEN.format(" where status in ('new', 'sent', 'old')"), CHOSEN.format(""), "", "status_values"),
    (CHOSEN.format(" where status in ('new', 'sent')"), CHOSEN.format(""), "", "status_not_null"),
    (CHOSEN.format(""), CHOSEN.format(" where id is not null"), "", "id_not_null"),
    (DISTINCT.format("distinct "), DISTINCT.format(""), "cosmetic", "id_unique"),
    (DISTINCT.format("distinct "), DISTINCT.format(""), "cosmetic", "id_not_null"),
]


@pytest.mark.parametrize(("old", "new", "expected", "needed"), CHANGES)
@pytest.mark.parametrize("side", ["both", "base", "head"])
def test_a_tested_fact_changes_nothing(
    severity: Any, old: str, new: str, expected: str, needed: str, side: str
) -> None:
    if side == "both":
        assert severity(old, new) == expected
    else:  # A test that one side alone has proves nothing of the other.
        assert severity(old, new, (needed, "") if side == "base" else ("", needed)) in {"may_change", "changes_values"}


@pytest.mark.parametrize("config", [{"where": "id > 3"}, {"severity": "warn"}, {"error_if": "> 10"}, {"limit": 5}])
def test_a_lenient_test_proves_nothing(severity: Any, config: dict[str, Any]) -> None:
    assert severity(JOIN.format("join"), JOIN.format("left join"), config=config) == "may_change"


def test_a_needless_default_may_have_a_type_that_the_database_refuses(severity: Any) -> None:
    assert severity(STATUS.format("status"), STATUS.format("coalesce(status, 0)")) == "may_change"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ""),
        ({"config": {"materialized": "view", "contract": {"enforced": True}}}, "may_change"),
        ({"config": {"materialized": "incremental", "contract": {"enforced": True}}}, "may_change"),
        ({"config": {"materialized": "table", "contract": {"enforced": False}}}, "may_change"),
        ({"columns": {}}, "may_change"),
        ({"columns": {"id": {"name": "id", "constraints": [{"type": "check", "expression": "id > 0"}]}}}, "may_change"),
    ],
)
def test_a_contract_that_the_database_enforces_is_a_proof(severity: Any, change: dict[str, Any], expected: str) -> None:
    contract = {
        "config": {"materialized": "table", "contract": {"enforced": True}},
        "columns": {"id": {"name": "id", "data_type": "int", "constraints": [{"type": "not_null"}]}},
    } | change
    asked = CHOSEN.format(""), CHOSEN.format(" where id is not null")
    assert severity(*asked, without=("id_not_null", "id_not_null"), contract=contract) == expected
