"""The files and options that `CREATE TEMPORARY VIEW … USING` names, in the ways that Spark's grammar allows."""

import pytest

from headwater.capture.spark.connect import views


@pytest.mark.parametrize(
    ("text", "kind", "schema", "options"),
    [
        ("create temporary view v using parquet options (path '/a/b')", "parquet", "", {"path": "/a/b"}),
        ("CREATE OR REPLACE TEMP VIEW `using` USING csv OPTIONS ('path' = '/a, (b)', header true)", "csv", "",
         {"path": "/a, (b)", "header": "true"}),
        ("create temp view v (id int, amount decimal(10,2) comment 'a (b') using json options (path \"/o'x\", a.b 1.5)", "json",
         "id int , amount decimal ( 10 , 2 ) comment 'a (b'", {"path": "/o'x", "a.b": "1.5"}),
        ("create global temporary view v -- using csv\n using org.apache.spark.sql.jdbc options (url 'jdbc:h2:m', dbtable 'it\\'s')",
         "org.apache.spark.sql.jdbc", "", {"url": "jdbc:h2:m", "dbtable": "it's"}),
        ("create temporary view v using rate", "rate", "", {}),
    ],
)  # fmt: skip
def test_the_source_of_a_view(text: str, kind: str, schema: str, options: dict[str, str]) -> None:
    source = views.source_of_view(text).read.data_source
    assert (source.format, source.schema, dict(source.options)) == (kind, schema, options)


@pytest.mark.parametrize(
    "text", ["create temp view v as select a from b join c using (d)", "create temp view v", "create temp view v using"]
)
def test_a_view_of_a_query_has_none(text: str) -> None:
    assert views.source_of_view(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("create or replace global temp view v as select 1", "global_temp.v"),
        (" CREATE GLOBAL TEMPORARY VIEW v using csv", "global_temp.v"),
        ("create temp view v using csv", "v"),
        ("create view global as select 1", "v"),
    ],
)
def test_the_name_of_a_view(text: str, name: str) -> None:
    assert views.name_of_view(text, ["v"]) == name
