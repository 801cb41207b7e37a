"""Connectors of systems by their recorded answers, and of dbt by its artifacts: what a pull sends, and what the next one leaves out."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recorded import recorded

from headwater.connectors import connector
from headwater.connectors.__main__ import run_task
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, InvalidQuestion, NotFound, ServerUnavailable
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorCheck, ConnectorLine, ConnectorTask, PullReport


def pull(
    kind: str, settings: dict[str, str], cursor: dict[str, Any] | None = None
) -> tuple[list[dict[str, Any]], PullReport]:
    options, secrets = check_options(KINDS[kind], settings)
    sent: list[dict[str, Any]] = []
    report = connector(kind).pull(ConnectorTask("pull", kind, "one", {**options, **secrets}, cursor), sent.append)
    return sent, report


def check(kind: str, settings: dict[str, str]) -> list[ConnectorCheck]:
    options, secrets = check_options(KINDS[kind], settings)
    return list(connector(kind).test(ConnectorTask("test", kind, "one", {**options, **secrets})))


def edges(events: list[dict[str, Any]]) -> dict[str, tuple[set[str], set[str]]]:
    """Job to what it reads and what it writes, by short names."""
    return {
        one["job"]["name"]: ({each["name"] for each in one["inputs"]}, {each["name"] for each in one["outputs"]})
        for one in events
        if "job" in one and "run" not in one
    }


def test_metabase_reads_questions_dashboards_and_who_looked() -> None:
    with recorded("metabase") as system:
        settings = {"address": system.url, "api_key": "mb_secret"}
        checks = check("metabase", settings)
        assert [(one.name, one.state) for one in checks] == [
            ("connect", "ok"),
            ("cards", "ok"),
            ("databases", "missing"),
        ]
        assert "elsewhere=" in str(checks[2].remedy)
        sent, report = pull("metabase", settings)
        assert {one["x-api-key"] for _, one in system.asked} == {"mb_secret"}
        again, _ = pull("metabase", settings, report.cursor)
        named, _ = pull("metabase", {**settings, "namespaces": "elsewhere=snowflake://org-far"})
    assert edges(sent) == {
        "card/12": ({"shop.mart.orders", "shop.mart.customers"}, {"card/12"}),
        "card/13": ({"card/12", "shop.mart.countries"}, {"card/13"}),
        "card/14": (set(), {"card/14"}),
        "dashboard/5": ({"card/12", "card/13"}, {"dashboard/5"}),
    }
    usage = {one["job"]["name"]: one["outputs"][0]["facets"]["headwater_usage"] for one in sent}
    assert usage["dashboard/5"]["lastReadByPersonAt"] == "2026-11-27T07:00:00.000000Z"
    assert {name: one["reads"] for name, one in usage.items()} == {
        "card/12": 40,
        "card/13": 0,
        "card/14": 2,
        "dashboard/5": 120,
    }
    assert usage["card/13"]["status"] == "unread"
    assert usage["card/14"]["status"] == "stale"
    assert any("'elsewhere'" in one for one in report.warnings)
    assert again == []
    assert edges(named)["card/14"][0] == {"FAR.AWAY"}


def test_airflow_reads_jobs_runs_and_assets() -> None:
    with recorded("airflow") as system:
        settings = {"address": system.url, "user": "reader", "password": "secret"}
        assert [one.state for one in check("airflow", settings)] == ["ok"] * 4
        sent, report = pull("airflow", settings)
        again, _ = pull("airflow", settings, report.cursor)
        assert any("updated_at_gte=2026-11-26T01%3A09%3A01Z" in one for one, _ in system.asked)
    assert edges(sent) == {"daily": (set(), set()), "daily.extract": (set(), set()), "daily.load": (set(), {"orders"})}
    runs = [(one["job"]["name"], one["eventType"]) for one in sent if "run" in one]
    assert runs == [
        ("daily", "START"), ("daily", "FAIL"), ("daily.extract", "START"), ("daily.extract", "COMPLETE"), ("daily.load", "START"), ("daily.load", "FAIL"),
    ]  # fmt: skip
    dag = next(one["run"]["runId"] for one in sent if one["job"]["name"] == "daily" and "run" in one)
    assert {
        one["run"]["facets"]["parent"]["run"]["runId"] for one in sent if "run" in one and one["job"]["name"] != "daily"
    } == {dag}
    # The last run is read again, with the same events: they change nothing.
    assert again == [one for one in sent if "run" in one]


def test_airflow_reads_the_partitions_of_runs_and_of_asset_events() -> None:
    """The shapes of Airflow 3.2: a DAG's run has a partition key, and so has each event of an asset."""
    event = {
        "id": 9, "asset_id": 1, "uri": "s3://lake/orders", "name": "orders", "group": "asset", "extra": {"rows": 7},
        "source_dag_id": "daily", "source_task_id": "extract", "source_run_id": "scheduled__2026-11-26", "source_map_index": -1,
        "created_dagruns": [], "timestamp": "2026-11-26T01:02:00Z", "partition_key": "eu|2026-11-26",
    }  # fmt: skip
    upstream = {**event, "uri": "s3://lake/raw", "asset_id": 2, "source_dag_id": "other", "source_task_id": "land"}
    with recorded("airflow") as system:
        (run,) = system.answers["GET /api/v2/dags/~/dagRuns"]["dag_runs"]
        run |= {"run_type": "asset_triggered", "partition_key": "eu|2026-11-26", "logical_date": None}
        other = {**event, "partition_key": "us|2026-11-26"}
        unkeyed = {**event, "uri": "s3://lake/sums", "partition_key": None}
        system.answers["GET /api/v2/assets/events"]["asset_events"] = [event, event, other, unkeyed]
        path = "GET /api/v2/dags/daily/dagRuns/scheduled__2026-11-26/upstreamAssetEvents"
        system.answers[path] = {"total_entries": 1, "asset_events": [upstream]}
        settings = {"address": system.url, "user": "reader", "password": "secret"}
        sent, report = pull("airflow", settings)
        del system.answers["GET /api/v2/assets/events"]
        bare, blind = pull("airflow", settings)
    assert report.warnings == ()
    runs = {(one["job"]["name"], one["eventType"]): one for one in sent if "run" in one}
    dag_run = runs["daily", "START"]["run"]["facets"]["airflowDagRun"]["dagRun"]
    assert dag_run == {
        "dag_id": "daily", "run_id": "scheduled__2026-11-26", "run_type": "asset_triggered", "partition_key": "eu|2026-11-26",
    }  # fmt: skip
    assert runs["daily.extract", "COMPLETE"]["run"]["facets"]["airflow"]["dagRun"] == dag_run
    (read,) = runs["daily", "START"]["inputs"]
    assert (read["namespace"], read["name"]) == ("s3://lake", "raw")
    assert read["inputFacets"]["subset"]["inputCondition"] == {
        "type": "partition",
        "partitions": [{"identifier": "eu|2026-11-26"}],
    }
    written = {one["name"]: one["outputFacets"] for one in runs["daily.extract", "COMPLETE"]["outputs"]}
    assert written["orders"]["subset"]["outputCondition"]["partitions"] == [
        {"identifier": "eu|2026-11-26"},
        {"identifier": "us|2026-11-26"},
    ]
    assert written["sums"] == {}
    # A task that failed wrote nothing that Airflow knows of.
    assert runs["daily.load", "FAIL"]["outputs"] == []
    assert [one for one in blind.warnings if "events of assets were not read" in one]
    assert not any(one["outputs"] for one in bare if "run" in one)


