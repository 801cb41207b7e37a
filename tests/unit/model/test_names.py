"""Names: one spelling for each thing, and every reading of a node id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model import version
from headwater.model.names import (
    DatasetName,
    JobName,
    from_jdbc,
    from_location,
    node_id_readings,
    normalised,
    short,
    suffixes_match,
    without_partitions,
)
from headwater.model.names import location as where


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("/data/flights", "file", "/data/flights"),
        ("/data/flights/", "file", "/data/flights"),
        ("file:/data/flights", "file", "/data/flights"),
        ("file:///data/flights", "file", "/data/flights"),
        ("file://localhost/data", "file", "/data"),
        ("file://nas/data", "file://nas", "/data"),
        ("file:///a%20b", "file", "/a b"),
        ("relative/x", "file", "/base/relative/x"),
        ("../x", "file", "/x"),
        ("s3a://bucket/raw/orders", "s3://bucket", "raw/orders"),
        ("s3://bucket/raw/day=2020-01-01/part-0.parquet", "s3://bucket", "raw"),
        ("s3://bucket", "s3://bucket", "/"),
        ("hdfs://nn:8020/warehouse/t/", "hdfs://nn:8020", "/warehouse/t"),
        ("abfs://c@a.dfs.core.windows.net/p", "abfss://c@a.dfs.core.windows.net", "/p"),
        ("/data/day=2020-01-01/hour=3", "file", "/data"),
        ("/day=1", "file", "/day=1"),
    ],
)
def test_locations(location: str, namespace: str, name: str) -> None:
    found = from_location(location, base="/base")
    assert found == DatasetName(namespace, name)
    assert from_location(where(found)) == found


@pytest.mark.parametrize(
    ("url", "table", "expected"),
    [
        (
            "jdbc:postgresql://db.example:5433/shop?user=u&password=p",
            "orders",
            ("postgres://db.example:5433", "shop.public.orders"),
        ),
        ("jdbc:postgresql://u:secret@db/shop", "sales.orders", ("postgres://db:5432", "shop.sales.orders")),
        ("jdbc:mysql://db/shop", "orders", ("mysql://db:3306", "shop.orders")),
        ("jdbc:sqlserver://db;databaseName=shop;user=u", "dbo.[orders]", ("mssql://db:1433", "shop.dbo.orders")),
        ("jdbc:postgresql://db/shop", '"sales"."Orders"', ("postgres://db:5432", "shop.sales.Orders")),
    ],
)
def test_jdbc_keeps_no_secret(url: str, table: str, expected: tuple[str, str]) -> None:
    assert from_jdbc(url, table) == DatasetName(*expected)


@given(st.text(min_size=1), st.text(min_size=1))
def test_normalising_twice_is_normalising_once(namespace: str, name: str) -> None:
    once = normalised(namespace, name)
    assert normalised(once.namespace, once.name) == once


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_node_id_is_read_as_what_it_was_among_others(namespace: str, name: str) -> None:
    assert DatasetName(namespace, name) in node_id_readings(DatasetName(namespace, name).node_id)
    assert JobName(namespace, name) in node_id_readings(JobName(namespace, name).node_id)


def test_what_is_no_node_id_has_no_reading() -> None:
    assert node_id_readings("run:abc:def") == []
    assert node_id_readings("dataset:nocolon") == []


@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=3, unique=True).map(tuple))
def test_ids_differ_where_names_differ(parts: tuple[str, ...]) -> None:
    """No two ways to cut the same characters give the same id."""
    one, two = parts[0], parts[1]
    assert version.dataset_id(DatasetName(one, two)) != version.dataset_id(DatasetName(one + two, ""))
    assert version.dataset_id(DatasetName(one, two)) != version.job_id(JobName(one, two))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/data/clean/flights", "flights"),
        ("db.public.orders", "orders"),
        ("/r/report.html", "report.html"),
        ("x", "x"),
        ("/", "/"),
    ],
)
def test_short(name: str, expected: str) -> None:
    assert short(name) == expected


def test_suffixes_stand_on_borders() -> None:
    assert suffixes_match("/data/clean/flights", "clean/flights")
    assert not suffixes_match("/data/unclean/flights", "clean/flights")


def test_partitions_go_with_all_below_them() -> None:
    assert without_partitions("/t/day=1/x/part-0.parquet") == "/t"
    assert without_partitions("/t/a.b") == "/t/a.b"
