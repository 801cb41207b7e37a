"""Prices: what executions cost, to the last place, and what is said of a list that makes no sense."""

from typing import Any

import pytest
from tests.fixtures.pipeline import rows_of
from tests.pipeline.measured import case, plain

from headwater.errors import InvalidPrices
from headwater.pipeline.query_log import prices
from headwater.pipeline.query_log import schema as S

CASES = case("prices")


@pytest.mark.spark
def test_money_of_executions(spark):
    from pyspark.sql import functions as F

    executions = rows_of(
        spark, [told(place, row) for place, row in enumerate(CASES["executions"])], priced(S.LANDED_ROWS)
    )
    for row in executions.withColumn("money", prices.money(prices.parse(CASES["prices"]))).collect():
        wanted = CASES["executions"][int(row["query_id"])]
        assert plain(row["money"]) == (
            wanted["money"] and wanted["money"].rstrip("0" if "." in wanted["money"] else "")
        ), wanted
    sizes = spark.createDataFrame(
        [(row["namespace"], row["bytes"]) for row in CASES["storage"]], "namespace string, bytes long"
    )
    kept = sizes.select(
        prices.keeping(prices.parse(CASES["prices"]), F.col("namespace"), F.col("bytes")).alias("money"), "namespace"
    )
    assert kept.schema["money"].dataType.simpleString() == prices.MONEY
    assert {row["namespace"]: plain(row["money"]) for row in kept.collect()} == {
        row["namespace"]: row["money"] for row in CASES["storage"]
    }
    nothing = executions.select(prices.money(prices.parse({"currency": "EUR"})).alias("money"))
    assert nothing.where("money is not null").count() == 0
    assert nothing.schema["money"].dataType.simpleString() == prices.MONEY


def told(place: int, row: dict[str, Any]) -> dict[str, Any]:
    return {"query_id": str(place), **row, "credits": None if "credits" not in row else float(row["credits"])}


def priced(schema: Any) -> Any:
    """The schema with every column nullable: of these rows only what costs is told."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, True) for field in schema.fields])


@pytest.mark.parametrize(("told", "message"), CASES["wrong"], ids=[message for _, message in CASES["wrong"]])
def test_a_list_that_makes_no_sense_is_refused_by_field(told, message):
    with pytest.raises(InvalidPrices) as refused:
        prices.parse(told)
    assert message in refused.value.message
    assert refused.value.detail["field"]


def test_a_file(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("currency: EUR\ncompute:\n  - source: bigquery\n    per_tib_billed: 6.25\n", encoding="utf-8")
    assert prices.read(path).currency == "EUR"
    path.write_text("currency: [EUR\n", encoding="utf-8")
    with pytest.raises(InvalidPrices, match=r"prices\.yaml cannot be read"):
        prices.read(path)
    with pytest.raises(InvalidPrices, match="cannot be read"):
        prices.read(tmp_path / "none.yaml")