def test_superset_reads_charts_dashboards_and_who_opened_them() -> None:
    with recorded("superset") as system:
        settings = {
            "address": system.url,
            "user": "reader",
            "password": "secret",
            "namespaces": "shop=postgres://db:5432",
        }
        assert [(one.name, one.state) for one in check("superset", settings)][:4] == [
            ("connect", "ok"),
            ("dataset", "ok"),
            ("chart", "ok"),
            ("dashboard", "ok"),
        ]
        sent, report = pull("superset", settings)
        again, _ = pull("superset", settings, report.cursor)
        del system.answers["GET /api/v1/log/"]
        blind = check("superset", settings)
        _, unseen = pull("superset", settings)
    assert edges(sent) == {
        "chart/1": ({"shop.mart.orders"}, {"chart/1"}),
        "chart/2": ({"shop.mart.orders", "shop.mart.customers"}, {"chart/2"}),
        "dashboard/7": ({"chart/1", "chart/2"}, {"dashboard/7"}),
        "dashboard/8": (set(), {"dashboard/8"}),
    }
    usage = {one["job"]["name"]: one["outputs"][0]["facets"].get("headwater_usage") for one in sent}
    assert usage["dashboard/7"]["lastReadByPersonAt"] == "2026-11-27T08:00:00.000000Z"
    assert usage["dashboard/8"]["status"] == "unread"
    assert again == []
    assert [(one.state, one.remedy) for one in blind if one.name == "log"] == [
        ("missing", "give its role the permission can read on Log")
    ]
    assert any("who opened a dashboard was not read" in one for one in unseen.warnings)


