"""A statement as OpenLineage says it, up to what the server makes of it."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from headwater.client import event
from headwater.columns import Statement, analyse
from headwater.columns.edges import fields_made
from headwater.columns.openlineage import facets, is_path, names
from headwater.intake.events.project import Projector
from headwater.model.event import read
from headwater.model.names import DatasetName
from headwater.store.events.rows import DatasetRow, JobRow, ReportColumnRow


@pytest.mark.parametrize(
    ("table", "dialect", "namespace", "expected"),
    [
        (("p-1", "d", "t"), "bigquery", "", ("bigquery", "p-1.d.t")),
        (("p-1", "d", "t$20260101"), "bigquery", "", ("bigquery", "p-1.d.t")),
        (("DB", "S", "T"), "snowflake", "snowflake://org-acc", ("snowflake://org-acc", "DB.S.T")),
        (("db", "public", "t"), "postgres", "postgresql://h:5432", ("postgres://h:5432", "db.public.t")),
        (("Db", "T"), "mysql", "mysql://h:3306", ("mysql://h:3306", "Db.T")),
        (("Db", "T"), "spark", "hive://h:9083", ("hive://h:9083", "db.t")),
        (("cat", "Db", "T"), "athena", "arn:aws:glue:eu-west-1:1", ("arn:aws:glue:eu-west-1:1", "table/db/t")),
        (("s3a://b/x/y",), "spark", "hive://h", ("s3://b", "x/y")),
        (("s3://b/x/day=1/z.parquet",), "duckdb", "", ("s3://b", "x")),
        (("gs://b/x/y*.csv",), "bigquery", "", ("gs://b", "x")),
        (("hdfs://n:8020/d/t",), "hive", "", ("hdfs://n:8020", "/d/t")),
        (("/data/Flights",), "spark", "", ("file", "/data/Flights")),
        (("file:///data/x",), "spark", "", ("file", "/data/x")),
        (("./in/x.parquet",), "duckdb", "", ("file", "in/x.parquet")),
        (("in/*.parquet",), "duckdb", "", ("file", "in")),
        (("@stage/x",), "snowflake", "snowflake://o-a", ("snowflake://o-a", "@stage/x")),
        (("t",), "duckdb", "", ("duckdb", "t")),
    ],
)
def test_names(table: tuple[str, ...], dialect: str, namespace: str, expected: tuple[str, str]) -> None:
    assert names(table, dialect, namespace) == DatasetName(*expected)


def test_relative_paths_start_somewhere() -> None:
    assert names(("in/x.csv",), "duckdb", base="/data") == DatasetName("file", "/data/in/x.csv")


def test_a_table_with_a_dot_in_its_only_part_is_no_path() -> None:
    assert not is_path(("a.b",))
    assert not is_path(("s", "x.csv"))
    assert is_path(("x.csv",))


def only(text: str, dialect: str = "") -> Statement:
    (found,) = analyse(text, dialect)
    return found


def subtypes(fields: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {
        f"{one['name']}.{one['field']}": [
            kind["subtype"] + (" masked" if kind["masking"] else "") for kind in one["transformations"]
        ]
        for one in fields
    }


def test_columns_and_what_decides_about_rows() -> None:
    told = facets(
        only("INSERT INTO s.t (a, b) SELECT sum(x.n), md5(x.m) FROM s.x AS x WHERE x.k > 1 GROUP BY md5(x.m)"),
        namespace="db://h",
        query="the text",
    )
    assert told.inputs == (DatasetName("db://h", "s.x"),)
    (output,) = told.outputs
    assert output == DatasetName("db://h", "s.t")
    lineage = told.outputs[output]["columnLineage"]
    assert subtypes(lineage["fields"]["a"]["inputFields"]) == {"s.x.n": ["AGGREGATION"]}
    assert subtypes(lineage["fields"]["b"]["inputFields"]) == {"s.x.m": ["TRANSFORMATION masked"]}
    assert subtypes(lineage["dataset"])["s.x.k"] == ["FILTER"]
    assert told.job == {"sql": {"query": "the text"}}


def test_stars_and_unresolved_names_are_left_out_and_their_tables_stay() -> None:
    told = facets(only("CREATE TABLE t AS SELECT q.*, n FROM s.q, s.r"), namespace="db://h")
    assert {name.name for name in told.inputs} == {"s.q", "s.r"}
    (output,) = told.outputs.values()
    assert "*" not in output["columnLineage"]["fields"]
    # Either of the two may have it; an empty list of inputs would mean that nothing feeds it.
    assert "n" not in output["columnLineage"]["fields"]


def test_a_whole_row_is_left_out() -> None:
    told = facets(only("CREATE TABLE t AS SELECT hash(q.*) AS h, q.a FROM s.q AS q"), namespace="db://h")
    (output,) = told.outputs.values()
    assert list(output["columnLineage"]["fields"]) == ["a"]


def test_what_nothing_feeds_is_said_to_have_no_inputs() -> None:
    told = facets(only("CREATE TABLE t AS SELECT count(*) AS n, 1 AS one, max(a) AS a FROM s"), namespace="db://h")
    (output,) = told.outputs.values()
    fields = output["columnLineage"]["fields"]
    assert (fields["n"], fields["one"]) == ({"inputFields": []}, {"inputFields": []})
    assert [one["field"] for one in fields["a"]["inputFields"]] == ["a"]


def test_two_writes_of_one_table_are_one_facet() -> None:
    told = facets(
        only("FROM s INSERT INTO TABLE t SELECT s.a + 1 AS x INSERT INTO TABLE t SELECT s.a AS x, s.b AS y", "hive")
    )
    (lineage,) = (one["columnLineage"] for one in told.outputs.values())
    assert subtypes(lineage["fields"]["x"]["inputFields"]) == {"s.a": ["TRANSFORMATION"]}
    assert set(lineage["fields"]) == {"x", "y"}


@pytest.mark.parametrize(
    ("text", "dialect", "output", "change", "previous"),
    [
        ("CREATE TABLE t AS SELECT 1 AS a", "", "t", "CREATE", None),
        ("INSERT OVERWRITE TABLE t SELECT a FROM s", "spark", "t", "OVERWRITE", None),
        ("DROP TABLE t", "", "t", "DROP", None),
        ("TRUNCATE TABLE t", "", "t", "TRUNCATE", None),
        ("ALTER TABLE t RENAME TO u", "postgres", "u", "RENAME", "t"),
    ],
)
def test_what_happens_to_a_table(text: str, dialect: str, output: str, change: str, previous: str | None) -> None:
    told = facets(only(text, dialect), dialect, "db://h")
    (found,) = told.outputs
    assert found.name == output
    body = told.outputs[found]["lifecycleStateChange"]
    assert body["lifecycleStateChange"] == change
    assert body.get("previousIdentifier", {}).get("name") == previous


def test_the_server_takes_it_in() -> None:
    """Read and projected as the server does it: no warning, and the edges that were meant."""
    text = "INSERT INTO s.t (a) SELECT CASE WHEN x.k > 1 THEN x.n END FROM s.x AS x JOIN s.y AS y ON x.i = y.i"
    told = facets(only(text, "postgres"), "postgres", "postgres://h:5432", text)
    kinds = {"columnLineage": "ColumnLineageDatasetFacet", "lifecycleStateChange": "LifecycleStateChangeDatasetFacet"}
    body = event.job(
        ("sql", "load"),
        inputs=[event.dataset(name.namespace, name.name) for name in told.inputs],
        outputs=[
            event.dataset(
                name.namespace,
                name.name,
                facets={key: event.facet(kinds[key], **fields) for key, fields in found.items()},
            )
            for name, found in told.outputs.items()
        ],
        job_facets={"sql": event.facet("SQLJobFacet", **told.job["sql"])},
    )
    received = read(msgspec.json.encode(body))
    changes = Projector()(received, dt.datetime.now(dt.UTC), b"0" * 16)
    assert not changes.warnings
    mentioned = {row.id for kind in (DatasetRow, JobRow) for row in changes.of(kind)}
    assert set(changes.take_nodes(mentioned)) == {
        "dataset:postgres://h:5432:s.t",
        "dataset:postgres://h:5432:s.x",
        "dataset:postgres://h:5432:s.y",
        "job:sql:load",
    }
    assert changes.of(ReportColumnRow)


def test_a_field_inside_a_struct_is_an_output_as_spark_capture_calls_it() -> None:
    made, read = analyse(
        "create table t as select struct(a, struct(b)) as k from f; create table u as select k.a as x from t", "spark"
    )
    (output,) = facets(made, "spark").outputs.values()
    fields = output["columnLineage"]["fields"]
    assert {name: [one["field"] for one in found["inputFields"]] for name, found in fields.items()} == {
        "k": ["a", "b"],
        "k.a": ["a"],
        "k.col2": ["b"],
        "k.col2.b": ["b"],
    }
    for known, field in ((fields_made([made]), "k.a"), (frozenset(), "k")):
        (output,) = facets(read, "spark", made=known).outputs.values()
        assert [one["field"] for one in output["columnLineage"]["fields"]["x"]["inputFields"]] == [field]
