"""`headwater review` of dbt projects: manifests that are older than the files, seeds, ephemeral models, types, and the order of columns."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.cli.review.column_types import cast_of, shows_alike
from headwater.cli.review.results import Review
from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options
from headwater.columns.shape.typed_uses import uses_by_type
from headwater.columns.shape.words import words

PROFILE = "shop:\n  target: dev\n  outputs:\n    dev: {type: postgres, schema: shop, dbname: db}\n"
FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodel-paths: [models]\nseed-paths: [seeds]\n",
    "profiles.yml": PROFILE,
    "seeds/bands.csv": "band,least\nlate,15\n",
    "models/orders.sql": "select id, amount, day, number from raw.orders\n",
    "models/kept.sql": "{{ config(materialized='ephemeral') }}\nselect o.*, b.band from {{ ref('orders') }} o left join {{ ref('bands') }} b on o.amount >= b.least\n",
    "models/totals.sql": "select band, sum(amount) as total from {{ ref('kept') }} group by 1\n",
    "models/weeks.sql": "select id, day - number as start from {{ ref('orders') }}\n",
    "models/both.sql": "select * from {{ ref('orders') }} union all select * from {{ ref('orders') }}\n",
}
TYPES = {"raw.orders": {"id": "integer", "amount": "integer", "day": "date", "number": "integer"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for side in ("base", "head"):
        for name, text in FILES.items():
            path = tmp_path / side / "dbt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(TYPES), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "head")
    return tmp_path / "head" / "dbt"


def review(project: Path) -> tuple[dict[str, str], Review, list[str]]:
    base = project.parents[1]
    found, problems, _ = compare_with(str(base / "base"), ["dbt"], Options(schemas=(base / "schema.json",)))
    return {Path(one.place).stem: one.severity for one in reversed(found.affected)}, found, problems


def edit(project: Path, name: str, old: str, new: str) -> None:
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def manifest(project: Path) -> dict[str, Any]:
    """The least of what dbt writes of `totals` and `orders`."""
    nodes = {
        f"model.shop.{name}": {
            "resource_type": "model", "name": name, "package_name": "shop", "database": "db", "schema": "shop", "alias": name,
            "original_file_path": f"models/{name}.sql", "relation_name": f'"db"."shop"."{name}"', "config": {"materialized": "table"},
            "raw_code": (project / f"models/{name}.sql").read_text(encoding="utf-8").strip(),
            "compiled_code": "select id, amount, day, number from raw.orders" if name == "orders" else "select id from shop.orders",
            "depends_on": {"nodes": []},
        }
        for name in ("orders", "weeks", "both", "totals", "kept")
    }  # fmt: skip
    version = "https://schemas.getdbt.com/dbt/manifest/v12.json"
    return {
        "metadata": {"dbt_schema_version": version, "project_name": "shop", "adapter_type": "postgres"},
        "nodes": nodes,
    }


def test_a_manifest_older_than_a_file_hides_no_change(project: Path) -> None:
    for side in (project, project.parents[1] / "base/dbt"):
        (side / "target").mkdir()
        (side / "target/manifest.json").write_text(json.dumps(manifest(side)), encoding="utf-8")
    assert review(project)[2] == []
    edit(project, "models/orders.sql", "amount, ", "")
    found, _, problems = review(project)
    assert found["totals"] == "breaks"
    assert problems[0].startswith("dbt/models/orders.sql is not as its target/manifest.json has it")


def test_a_new_file_makes_a_manifest_old(project: Path) -> None:
    for side in (project, project.parents[1] / "base/dbt"):
        (side / "target").mkdir()
        (side / "target/manifest.json").write_text(json.dumps(manifest(side)), encoding="utf-8")
    (project / "models/late.sql").write_text("select missing from {{ ref('orders') }}\n", encoding="utf-8")
    found, _, problems = review(project)
    assert found["late"] == "breaks"
    assert "late.sql" in problems[0]


def test_a_problem_of_both_sides_is_named_once_by_its_path(project: Path) -> None:
    _, _, problems = review(project)
    assert len(problems) == 1
    assert problems[0].startswith("dbt has no target/manifest.json")


def test_the_text_names_changes_of_tables(project: Path) -> None:
    (project / "models/weeks.sql").rename(project / "models/starts.sql")
    lines = CliRunner().invoke(program, ["review", "dbt", "--base", "../base"]).stdout.splitlines()
    assert ["drop", "table", "db.shop.weeks"] in [line.split() for line in lines]
    assert ["create", "table", "db.shop.starts"] in [line.split() for line in lines]


def test_other_rows_of_a_seed_reach_its_readers(project: Path) -> None:
    edit(project, "seeds/bands.csv", "late,15", "late,20")
    found, _, _ = review(project)
    assert found == {"bands": "changes_values", "kept": "may_change", "totals": "may_change"}


def test_other_rows_of_an_ephemeral_model_reach_its_readers(project: Path) -> None:
    edit(project, "models/kept.sql", "left join", "join")
    found, _, _ = review(project)
    assert found["totals"] == "may_change"


def test_a_wider_type_breaks_only_what_asks_for_the_old_one(project: Path) -> None:
    edit(project, "models/orders.sql", "amount,", "amount::bigint as amount,")
    found, whole, _ = review(project)
    assert set(found.values()) == {"cosmetic"}
    assert whole.severity == "cosmetic"
    edit(project, "models/orders.sql", ", number", ", cast(number as bigint) as number")
    found, whole, _ = review(project)
    assert found["weeks"] == "breaks"  # date - bigint has no operator.
    assert next(one for one in whole.affected if one.place.endswith("weeks.sql")).certain is False


def test_another_order_of_columns_concerns_only_what_reads_by_place(project: Path) -> None:
    edit(project, "models/orders.sql", "id, amount", "amount, id")
    found, whole, _ = review(project)
    assert found == {"orders": "changes_values", "both": "changes_values", "kept": "changes_values"}
    assert (
        next(one for one in whole.affected if one.place.endswith("orders.sql")).reason
        == "its columns stand in another order"
    )


@pytest.mark.parametrize(
    ("item", "core", "kind"),
    [
        ("x::numeric(14, 4) as x", "x", "numeric(14,4)"),
        ("cast(o.x as bigint) as x", "o . x", "bigint"),
        ("length(x)::bigint as n", "length ( x )", "bigint"),
        ("a || b::text as n", "a || b :: text", ""),
        ("(a)::int + (b)::int as n", "( a ) :: int + ( b ) :: int", ""),
        ("x as y", "x", ""),
    ],
)
def test_casts(item: str, core: str, kind: str) -> None:
    found, to = cast_of(words(item, "postgres"))
    assert (" ".join(text for _, text in found), to) == (core, kind)


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("integer", "bigint", True),
        ("integer", "int", True),
        ("bigint", "int8", True),
        ("int8", "bigint", True),
        ("decimal(10,2)", "numeric(10,2)", True),
        ("numeric(10,2)", "decimal(8,2)", False),
        ("int4", "int2", False),
        ("bigint", "integer", False),
        ("varchar(10)", "text", True),
        ("text", "varchar", True),
        ("text", "varchar(10)", False),
        ("char(10)", "text", False),
        ("real", "double precision", False),
        ("date", "timestamp", False),
        ("numeric(10,2)", "numeric(14,2)", True),
        ("numeric(10,2)", "numeric(14,4)", False),
        ("numeric(10,2)", "numeric", True),
    ],
)
def test_types_that_show_alike(old: str, new: str, alike: bool) -> None:
    assert shows_alike(old, new) is alike


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("select sum(n), max(t.n) from t where n > 3 group by n", 0),
        ("select n + 1 from t", 0),
        ("select day + n from t", 1),
        ("select extract(year from day) - t.n from t", 0),
        ("select make_date(n, 1, 1) from t", 1),
        ("select a[n] from t", 1),
    ],
)
def test_uses_that_ask_for_a_type(text: str, uses: int) -> None:
    assert len(list(uses_by_type(words(text, "postgres"), "n"))) == uses