def fields(events: list[dict[str, Any]]) -> dict[str, dict[str, set[str]]]:
    """By job, the columns behind each field."""
    found = {}
    for one in events:
        told = one["outputs"][0]["facets"].get("columnLineage", {"fields": {}})["fields"]
        if told:
            found[one["job"]["name"]] = {
                field: {f"{each['name']}#{each['field']}" for each in some["inputFields"]}
                for field, some in told.items()
            }
    return found


def placed(events: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    facets = {one["job"]["name"]: one["outputs"][0]["facets"] for one in events}
    return {
        name: (one["ownership"]["owners"][0]["name"], one["tags"]["tags"][0]["value"]) for name, one in facets.items()
    }


def test_looker_reads_tiles_by_column_owners_folders_and_last_views() -> None:
    with recorded("looker") as system:
        settings = {
            "address": system.url,
            "client_id": "id",
            "client_secret": "secret",
            "namespaces": "shop_db=postgres://db:5432",
        }
        checks = check("looker", settings)
        assert [(one.name, one.state) for one in checks] == [
            ("connect", "ok"), ("lookml", "ok"), ("connections", "missing"), ("users", "ok"),
        ]  # fmt: skip
        assert checks[2].remedy == "--namespaces 'far_db=postgres://HOST:5432'"
        sent, report = pull("looker", settings)
        assert {one["authorization"] for asked, one in system.asked if "login" not in asked} == {"token a-token"}
        assert not any("secret" in asked for asked, _ in system.asked), "no secret is in an address"
        again, _ = pull("looker", settings, report.cursor)
        system.answers["GET /api/4.0/lookml_models/shop/explores/orders"] |= {
            "sql_table_name": None,
            "joins": [],
            "fields": {},
        }
        del system.answers["GET /api/4.0/users"]
        blind = check("looker", settings)
        _, unseen = pull("looker", settings)
    tiles = {f"dashboard/7/element/{number}" for number in (70, 71, 72)}
    assert edges(sent) == {
        "dashboard/7/element/70": ({"shop.mart.orders", "shop.mart.customers"}, {"dashboard/7/element/70"}),
        "dashboard/7/element/71": ({"shop.mart.orders"}, {"dashboard/7/element/71"}),
        "dashboard/7/element/72": (set(), {"dashboard/7/element/72"}),
        "dashboard/7": (tiles, {"dashboard/7"}),
        "dashboard/8": (set(), {"dashboard/8"}),
    }
    assert fields(sent) == {
        "dashboard/7/element/70": {
            "customers.country": {"shop.mart.customers#country"}, "orders.total": {"shop.mart.orders#amount", "shop.mart.orders#rate"},
        },
        "dashboard/7/element/71": {"orders.day": {"shop.mart.orders#at"}},
    }  # fmt: skip
    assert placed(sent)["dashboard/7"] == ("ana@example.com", "Sales team")
    assert placed(sent)["dashboard/8"] == ("Bob", "Shared")
    usage = {one["job"]["name"]: one["outputs"][0]["facets"].get("headwater_usage") for one in sent}
    assert (usage["dashboard/7"]["reads"], usage["dashboard/7"]["lastReadByPersonAt"]) == (
        41,
        "2026-11-27T08:00:00.000000Z",
    )
    assert usage["dashboard/8"]["status"] == "unread"
    assert again == []
    assert len([one for one in report.warnings if "'Secret'" in one or "'far_db'" in one]) == 2
    assert next((one.name, one.state) for one in blind if one.state != "ok") == ("lookml", "missing")
    assert "see_lookml" in str(next(one.remedy for one in blind if one.name == "lookml"))
    assert next(one.remedy for one in blind if one.name == "users") == "give its role the permission see_users"
    assert any("give its role see_lookml" in one for one in unseen.warnings)
    assert any("see_users" in one for one in unseen.warnings)


def test_tableau_reads_sheets_by_column_owners_projects_and_views() -> None:
    with recorded("tableau") as system:
        settings = {
            "address": system.url,
            "token_name": "t",
            "token": "secret",
            "site": "shop",
            "namespaces": "shop=postgres://db:5432",
        }
        checks = check("tableau", settings)
        assert [(one.name, one.state) for one in checks] == [
            ("connect", "ok"), ("metadata", "ok"), ("databases", "missing"), ("views", "ok"),
        ]  # fmt: skip
        assert checks[2].remedy == "--namespaces 'far=postgres://HOST:5432'"
        sent, report = pull("tableau", settings)
        assert {one["x-tableau-auth"] for asked, one in system.asked if "signin" not in asked} == {"a-token"}
        again, report = pull("tableau", settings, report.cursor)
        system.answers["GET /api/3.21/sites/site-1/views"]["views"]["view"][0]["usage"]["totalViewCount"] = "13"
        looked, _ = pull("tableau", settings, report.cursor)
        system.answers["POST /api/metadata/graphql"]["errors"] = [{"message": "Showing partial results."}]
        del system.answers["GET /api/3.21/sites/site-1/views"]
        blind = check("tableau", settings)
        _, unseen = pull("tableau", settings)
        del system.answers["POST /api/metadata/graphql"]
        off = check("tableau", settings)
    assert edges(sent) == {
        "workbook/w1/view/s1": ({"shop.mart.orders", "shop.mart.customers"}, {"workbook/w1/view/s1"}),
        "workbook/w1/view/m-s2": (set(), {"workbook/w1/view/m-s2"}),
        "workbook/w1/dashboard/d1": ({"workbook/w1/view/s1", "workbook/w1/view/m-s2"}, {"workbook/w1/dashboard/d1"}),
    }
    assert fields(sent) == {
        "workbook/w1/view/s1": {"Country": {"shop.mart.customers#country"}, "Money": {"shop.mart.orders#amount"}}
    }
    assert set(placed(sent).values()) == {("ana@example.com", "Finance")}
    usage = {one["job"]["name"]: one["outputs"][0]["facets"].get("headwater_usage") for one in sent}
    assert usage["workbook/w1/view/s1"]["status"] == "unread"
    assert usage["workbook/w1/dashboard/d1"] is None, "it was viewed, and no one knows when"
    assert again == []
    (board,) = looked
    assert board["outputs"][0]["facets"]["headwater_usage"]["status"] == "active"
    assert board["outputs"][0]["facets"]["headwater_usage"]["reads"] == 13
    assert any("'far'" in one for one in report.warnings)
    assert [(one.name, one.state) for one in blind] == [
        ("connect", "ok"), ("metadata", "missing"), ("databases", "missing"), ("views", "missing"),
    ]  # fmt: skip
    assert {"not all was shown to this user: Showing partial results."} < set(unseen.warnings)
    assert [(one.name, one.state, one.remedy) for one in off][1] == (
        "metadata", "failed", "turn the Metadata API on: tsm maintenance metadata-services enable",
    )  # fmt: skip


def test_powerbi_reads_models_by_column_reports_dashboards_owners_and_workspaces() -> None:
    with recorded("powerbi") as system:
        settings = {
            "address": system.url,
            "login": system.url,
            "tenant": "shop.example.com",
            "client_id": "id",
            "client_secret": "secret",
            "namespaces": "shop=postgres://db:5432",
        }
        checks = check("powerbi", settings)
        assert [(one.name, one.state) for one in checks] == [
            ("connect", "ok"), ("schema", "ok"), ("databases", "missing"),
        ]  # fmt: skip
        assert "'FAR'" in checks[2].text
        sent, report = pull("powerbi", settings)
        assert {one["authorization"] for asked, one in system.asked if "token" not in asked} == {"Bearer a-token"}
        assert not any("secret" in asked for asked, _ in system.asked), "no secret is in an address"
        again, _ = pull("powerbi", settings, report.cursor)
        named, _ = pull("powerbi", {**settings, "namespaces": "FAR=snowflake://org-far"})
        for model in system.answers["GET /v1.0/myorg/admin/workspaces/scanResult/scan-1"]["workspaces"][0]["datasets"]:
            del model["tables"]
        blind = check("powerbi", settings)
        del system.answers["GET /v1.0/myorg/admin/workspaces/modified"]
        refused = check("powerbi", settings)
    assert edges(sent) == {
        "dataset/m1": ({"shop.mart.orders", "shop.mart.customers", "shop.mart.returns"}, {"dataset/m1"}),
        "dataset/m2": (set(), {"dataset/m2"}),
        "dataset/m1/report/r1": ({"dataset/m1"}, {"dataset/m1/report/r1"}),
        "report/r2": (set(), {"report/r2"}),
        "dashboard/d1": ({"dataset/m1/report/r1", "dataset/m2"}, {"dashboard/d1"}),
    }
    total = {"shop.mart.orders#amount"}
    assert fields(sent)["dataset/m1"] == {
        "Orders[amount]": total,
        "Orders[Customer]": {"shop.mart.orders#customer"},
        "Orders[With Tax]": total,
        "Orders[Total]": total,
        "Orders[Share]": total | {"shop.mart.customers#country"},
        "Customers[country]": {"shop.mart.customers#country"},
    }
    assert fields(sent)["dataset/m1/report/r1"]["Orders[Total]"] == {"dataset/m1#Orders[Total]"}
    assert placed(sent) == {
        "dataset/m1": ("ana@example.com", "Finance"),
        "dataset/m2": ("bob@example.com", "Finance"),
        "dataset/m1/report/r1": ("ana@example.com", "Finance"),
        "report/r2": ("bob@example.com", "Finance"),
        "dashboard/d1": ("ana@example.com", "Finance"),
    }
    assert again == []
    assert any("'FAR'" in one for one in report.warnings)
    assert fields(named)["dataset/m2"] == {"Away[X]": {"FAR.PUBLIC.AWAY#X"}}
    assert [(one.name, one.state) for one in blind][1:] == [("schema", "missing")]
    assert [(one.name, one.state) for one in refused] == [("workspaces", "failed")]


def test_versions_of_a_schema_registry_are_versions_of_topics() -> None:
    settings = {"namespace": "kafka://broker:9092", "user": "reader", "password": "secret"}
    with recorded("schema_registry") as system:
        settings["address"] = system.url
        assert check("schema_registry", settings)[0].text == "3 subjects, compatibility BACKWARD"
        sent, report = pull("schema_registry", settings)
        assert {one["authorization"] for _, one in system.asked} == {"Basic cmVhZGVyOnNlY3JldA=="}
        again, _ = pull("schema_registry", settings, report.cursor)
        system.answers["GET /config/orders-value"] = {"compatibilityLevel": "NONE"}
        changed, _ = pull("schema_registry", settings, report.cursor)
    told = [(one["outputs"][0]["name"], one["outputs"][0]["facets"]["version"]["datasetVersion"]) for one in sent]
    assert told == [("orders", "1"), ("orders", "3"), ("clicks", "1")]
    first, second, clicks = (one["outputs"][0]["facets"] for one in sent)
    assert [(one["name"], one["type"]) for one in first["schema"]["fields"]] == [
        ("id", "long"),
        ("at", "timestamp-millis"),
    ]
    assert [(one["name"], one["type"]) for one in second["schema"]["fields"]] == [
        ("id", "long"),
        ("at", "timestamp-millis"),
        ("to", "record"),
    ]
    assert second["schema"]["fields"][2]["fields"] == [{"name": "city", "type": "string", "description": "Where to."}]
    assert [one["headwater_compatibility"]["compatibility"] for one in (first, clicks)] == ["FULL", "BACKWARD"]
    assert clicks["schema"]["fields"] == [{"name": "url", "type": "string"}, {"name": "seconds", "type": "number/null"}]
    assert sent[0]["eventTime"] < sent[1]["eventTime"]
    assert again == []
    assert [one["outputs"][0]["facets"]["headwater_compatibility"]["compatibility"] for one in changed] == ["NONE"]


MANIFEST = {
    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "project_name": "shop", "adapter_type": "postgres", "generated_at": "2026-11-26T01:00:00Z"},
    "nodes": {
        "model.shop.orders": {"resource_type": "model", "name": "orders", "database": "shop", "schema": "mart", "alias": "orders", "description": "All orders.", "config": {"materialized": "table"}, "compiled_code": "select * from raw.orders", "depends_on": {"nodes": ["source.shop.raw.orders", "model.shop.between"]}},
        "model.shop.between": {"resource_type": "model", "name": "between", "database": "shop", "schema": "mart", "config": {"materialized": "ephemeral"}, "depends_on": {"nodes": ["source.shop.raw.customers"]}},
    },
    "sources": {
        "source.shop.raw.orders": {"resource_type": "source", "source_name": "raw", "name": "orders", "database": "shop", "schema": "raw", "identifier": "orders"},
        "source.shop.raw.customers": {"resource_type": "source", "name": "customers", "database": "shop", "schema": "raw", "identifier": "customers"},
    },
}  # fmt: skip
RESULTS = {
    "metadata": {"invocation_id": "one", "generated_at": "2026-11-26T02:00:00Z"},
    "results": [{"unique_id": "model.shop.orders", "status": "success", "timing": [{"name": "execute", "started_at": "2026-11-26T01:59:00Z", "completed_at": "2026-11-26T01:59:30Z"}], "adapter_response": {"rows_affected": 7}}],
}  # fmt: skip
CATALOG = {
    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"},
    "nodes": {"model.shop.orders": {"metadata": {"database": "shop", "schema": "mart", "name": "orders"}, "columns": {"id": {"index": 1, "name": "id", "type": "integer"}}}},
    "sources": {},
}  # fmt: skip


