"""Every facet of OpenLineage's specification has an effect that a user can see: one case each, and a row of docs/reference/facets.md."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.events import RUN, columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client

ROOT = Path(__file__).parents[3]
W = "postgres://w:5432"
Case = Callable[[Client], object]
CASES: dict[str, Case] = {}


def case(*names: str) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        CASES.update(dict.fromkeys(names, function))
        return function

    return add


def send(client: Client, event: dict[str, Any]) -> None:
    reply = client.post("/api/v1/lineage", encoded(event))
    assert (reply.status_code, reply.json()["warnings"]) == (201, [])


def sent(client: Client, *, inputs: Any = (), outputs: Any = (), type_: str = "COMPLETE", run: int = 1, job: str = "load", **facets: Any) -> None:  # fmt: skip
    send(client, run_event(type_, run, job, list(inputs), list(outputs), **facets))


def of_run(client: Client, run: int = 1) -> dict[str, Any]:
    return client.get(f"/api/v2/runs/{RUN.format(run)}").json()  # type: ignore[no-any-return]


def of_job(client: Client, job: str = "load") -> dict[str, Any]:
    return client.get(f"/api/v2/jobs/test/{job}").json()  # type: ignore[no-any-return]


def of_dataset(client: Client, name: str = "out") -> dict[str, Any]:
    return client.get(f"/api/v2/datasets/file/%2F{name}").json()  # type: ignore[no-any-return]


def upstream(client: Client, name: str) -> set[str]:
    answer = client.get("/api/v2/lineage", node=f"dataset:file:{name}", direction="upstream", depth=9).json()
    return {one["name"] for one in answer["nodes"]} - {name}


def labelled(client: Client, label: str) -> list[str]:
    return [one["job"] for one in client.get("/api/v2/runs", label=label).json()["runs"]]


def with_trait(client: Client, trait: str, kind: str = "datasets") -> list[str]:
    listed = [one["name"] for one in client.get(f"/api/v2/{kind}", trait=trait).json()[kind]]
    word = trait.partition(":")[2]
    assert {one["name"] for one in client.get("/api/v2/search", q=word).json()["results"]} >= set(listed)
    return listed


# -- of runs --


@case("nominalTime")
def nominal_time(client: Client) -> object:
    told = facet(nominalStartTime="2026-01-01T00:00:00Z", nominalEndTime="2026-01-02T00:00:00Z")
    sent(client, run_facets={"nominalTime": told})
    return of_run(client)["nominal_end"] == "2026-01-02T00:00:00Z"


@case("parent")
def parent_run(client: Client) -> object:
    sent(client, run_facets=parent(2, "dag"))
    return of_run(client)["parent"] == {"run_id": RUN.format(2), "job": "job:test:dag"}


@case("errorMessage")
def error_message(client: Client) -> object:
    sent(
        client,
        type_="FAIL",
        run_facets={"errorMessage": facet(message="disk full\nat 3", programmingLanguage="PYTHON")},
    )
    return of_run(client)["error"] == "disk full"


@case(
    "processing_engine",
    "externalQuery",
    "environmentVariables",
    "tags",
    "gcp_composer_run",
    "gcp_dataproc",
    "airflowDagRun",
    "airflow",
)
def labels_of_a_run(client: Client) -> object:
    facets = {
        "processing_engine": facet(name="spark", version="4.1.0"),
        "externalQuery": facet(externalQueryId="01b2-33", source="snowflake://acct"),
        "environmentVariables": facet(environmentVariables=[{"name": "REGION", "value": "eu"}]),
        "tags": facet(
            tags=[
                {"key": "team", "value": "web", "source": "USER"},
                {"key": "openlineage_client_version", "value": "1.54.0", "source": "OPENLINEAGE_CLIENT"},
            ]
        ),
        "gcp_composer_run": facet(dagRunId="scheduled__2026-01-01"),
        "gcp_dataproc": facet(appId="application_1", jobType="PYSPARK_JOB"),
        "airflowDagRun": facet(dagRun={"run_id": "manual__1", "partition_key": "2026-01-01|eu"}),
        "airflow": facet(dagRun={"run_id": "manual__1", "partition_key": None}),
    }
    sent(client, run_facets=facets, type_="START")
    sent(client, run_facets=facets)
    sent(client, run=2, job="other", run_facets={"tags": facet(tags=[{"key": "team", "value": "data"}])})
    labels = {
        "engine=spark 4.1.0", "query=01b2-33", "variable:REGION=eu", "tag:team=web", "gcp_composer_run.dagRunId=scheduled__2026-01-01",
        "gcp_dataproc.appId=application_1", "gcp_dataproc.jobType=PYSPARK_JOB", "partition=2026-01-01|eu",
    }  # fmt: skip
    assert {f"{one['name']}={one['value']}" for one in of_run(client)["labels"]} == labels
    return all(labelled(client, one) == ["job:test:load"] for one in labels)


@case("extractionError")
def extraction_error(client: Client) -> object:
    failed = facet(totalTasks=1, failedTasks=1, errors=[{"errorMessage": "no grammar for QUALIFY"}])
    sent(client, outputs=[dataset("/out", **schema("x"))], run_facets={"extractionError": failed})
    return "no grammar for QUALIFY" in of_dataset(client)["completeness"]["summary"]


@case("executionParameters")
def execution_parameters(client: Client) -> object:
    sent(client, run_facets={"executionParameters": facet(parameters=[{"key": "day", "value": "2026-01-01"}])})
    return of_run(client)["parameters"] == {"day": "2026-01-01"}


@case("jobDependencies")
def job_dependencies(client: Client) -> object:
    def told(*names: str) -> dict[str, Any]:
        jobs = [{"job": {"namespace": "test", "name": name}, "dependency_type": "ASSET"} for name in names]
        after = [{"job": {"namespace": "test", "name": "report"}}]
        return {"jobDependencies": facet(upstream=jobs, downstream=after)}

    sent(client, run_facets=told("extract", "clean"))
    assert [(one["job"], one["kind"]) for one in of_job(client)["runs_after"]] == [("job:test:clean", "ASSET"), ("job:test:extract", "ASSET")]  # fmt: skip
    assert [one["job"] for one in of_job(client, "report")["runs_after"]] == ["job:test:load"]
    send(client, run_event("COMPLETE", 2, "load", at="2026-01-02T00:00:00Z", run_facets=told("extract")))
    assert [one["job"] for one in of_job(client)["runs_after"]] == ["job:test:extract"]
    assert of_job(client, "clean")["runs_before"] == []
    return [one["job"] for one in of_job(client, "extract")["runs_before"]] == ["job:test:load"]


@case("test")
def checks_of_a_run(client: Client) -> object:
    sent(client, outputs=["/in"], job="first")
    result = {"name": "few rows", "status": "fail", "severity": "error", "expected": "<= 3", "actual": "7"}
    sent(client, run=2, inputs=["/in"], run_facets={"test": facet(tests=[result])}, at="2026-01-02T00:00:00Z")
    found = client.get("/api/v2/open-incidents").json()["incidents"]
    return any("few rows" in str(one) and "7" in str(one) for one in found)


@case("greatExpectations_assertions")
def checks_of_great_expectations(client: Client) -> object:
    """Two expectations of one kind for one column are one check; that one of them failed shows."""
    found = [
        {"expectationType": "expect_column_values_to_be_between", "success": success, "column": "amount"}
        for success in (False, True)
    ]
    sent(client, outputs=["/in"], job="first")
    read = {**dataset("/in"), "inputFacets": {"greatExpectations_assertions": facet(assertions=found)}}
    sent(client, run=2, type_="FAIL", inputs=[read], job="validate", at="2026-01-02T00:00:00Z")
    incidents = client.get("/api/v2/open-incidents").json()["incidents"]
    return any("expect_column_values_to_be_between" in str(one) for one in incidents)


# -- of jobs --


@case("jobType", "gcp_composer_job", "gcp_lineage")
def traits_of_a_job(client: Client) -> object:
    facets = {
        "jobType": facet(processingType="STREAMING", integration="FLINK", jobType="JOB"),
        "gcp_composer_job": facet(taskId="load_task"),
        "gcp_lineage": facet(displayName="Nightly load"),
    }
    sent(client, type_="START", job_facets=facets)
    sent(client, run=2, job="other", job_facets={"jobType": facet(processingType="BATCH", integration="DBT")})
    traits = [
        "gcp_composer_job.taskId:load_task",
        "display_name:Nightly load",
        "kind:JOB",
        "integration:FLINK",
        "processing:STREAMING",
    ]
    assert of_job(client)["traits"] == traits
    assert of_job(client)["streaming"] is True
    return all(with_trait(client, one, "jobs") == ["load"] for one in traits)


@case("dbt_node")
def jobs_of_a_model(client: Client) -> object:
    def told(kind: str) -> dict[str, Any]:
        node = facet(unique_id="model.shop.orders", database="shop")
        return {"dbt_node": node, "jobType": facet(processingType="BATCH", integration="DBT", jobType=kind)}

    sent(client, job="shop.main.shop.orders.build.run", job_facets=told("MODEL"))
    sent(client, run=2, job="model.shop.orders", job_facets=told("MODEL"))
    sent(client, run=3, job="shop.main.shop.orders.build.test", job_facets=told("TEST"))
    sent(client, run=4, job="nightly_orders", job_facets=told("MODEL"))
    names = {"model.shop.orders", "shop.main.shop.orders.build.test", "nightly_orders"}
    assert set(with_trait(client, "dbt:model.shop.orders", "jobs")) == names
    return of_job(client, "model.shop.orders")["same_as"] == ["job:test:nightly_orders"]


@case("sql")
def sql(client: Client) -> object:
    query = {"sql": facet(query="insert into t select a from s", dialect="postgres")}
    sides = [dataset("db.public.s", W, **schema("a"))], [dataset("db.public.t", W, **schema("a"))]
    send(client, run_event("COMPLETE", 1, "load", *sides, job_facets=query))
    answer = client.get("/api/v2/lineage", node=f"dataset:{W}:db.public.t", columns="true").json()
    return [one["origin"] for one in answer["column_edges"]] == ["PARSED_SQL"]


@case("sourceCode")
def source_code(client: Client) -> object:
    for run in (1, 2):
        told = {"sourceCode": facet(language="python", sourceCode=f"rows = {run}")}
        send(client, run_event("COMPLETE", run, "load", at=f"2026-01-0{run}T00:00:00Z", job_facets=told))
    found = client.get(f"/api/v2/runs/{RUN.format(1)}/diff/{RUN.format(2)}").text
    return "rows = 1" in found and "rows = 2" in found


@case("sourceCodeLocation")
def source_code_location(client: Client) -> object:
    told = {"sourceCodeLocation": facet(type="git", url="https://git.example.test/a.py", version="9f3c")}
    sent(client, job_facets=told)
    return of_run(client)["code"] == {"version": "9f3c", "url": "https://git.example.test/a.py", "dirty": None}


# -- of jobs and datasets --


@case("documentation", "ownership")
def description_and_owners(client: Client) -> object:
    told = {"documentation": facet(description="All trips"), "ownership": facet(owners=[{"name": "ann", "type": "TEAM"}])}  # fmt: skip
    sent(client, outputs=[dataset("/out", **told)], job_facets=told)
    for one in (of_job(client), of_dataset(client)):
        assert (one["description"], one["owner_names"]) == ("All trips", ["ann"])
    return len(client.get("/api/v2/search", q="trips", owner="ann").json()["results"]) == 2


@case("lineage")
def explicit_lineage(client: Client) -> object:
    entries = [{"type": "DATASET", "namespace": "file", "name": "/out", "inputs": [{"type": "DATASET", "namespace": "file", "name": "/in"}]}]  # fmt: skip
    sent(client, inputs=["/in", "/no"], outputs=["/out"], job_facets={"lineage": facet(entries=entries)})
    return upstream(client, "/out") == {"load", "/in"}


# -- of datasets --


@case("schema", "columnLineage")
def columns_and_their_lineage(client: Client) -> object:
    sent(client, outputs=[dataset("/out", **schema("x", "y"), **columns({"x": [("/in", "a", "DIRECT:IDENTITY")]}))])
    assert [one["name"] for one in of_dataset(client)["fields"]] == ["x", "y"]
    return of_dataset(client)["completeness"]["summary"].startswith("1 of 2 columns traced")


@case("dataSource")
def data_source(client: Client) -> object:
    sent(client, outputs=[dataset("/out", dataSource=facet(name="lake", uri="s3://lake/out"))])
    found = client.get("/api/v1/sources").json()["sources"]
    return ("lake", "s3://lake/out") in {(one["name"], one["connectionUrl"]) for one in found}


@case("version")
def version(client: Client) -> object:
    sent(client, outputs=[dataset("/out", version=facet(datasetVersion="17"))])
    return of_dataset(client)["versions"][0]["external_version"] == "17"


@case("catalog", "datasetType", "hierarchy", "storage")
def traits_of_a_dataset(client: Client) -> object:
    facets = {
        "catalog": facet(framework="iceberg", type="rest", name="prod", warehouseUri="s3://lake/wh"),
        "datasetType": facet(datasetType="VIEW", subType="MATERIALIZED"),
        "hierarchy": facet(hierarchy=[{"type": "DATABASE", "name": "shop"}, {"type": "SCHEMA", "name": "mart"}]),
        "storage": facet(storageLayer="iceberg", fileFormat="parquet"),
    }
    sent(client, outputs=[dataset("/out", **facets), dataset("/plain", storage=facet(storageLayer="s3"))])
    traits = of_dataset(client)["traits"]
    assert traits == [
        "catalog:prod", "framework:iceberg", "catalog_type:rest", "warehouse:s3://lake/wh", "kind:VIEW", "subtype:MATERIALIZED", "database:shop",
        "schema:mart", "storage:iceberg", "format:parquet",
    ]  # fmt: skip
    return all(with_trait(client, one) == ["/out"] for one in traits if "://" not in one)


@case("symlinks")
def symlinks(client: Client) -> object:
    other = facet(identifiers=[{"namespace": "hive://h:9083", "name": "mart.out", "type": "TABLE"}])
    sent(client, outputs=[dataset("/out", symlinks=other)])
    return of_dataset(client)["aliases"] == ["dataset:hive://h:9083:mart.out"]


@case("lifecycleStateChange")
def a_rename_keeps_the_history(client: Client) -> object:
    sent(client, inputs=["/raw"], outputs=["/old"], job="first")
    change = facet(lifecycleStateChange="RENAME", previousIdentifier={"namespace": "file", "name": "/old"})
    sent(client, run=2, job="rename", outputs=[dataset("/out", lifecycleStateChange=change)])
    found = of_dataset(client)
    assert found["versions"][0]["lifecycle"] == "RENAME"
    assert "renamed_from:/old" in found["traits"]
    return upstream(client, "/out") == {"rename", "/old", "first", "/raw"}


@case("dataQualityAssertions")
def assertions(client: Client) -> object:
    result = {"assertion": "not_null", "success": False, "column": "x", "severity": "error", "expected": "0", "actual": "4"}  # fmt: skip
    told = {"dataQualityAssertions": facet(assertions=[result])}
    sent(client, outputs=[dataset("/out", **schema("x"), **told)])
    found = client.get("/api/v2/open-incidents").json()["incidents"]
    return any("not_null" in str(one) and "found 4" in str(one) for one in found)


@case("dbt_exposures")
def dashboards_of_dbt(client: Client) -> object:
    told = [
        {
            "name": "weekly_sales",
            "type": "dashboard",
            "unique_id": "exposure.shop.weekly_sales",
            "url": "https://bi.example.test/7",
        }
    ]
    sent(client, inputs=["/in"], outputs=[dataset("/out", dbt_exposures=facet(exposures=told))])
    answer = client.get("/api/v2/lineage", node="dataset:file:/in", direction="downstream").json()
    assert "exposure.shop.weekly_sales" in {one["name"] for one in answer["nodes"]}
    up = client.get("/api/v2/lineage", node="dataset:test:exposure.shop.weekly_sales", direction="upstream").json()
    assert {one["name"] for one in up["nodes"]} >= {"/out", "load", "/in"}
    drop = client.post("/api/v2/whatif", encoded({"drop": "dataset:file:/out"})).json()
    assert [one["id"] for one in drop["dashboards"]] == ["dataset:test:exposure.shop.weekly_sales"]
    assert with_trait(client, "exposure:weekly_sales") == ["exposure.shop.weekly_sales"]
    # The next run of the model names none: the dashboard is fed no more.
    send(client, run_event("COMPLETE", 2, "load", ["/in"], ["/out"], at="2026-01-02T00:00:00Z"))
    answer = client.get("/api/v2/lineage", node="dataset:file:/in", direction="downstream").json()
    return "exposure.shop.weekly_sales" not in {one["name"] for one in answer["nodes"]}


# -- of inputs and outputs --


@case("inputStatistics", "dataQualityMetrics", "icebergScanReport")
def amounts_read(client: Client) -> object:
    def amounts(run: int, **facets: Any) -> tuple[Any, ...]:
        sent(client, run=run, job=f"j{run}", inputs=[{**dataset("/in"), "inputFacets": facets}])
        (one,) = of_run(client, run)["inputs"]
        return tuple(one[key] for key in ("rows", "bytes", "files", "external_version"))

    assert amounts(1, inputStatistics=facet(rowCount=10, size=200, fileCount=3)) == (10, 200, 3, None)
    assert amounts(2, dataQualityMetrics=facet(rowCount=7, bytes=70, columnMetrics={})) == (7, 70, None, None)
    return amounts(3, icebergScanReport=facet(snapshotId=42)) == (None, None, None, "42")


@case("outputStatistics", "icebergCommitReport")
def amounts_written(client: Client) -> object:
    def written(name: str, **facets: Any) -> tuple[Any, ...]:
        sent(client, job=name, outputs=[{**dataset(f"/{name}"), "outputFacets": facets}])
        (one,) = of_dataset(client, name)["versions"]
        return tuple(one[key] for key in ("rows", "bytes", "files", "external_version"))

    metrics = {"addedRecords": 5, "addedFilesSizeInBytes": 50, "addedDataFiles": 1, "totalRecords": 500}
    commit = facet(snapshotId=43, sequenceNumber=2, operation="append", commitMetrics=metrics)
    assert written("a", outputStatistics=facet(rowCount=10, size=200, fileCount=3)) == (10, 200, 3, None)
    assert written("b", icebergCommitReport=commit) == (5, 50, 1, "43")
    return written("c", outputStatistics=facet(rowCount=6), icebergCommitReport=commit) == (6, 50, 1, "43")


@case("subset")
def subset(client: Client) -> object:
    day = {"type": "compare", "comparison": "EQUAL", "left": {"type": "field", "field": "day"}, "right": {"type": "literal", "value": "2026-01-01"}}  # fmt: skip
    sent(client, inputs=[{**dataset("/in"), "inputFacets": {"subset": facet(inputCondition=day)}}])
    return of_run(client)["inputs"][0]["parts"] == [{"day": "2026-01-01"}]


@pytest.mark.parametrize("name", CASES)
def test_a_facet_has_an_effect(client: Client, name: str) -> None:
    assert CASES[name](client)


def test_the_page_lists_these_facets() -> None:
    text = (ROOT / "docs/reference/facets.md").read_text(encoding="utf-8")
    table = text.partition("## Facets of the specification")[2].partition("\n## ")[0]
    listed = [
        name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    ]
    assert sorted(listed) == sorted(CASES)


@pytest.mark.parametrize(
    "facets",
    [
        {"run_facets": {"jobDependencies": facet(upstream=3)}},
        {"outputs": [dataset("/out", dbt_exposures=facet(exposures={}))]},
        {"outputs": [dataset("/out", lifecycleStateChange=facet(previousIdentifier=[]))]},
        {"outputs": [{**dataset("/out"), "outputFacets": {"icebergCommitReport": facet(snapshotId=[])}}]},
    ],
    ids=["jobDependencies", "dbt_exposures", "lifecycleStateChange", "icebergCommitReport"],
)
def test_a_malformed_facet_is_named_and_takes_nothing_with_it(client: Client, facets: dict[str, Any]) -> None:
    outputs = facets.pop("outputs", ["/out"])
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "load", ["/in"], outputs, **facets)))
    assert {one["code"] for one in reply.json()["warnings"]} == {"facet_not_understood"}
    assert upstream(client, "/out") == {"load", "/in"}


@pytest.mark.parametrize("label", ["query", "=x", ""])
def test_a_label_without_name_or_value_is_refused(client: Client, label: str) -> None:
    assert client.get("/api/v2/runs", label=label).status_code == 400
