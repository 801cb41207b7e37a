"""`headwater sql` of whole projects: folders whose files see each other, and dbt projects by their manifest or by their files."""

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater.cli import main
from headwater.cli.sql.reading import Options, Reading
from headwater.cli.sql.watching import changes

Node = dict[str, Any]
V12 = "https://schemas.getdbt.com/dbt/manifest/v12.json"


class Built(NamedTuple):
    """A statement of `--json`, by what matters here."""

    file: str
    writes: list[str]
    reads: list[str]
    columns: dict[str, list[str]]
    level: str


class Ended(NamedTuple):
    """The output of a command, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `headwater sql …` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def do(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["headwater", "sql", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return do


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def built(run: Run, *arguments: str) -> list[Built]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [
        Built(
            one["file"],
            [table["name"] for table in one["writes"]],
            [table["name"] for table in one["reads"]],
            {
                column["name"]: [f"{each['table']['name']}.{each['field']}" for each in column["inputs"]]
                for flow in one["flows"]
                for column in flow["columns"]
            },
            one["level"],
        )
        for one in json.loads(result.stdout)["statements"]
    ]


def node(name: str, code: str = "", depends: Sequence[str] = (), **more: Any) -> Node:
    return {
        "resource_type": "model",
        "name": name,
        "alias": name,
        "database": "dev",
        "schema": "main",
        "relation_name": f'"dev"."main"."{name}"',
        "package_name": "shop",
        "original_file_path": f"models/{name}.sql",
        "config": {"materialized": "table"},
        "language": "sql",
        "raw_code": code,
        "compiled_code": code,
        "depends_on": {"nodes": [*depends]},
        "columns": {},
    } | more


def source(name: str) -> Node:
    return {
        "resource_type": "source",
        "source_name": "raw",
        "name": name,
        "identifier": name,
        "database": "dev",
        "schema": "raw",
        "relation_name": f'"dev"."raw"."{name}"',
        "package_name": "shop",
        "original_file_path": "models/sources.yml",
    }


def manifest(nodes: dict[str, Node], version: str = V12, **groups: dict[str, Node]) -> str:
    metadata = {"dbt_schema_version": version, "project_name": "shop", "adapter_type": "duckdb"}
    sources = {"source.shop.raw.orders": source("orders")}
    return json.dumps({"metadata": metadata, "nodes": nodes, "sources": sources} | groups)


ORDERS = 'select id, amount from "dev"."raw"."orders"'
COMPILED = {
    "model.shop.orders": node("orders", ORDERS, ["source.shop.raw.orders"]),
    "model.shop.totals": node(
        "totals", 'select *, amount * 2 as twice from "dev"."main"."orders"', ["model.shop.orders"]
    ),
}


# -- folders --


def test_files_of_a_folder_see_what_others_create(run: Run) -> None:
    write(
        {
            "etl/1.sql": "create table m as select *, x + 1 as y from s",
            "etl/2.sql": "create table s as select id, x from raw.t",
        }
    )
    found = built(run, "etl", "-d", "postgres")
    assert [one.file for one in found] == ["etl/2.sql", "etl/1.sql"]
    assert found[1].columns == {"id": ["s.id"], "x": ["s.x"], "y": ["s.x"]}


def test_files_in_a_circle_are_named(run: Run) -> None:
    write({"etl/1.sql": "create table a as select * from b", "etl/2.sql": "create table b as select * from a"})
    result = run("etl", "-d", "postgres")
    assert result.exit_code == 0
    assert "etl/1.sql and etl/2.sql: each reads what another creates; they are read in the order given" in result.stderr
    assert run("etl", "-d", "postgres", "--strict").exit_code == 1


# -- dbt with a manifest --


def test_models_get_their_relation_and_columns_flow_through_stars(run: Run) -> None:
    write({"shop/dbt_project.yml": "name: shop", "shop/target/manifest.json": manifest(COMPILED)})
    found = built(run, "shop")
    assert [(one.file, one.writes, one.reads) for one in found] == [
        ("shop/models/orders.sql", ["dev.main.orders"], ["dev.raw.orders"]),
        ("shop/models/totals.sql", ["dev.main.totals"], ["dev.main.orders"]),
    ]
    assert found[1].columns == {
        "id": ["dev.main.orders.id"],
        "amount": ["dev.main.orders.amount"],
        "twice": ["dev.main.orders.amount"],
    }
    assert {one.level for one in found} == {"full"}
    assert built(run, "shop/target")[1].columns == found[1].columns


def test_a_model_that_is_not_compiled_is_read_by_what_dbt_resolved(run: Run) -> None:
    nodes = {
        "model.shop.orders": node(
            "orders", "", ["source.shop.raw.orders"], compiled_code=None,
            raw_code="{{ config(materialized='table') }}\nselect id, amount\nfrom {{ source('raw', 'orders') }}",
        ),
        "model.shop.paid": node(
            "paid", "", ["model.shop.orders"], compiled_code=None, config={"materialized": "ephemeral"},
            raw_code="select id from {{ ref('orders') }} where amount > 0",
        ),
        "model.shop.totals": node(
            "totals", "", ["model.shop.paid", "model.shop.orders_v2"], compiled_code=None,
            raw_code="select p.id, o.x from {{ ref('paid') }} p join {{ ref('shop', 'orders', v=2) }} o using (id)"
            "{% if is_incremental() %} where id > (select max(id) from {{ this }}){% endif %}",
        ),
        "model.shop.orders_v2": node("orders", "select 1 as id, 2 as x", version=2, latest_version=2, alias="orders_v2",
                                     relation_name='"dev"."main"."orders_v2"', original_file_path="models/orders_v2.sql"),
    }  # fmt: skip
    write({"shop/target/manifest.json": manifest(nodes)})
    found = {one.file: one for one in built(run, "shop/target")}
    assert "shop/models/paid.sql" not in found
    totals = found["shop/models/totals.sql"]
    assert set(totals.reads) == {"dev.main.orders", "dev.main.orders_v2", "dev.main.totals"}
    assert totals.columns["x"] == ["dev.main.orders_v2.x"]
    assert totals.level == "full"


def test_snapshots_have_the_columns_that_dbt_adds(run: Run) -> None:
    config = {"materialized": "snapshot", "strategy": "timestamp", "unique_key": "id", "updated_at": "changed"}
    nodes = {
        "snapshot.shop.h": node(
            "h", "select id, changed, x from s.t -- all", [], resource_type="snapshot", config=config
        ),
        "model.shop.m": node("m", 'select * from "dev"."main"."h"', ["snapshot.shop.h"]),
    }
    write({"shop/target/manifest.json": manifest(nodes)})
    names = ["id", "changed", "x", "dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to"]
    found = built(run, "shop/target")
    assert [list(one.columns) for one in found] == [names, names]
    assert found[0].columns["dbt_valid_from"] == ["s.t.changed"]
    assert found[0].columns["dbt_scd_id"] == ["s.t.changed", "s.t.id"] or found[0].columns["dbt_scd_id"] == [
        "s.t.id",
        "s.t.changed",
    ]


def test_seeds_have_the_columns_of_their_files(run: Run) -> None:
    nodes = {
        "seed.shop.bands": node("bands", "", resource_type="seed", original_file_path="seeds/bands.csv"),
        "model.shop.m": node("m", 'select * from "dev"."main"."bands"', ["seed.shop.bands"]),
    }
    write(
        {
            "shop/dbt_project.yml": "name: shop",
            "shop/seeds/bands.csv": "low,high\n1,2\n",
            "shop/target/manifest.json": manifest(nodes),
        }
    )
    assert list(built(run, "shop")[0].columns) == ["low", "high"]


def test_a_seed_outside_of_the_project_is_not_opened(run: Run) -> None:
    nodes = {"seed.shop.s": node("s", "", resource_type="seed", original_file_path="../secret.csv"),
             "model.shop.m": node("m", 'select * from "dev"."main"."s"')}  # fmt: skip
    write(
        {"secret.csv": "password\n", "shop/dbt_project.yml": "name: shop", "shop/target/manifest.json": manifest(nodes)}
    )
    assert list(built(run, "shop")[0].columns) == ["*"]


def test_what_has_no_sql_depends_on_its_tables(run: Run) -> None:
    nodes = COMPILED | {
        "test.shop.t": node("t", "select 1", ["model.shop.totals"], resource_type="test"),
        "model.shop.py": node("py", "", ["model.shop.totals"], language="python"),
    }
    exposure = {"resource_type": "exposure", "name": "board", "package_name": "shop", "original_file_path": "models/e.yml",
                "depends_on": {"nodes": ["metric.shop.revenue"]}}  # fmt: skip
    metric = {"resource_type": "metric", "name": "revenue", "package_name": "shop", "original_file_path": "models/m.yml",
              "depends_on": {"nodes": ["semantic_model.shop.s"]}}  # fmt: skip
    semantic = {
        "name": "s",
        "package_name": "shop",
        "original_file_path": "models/m.yml",
        "depends_on": {"nodes": ["model.shop.totals"]},
    }
    groups: dict[str, dict[str, Node]] = {
        "exposures": {"exposure.shop.board": exposure},
        "metrics": {"metric.shop.revenue": metric},
        "semantic_models": {"semantic_model.shop.s": semantic},
    }
    write({"shop/target/manifest.json": manifest(nodes, **groups)})
    told = json.loads(run("shop/target", "--json").stdout)["dependents"]
    assert {(one["kind"], one["name"], one["reads"][0]["name"]) for one in told} == {
        ("test", "t", "dev.main.totals"),
        ("python model", "py", "dev.main.totals"),
        ("exposure", "board", "dev.main.totals"),
        ("metric", "revenue", "dev.main.totals"),
        ("semantic model", "s", "dev.main.totals"),
    }


def test_events_name_the_jobs_and_inputs_as_dbt_does(run: Run) -> None:
    nodes = COMPILED | {"model.shop.forced": node("forced", "select 1 as a", ["model.shop.orders"])}
    write({"shop/target/manifest.json": manifest(nodes)})
    told = json.loads(run("shop/target", "--openlineage", "duckdb://shop").stdout)
    jobs = {event["job"]["name"]: event for event in told}
    assert set(jobs) == {"dev.main.shop.orders", "dev.main.shop.totals", "dev.main.shop.forced"}
    assert {event["job"]["namespace"] for event in told} == {"dbt"}
    assert {"eventType" in event for event in told} == {False}
    assert [one["name"] for one in jobs["dev.main.shop.forced"]["inputs"]] == ["dev.main.orders"]
    fields = jobs["dev.main.shop.totals"]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert fields["twice"]["inputFields"][0]["field"] == "amount"


def result(id_: str, status: str, **more: Any) -> dict[str, Any]:
    timing = [{"name": "execute", "started_at": "2026-11-25T10:00:00Z", "completed_at": "2026-11-25T10:00:05Z"}]
    return {"unique_id": id_, "status": status, "timing": timing, **more}


def ran(command: str, *results: dict[str, Any]) -> dict[str, Any]:
    about = {"invocation_id": "8d2505f1-d91d-42e4-87c9-6b409f1ae5c6", "dbt_version": "1.11.0"}
    return {"metadata": about, "args": {"which": command}, "results": list(results)}


def test_what_dbt_ran_is_a_run_with_the_end_that_it_had(run: Run) -> None:
    results = ran("build", result("model.shop.orders", "success"), result("model.shop.totals", "error"))
    write({"shop/target/manifest.json": manifest(COMPILED), "shop/target/run_results.json": json.dumps(results)})
    told = json.loads(run("shop/target", "--openlineage", "duckdb://shop").stdout)
    assert [(event["job"]["name"], event["eventType"], len(event["outputs"])) for event in told] == [
        ("dbt-run-shop", "START", 0),
        ("dev.main.shop.orders.build.run", "START", 1),
        ("dev.main.shop.orders.build.run", "COMPLETE", 1),
        ("dev.main.shop.totals.build.run", "START", 1),
        ("dev.main.shop.totals.build.run", "FAIL", 0),
        ("dbt-run-shop", "FAIL", 0),
    ]
    again = json.loads(run("shop/target", "--openlineage", "duckdb://shop").stdout)
    assert [event["run"]["runId"] for event in again] == [event["run"]["runId"] for event in told]


@pytest.mark.parametrize(
    ("adapter", "response", "query"),
    [
        ("snowflake", {"query_id": "01b5-00", "rows_affected": 3}, "01b5-00"),
        ("bigquery", {"job_id": "j-7", "project_id": "shop-dev", "location": "EU"}, "shop-dev:EU.j-7"),
        ("bigquery", {"job_id": "j-7", "project_id": None}, "j-7"),
        ("duckdb", {"_message": "OK", "rows_affected": "many"}, None),
        ("duckdb", "OK", None),
    ],
)
def test_a_run_has_the_warehouses_own_query_and_rows(run: Run, adapter: str, response: Any, query: str | None) -> None:
    content = json.loads(manifest(COMPILED))
    content["metadata"]["adapter_type"] = adapter
    results = ran("run", result("model.shop.orders", "success", adapter_response=response))
    write({"shop/target/manifest.json": json.dumps(content), "shop/target/run_results.json": json.dumps(results)})
    told = json.loads(run("shop/target", "--openlineage", "duckdb://shop").stdout)
    started, ended = (one for one in told if one["job"]["name"] == "dev.main.shop.orders")
    facet = ended["run"]["facets"].get("externalQuery", {})
    assert (facet.get("externalQueryId"), facet.get("source")) == (query, "duckdb://shop" if query else None)
    rows = [
        one["outputs"][0].get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")
        for one in (started, ended)
    ]
    assert rows == [None, 3 if adapter == "snowflake" else None]


@pytest.mark.parametrize("command", ["compile", "docs", "ls"])
def test_what_dbt_did_not_run_is_declared(run: Run, command: str) -> None:
    results = ran(command, result("model.shop.orders", "success"))
    write({"shop/target/manifest.json": manifest(COMPILED), "shop/target/run_results.json": json.dumps(results)})
    told = json.loads(run("shop/target", "--openlineage", "duckdb://shop").stdout)
    assert {event["job"]["name"] for event in told} == {"dev.main.shop.orders", "dev.main.shop.totals"}
    assert {"run" in event for event in told} == {False}


def test_results_that_are_not_dbts_are_a_problem_and_the_rest_is_read(run: Run) -> None:
    write({"shop/target/manifest.json": manifest(COMPILED), "shop/target/run_results.json": "[]"})
    done = run("shop/target", "--openlineage", "duckdb://shop")
    assert "run_results.json is not in dbt's format" in done.stderr
    assert len(json.loads(done.stdout)) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"metadata": ', "is not JSON in UTF-8"),
        (b'{"a": "\xff"}', "is not JSON in UTF-8"),
        ('{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v99.json"}}', "version 99"),
        ("[]", "is no manifest of dbt"),
        (
            '{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"}}',
            "is no manifest of dbt",
        ),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_error(run: Run, content: str | bytes, words: str) -> None:
    write({"shop/dbt_project.yml": "name: shop", "shop/models/m.sql": "select 1 as a"})
    Path("shop/target").mkdir()
    Path("shop/target/manifest.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("shop")
    assert result.exit_code == 0
    assert words in result.stderr
    assert "shop/target/manifest.json" in result.stderr
    assert "target_schema.m" in result.stdout
    alone = run("shop/target")
    assert alone.exit_code == 2
    assert words in alone.stderr


def test_a_node_that_cannot_be_read_spoils_no_other(run: Run) -> None:
    write({"shop/target/manifest.json": manifest(COMPILED | {"model.shop.bad": {"resource_type": "model"}})})
    result = run("shop/target")
    assert "model.shop.bad is not in dbt's format" in result.stderr
    assert "3 statements" not in result.stdout
    assert "2 statements: 2 understood in full" in result.stdout


# -- dbt without a manifest --

FILES = {
    "shop/dbt_project.yml": "name: shop\nprofile: p\nvars: {low: '3'}\nmodels:\n  shop:\n    staging: {+schema: stg, +materialized: view}\n",
    "shop/profiles.yml": "p: {target: t, outputs: {t: {type: duckdb, schema: main, database: dev}}}",
    "shop/models/sources.yml": "sources:\n- name: raw\n  schema: landing\n  tables: [{name: orders}, {name: o2, identifier: Orders 2}]\n"
    "exposures:\n- name: board\n  depends_on: [ref('totals')]\n",
    "shop/models/staging/orders.sql": "select id, amount from {{ source('raw', 'orders') }}",
    "shop/models/kept.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('orders') }} where amount > {{ var('low') }}",
    "shop/models/totals.sql": "{{ config(alias='sums', schema='mart') }}\nwith orders as (select * from {{ ref('kept') }})\n"
    "select orders.*, bands.band, o.x from orders join {{ ref('bands') }} on true join {{ source('raw', 'o2') }} o on true",
    "shop/seeds/bands.csv": "band,low\n",
    "shop/snapshots/h.sql": "{% snapshot h %}\n{{ config(strategy='check', unique_key='id', target_schema='past') }}\n"
    "select * from {{ ref('orders') }}\n{% endsnapshot %}",
    "shop/dbt_packages/other/dbt_project.yml": "name: other",
    "shop/dbt_packages/other/models/orders.sql": "select 1 as other_id",
    "shop/models/clash.sql": "select * from {{ ref('other', 'orders') }}",
}  # fmt: skip


def test_a_project_without_a_manifest_is_read_from_its_files(run: Run) -> None:
    write(FILES)
    found = {one.file: one for one in built(run, "shop")}
    assert found["shop/models/staging/orders.sql"].writes == ["dev.main_stg.orders"]
    assert found["shop/models/staging/orders.sql"].reads == ["dev.landing.orders"]
    totals = found["shop/models/totals.sql"]
    assert totals.writes == ["dev.main_mart.sums"]
    assert totals.columns == {
        "id": ["dev.main_stg.orders.id"],
        "amount": ["dev.main_stg.orders.amount"],
        "band": ["dev.main.bands.band"],
        "x": ["dev.landing.Orders 2.x"],
    }
    assert found["shop/snapshots/h.sql[h]"].writes == ["dev.past.h"]
    assert list(found["shop/models/clash.sql"].columns) == ["other_id"]
    assert "shop/models/kept.sql" not in found
    result = run("shop")
    assert "has no target/manifest.json" in result.stderr
    assert "run dbt compile" in result.stderr


def test_a_ref_to_nothing_and_a_broken_file_are_named(run: Run) -> None:
    write(FILES | {"shop/models/lost.sql": "select * from {{ ref('nowhere') }}", "shop/models/bad.yml": "models: [\n"})
    Path("shop/models/latin.sql").write_bytes(b"select '\xe9' as a")
    result = run("shop")
    assert result.exit_code == 0
    assert "shop/models/lost.sql: ref(nowhere) names nothing in the project" in result.stderr
    assert "shop/models/bad.yml:2:1" in result.stderr
    assert "shop/models/latin.sql: cannot be read as UTF-8 text" in result.stderr
    assert "dev.main_mart.sums" in result.stdout


def test_what_every_adapter_has_is_written_out(run: Run) -> None:
    write(
        {
            "shop/dbt_project.yml": "name: shop",
            "shop/models/m.sql": "{{ config({'schema': 'mart', \"materialized\": \"view\"}) }}\n"
            "select cast(id as {{ dbt.type_string() }}) as id, {{ dbt.current_timestamp() }} as now from raw.t",
        }
    )
    (found,) = built(run, "shop")
    assert found.writes == ["target_schema_mart.m"]
    assert found.columns == {"id": ["raw.t.id"], "now": []}
    assert found.level == "full"


# -- watching --


@pytest.mark.usefixtures("run")
def test_watching_gives_what_is_new_each_time() -> None:
    write(
        {
            "etl/1.sql": "create table a as select x from t",
            "etl/2.sql": "create table b as select * from a",
            "etl/3.sql": "select 1",
        }
    )
    edits: list[Callable[[], None]] = [
        lambda: write({"etl/1.sql": "\n\ncreate table a as select x from t -- moved"}),
        lambda: write({"etl/1.sql": "create table a as select x, y from t"}),
        lambda: Path("etl/3.sql").unlink(),
    ]
    following = changes(Reading(["etl"], Options("postgres")), ["etl"], lambda _seconds: edits.pop(0)())
    found = [([one.file for one in new], total, gone) for new, total, gone, _ in itertools.islice(following, 4)]
    assert found == [
        (["etl/1.sql", "etl/2.sql", "etl/3.sql"], 3, 0),
        ([], 3, 0),
        (["etl/1.sql", "etl/2.sql"], 3, 0),
        ([], 2, 1),
    ]


@pytest.mark.usefixtures("run")
def test_watching_survives_a_file_that_is_away_for_a_moment() -> None:
    write({"1.sql": "select x from t"})
    reading = Reading(["1.sql"], Options())
    edits: list[Callable[[], None]] = [lambda: Path("1.sql").unlink(), lambda: write({"1.sql": "select y from t"})]
    following = changes(reading, ["1.sql"], lambda _seconds: edits.pop(0)())
    next(following)
    assert next(following)[1] == 0
    assert reading.problems == ["1.sql: no such file or folder"]
    assert [one.file for one in next(following)[0]] == ["1.sql"]