@pytest.mark.parametrize("by_address", [False, True])
def test_dbt_reads_a_folder_or_an_address(tmp_path: Path, by_address: bool) -> None:
    files = {"manifest": MANIFEST, "catalog": CATALOG, "run_results": RESULTS}
    with recorded("airflow") as system:
        if by_address:
            system.answers = {f"GET /docs/{name}.json": content for name, content in files.items()}
        else:
            (tmp_path / "target").mkdir()
            for name, content in files.items():
                (tmp_path / "target" / f"{name}.json").write_text(json.dumps(content))
        settings = {
            "artifacts": f"{system.url}/docs/" if by_address else str(tmp_path),
            "namespace": "postgres://db:5432",
            "token": "bearer-token",
        }
        assert [one.state for one in check("dbt", settings)] == ["ok"] * 3
        sent, report = pull("dbt", settings)
        again, _ = pull("dbt", settings, report.cursor)
        cut_off, _ = pull("dbt", settings)
        if by_address:
            assert {one["authorization"] for _, one in system.asked} == {"Bearer bearer-token"}
    assert edges(sent) == {"shop.orders": ({"shop.raw.orders", "shop.raw.customers"}, {"shop.mart.orders"})}
    assert sent[0]["outputs"][0]["facets"]["schema"]["fields"] == [{"name": "id", "type": "integer"}]
    assert [one["eventType"] for one in sent if "run" in one] == ["START", "COMPLETE"]
    # A pull that was cut off and is done again tells of the same runs.
    assert [one.get("run") for one in cut_off] == [one.get("run") for one in sent]
    assert again == []


def test_dbt_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidQuestion, match="run dbt compile there"):
        check("dbt", {"artifacts": str(tmp_path), "namespace": "n"})
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    checks = check("dbt", {"artifacts": str(tmp_path), "namespace": "n"})
    assert [(one.name, one.state, one.remedy) for one in checks[1:]] == [
        ("catalog.json", "missing", "dbt docs generate"), ("run_results.json", "missing", "dbt build"),
    ]  # fmt: skip


def test_a_system_that_asks_for_patience_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("headwater.connectors.rest.time.sleep", waited.append)
    with recorded("metabase") as system, Rest(system.url) as rest:
        system.refusals = [(429, {"Retry-After": "7"}), (503, {})]
        assert rest.get("/api/user/current")["id"] == 1
        assert [one for one in waited if one > 0.1] == [7.0, 4.0]
        system.refusals = [(500, {})] * 4
        with pytest.raises(ServerUnavailable, match="did not answer 4 times, the last time: HTTP 500"):
            rest.get("/api/user/current")
        system.refusals = [(403, {})]
        with pytest.raises(Forbidden, match="HTTP 403"):
            rest.get("/api/user/current")
        with pytest.raises(NotFound):
            rest.get("/nothing")


def test_no_error_has_a_secret_in_it() -> None:
    """Whatever a system answers: here it answers with the key that it was sent."""
    lines: list[ConnectorLine] = []
    task = ConnectorTask("test", "metabase", "one", {"address": "http://127.0.0.1:1/hush-hush", "api_key": "hush-hush"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwater.connectors.rest.PAUSES", ())
        assert run_task(task, lines.append) == 1
    failure = lines[-1].failure
    assert failure is not None
    assert "***" in failure.message
    assert "hush-hush" not in failure.message
    assert not failure.permanent


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_module_and_a_line_in_the_docs(kind: str) -> None:
    module = connector(kind)
    assert callable(module.test)
    assert callable(module.pull)
    text = (Path(__file__).parents[3] / "docs/howto/sources.md").read_text()
    assert f"| `{kind}` |" in text


def test_owners_and_folders_of_metabase_and_superset() -> None:
    def places(kind: str, settings: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
        with recorded(kind) as system:
            sent, _ = pull(kind, {"address": system.url, **settings})
        found = {}
        for one in sent:
            facets = one["outputs"][0]["facets"]
            owner = facets["ownership"]["owners"][0]["name"] if "ownership" in facets else None
            folder = facets["tags"]["tags"][0]["value"] if "tags" in facets else None
            found[one["job"]["name"]] = (owner, folder)
        return found

    metabase = places("metabase", {"api_key": "mb_secret"})
    assert (metabase["card/12"], metabase["card/13"]) == (("ann@example.org", "Finance"), (None, None))
    assert metabase["dashboard/5"] == (None, "Finance")
    superset = places("superset", {"user": "reader", "password": "secret", "namespaces": "shop=postgres://db:5432"})
    assert superset == {
        "chart/1": ("Ann Lee", None),
        "chart/2": ("Ann Lee", None),
        "dashboard/7": ("Ann Lee", None),
        "dashboard/8": (None, None),
    }


def test_metabase_follows_the_columns_of_the_builder() -> None:
    """The shapes of Metabase 50 and later: `result_metadata` refers into the query by numbers, names, places and expressions."""

    def shown(name: str, reference: list[Any]) -> dict[str, Any]:
        return {"name": name, "display_name": name.title(), "base_type": "type/Text", "field_ref": reference}

    money = ["*", ["field", 70, None], ["field", 71, {"base-type": "type/Float"}]]
    grouped = {
        "source-table": 7, "expressions": {"money": money}, "breakout": [["field", 72, {"temporal-unit": "month"}]],
        "aggregation": [["sum", ["expression", "money"]], ["count"], ["sum", ["field", 70, None]], ["aggregation-options", ["max", ["field", 71, None]], {"name": "most"}]],
        "joins": [{"alias": "Big", "source-table": "card__12", "fields": "all", "condition": ["=", ["field", 72, None], ["field", "id", {"join-alias": "Big"}]]}],
    }  # fmt: skip
    cards = [
        (20, grouped, [shown("at", ["field", 72, {"temporal-unit": "month"}]), shown("sum", ["aggregation", 0]), shown("count", ["aggregation", 1]),
                       shown("sum_2", ["aggregation", 2]), shown("most", ["aggregation", 3]), shown("country", ["field", "country", {"join-alias": "Big"}]),
                       shown("region", ["field", 90, {"source-field": 71}]), shown("hidden", ["field", 91, None])]),
        (21, {"source-query": grouped, "filter": [">", ["field", "sum", {}], 3]}, [shown("at", ["field", "at", {}]), shown("sum", ["field", "sum", {}]), shown("most", ["field", "most", {}]), shown("gone", ["field", "gone", {}])]),
        (22, {"source-table": "card__20"}, []),
    ]  # fmt: skip
    fields = [{"id": id_, "name": name} for id_, name in ((70, "amount"), (71, "rate"), (72, "at"))]
    with recorded("metabase") as system:
        for id_, query, metadata in cards:
            system.answers["GET /api/card"].append(
                {"id": id_, "name": str(id_), "dataset_query": {"database": 2, "query": query}, "result_metadata": metadata}
            )  # fmt: skip
        system.answers["GET /api/table/7/query_metadata"] = {"id": 7, "fields": fields}
        system.answers["GET /api/field/90"] = {"id": 90, "name": "region", "table_id": 7}
        sent, report = pull("metabase", {"address": system.url, "api_key": "mb_secret"})
        again, _ = pull("metabase", {"address": system.url, "api_key": "mb_secret"}, report.cursor)
    lineage = {
        one["job"]["name"]: {
            field: sorted(f"{each['name']}.{each['field']}" for each in made["inputFields"])
            for field, made in one["outputs"][0]["facets"]["columnLineage"]["fields"].items()
        }
        for one in sent
        if "columnLineage" in one["outputs"][0]["facets"]
    }
    table = "shop.mart.countries"
    assert lineage["card/20"] == {
        "at": [f"{table}.at"], "sum": [f"{table}.amount", f"{table}.rate"], "sum_2": [f"{table}.amount"], "most": [f"{table}.rate"],
        "country": ["card/12.country"], "region": [f"{table}.region"],
    }  # fmt: skip
    assert lineage["card/21"] == {
        "at": [f"{table}.at"],
        "sum": [f"{table}.amount", f"{table}.rate"],
        "most": [f"{table}.rate"],
    }
    assert lineage["card/22"] == {name: [f"card/20.{name}"] for name in ("at", "sum", "count", "sum_2", "most", "country", "region", "hidden")}  # fmt: skip
    assert any("field 91 was not read" in one for one in report.warnings)
    assert again == []


def test_dbt_tells_how_fresh_its_sources_are(tmp_path: Path) -> None:
    (source,) = [key for key in MANIFEST["sources"] if key.endswith("raw.orders")]
    found = {
        "unique_id": source, "status": "warn", "max_loaded_at": "2026-11-27T20:00:00+00:00",
        "snapshotted_at": "2026-11-28T08:30:00+00:00", "max_loaded_at_time_ago_in_s": 45_000.0,
        "criteria": {"warn_after": {"count": 1, "period": "hour"}, "error_after": {"count": 24, "period": "hour"}, "filter": None},
    }  # fmt: skip
    lost = {"unique_id": source, "status": "runtime error", "error": "no such table"}
    gone = {**found, "unique_id": "source.shop.raw.gone"}
    results = {"metadata": {"invocation_id": "i-1"}, "results": [found, gone]}
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    settings = {"artifacts": str(tmp_path), "namespace": "postgres://db:5432"}
    _, before = pull("dbt", settings)
    (tmp_path / "sources.json").write_text(json.dumps(results))
    (event,), report = pull("dbt", settings, before.cursor)
    again, _ = pull("dbt", settings, report.cursor)
    assert again == []
    assert (event["eventType"], event["job"]["name"], event["eventTime"]) == ("COMPLETE", "shop.raw.orders.freshness", "2026-11-28T08:30:00+00:00")  # fmt: skip
    (table,) = event["inputs"]
    assert (table["namespace"], table["name"]) == ("postgres://db:5432", "shop.raw.orders")
    (check_,) = table["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert check_ == {
        "assertion": "freshness", "success": False, "severity": "warn", "actual": "12.5 hours",
        "expected": "warn after 1 hour, error after 24 hours",
    }  # fmt: skip
    assert table["inputFacets"]["dataQualityMetrics"]["lastUpdated"] == "2026-11-27T20:00:00+00:00"
    (tmp_path / "sources.json").write_text(json.dumps({"metadata": {"invocation_id": "i-2"}, "results": [lost]}))
    (event,), _ = pull("dbt", settings, report.cursor)
    assert (event["eventType"], event["run"]["facets"]["errorMessage"]["message"]) == ("FAIL", "no such table")
    (tmp_path / "sources.json").write_text("{}")
    with pytest.raises(InvalidQuestion, match="let dbt write it again"):
        pull("dbt", settings)
