"""Times and durations in every form the products export, against what they mean."""

from decimal import Decimal
from typing import Any

import pytest

pytestmark = pytest.mark.spark

NOON = "2026-07-01 12:00:00.25"
TIMES = {
    "2026-07-01T12:00:00.250Z": NOON,
    "2026-07-01 12:00:00.250000": NOON,
    "2026-07-01 12:00:00.25 UTC": NOON,
    "2026-07-01 12:00:00.250+00": NOON,
    " 2026-07-01 05:00:00.250 -0700 ": NOON,
    "2026-07-01T14:00:00.250000000+02:00": NOON,
    "2026-07-01 14:00:00.25 Europe/Berlin": NOON,
    "1782907200.25": NOON,
    "1.78290720025E9": NOON,
    "1782907200250": NOON,
    "1782907200250000": NOON,
    "1782907200250000000": NOON,
    "2026-07-01": "2026-07-01 00:00:00",
    "12:00:00": None,
    "2026": None,
    "yesterday": None,
    "": None,
    "2026-13-45 00:00:00": None,
    "9" * 60: None,
}
DURATIONS = {
    "PT1M2.5S": 62_500,
    "PT0.0014S": Decimal("1.4"),
    "P1DT1H": 90_000_000,
    "62.50s": 62_500,
    "250.00ms": 250,
    "1.5m": 90_000,
    "0.25": 250,
    "12": 12_000,
    "soon": None,
}


def test_times(spark: Any) -> None:
    from headwater.pipeline.query_log.sources.fields import moment

    frame = spark.createDataFrame([(said,) for said in TIMES], "said string")
    assert {row[0]: row[1] for row in frame.select("said", moment("said").cast("string")).collect()} == TIMES


def test_durations_of_trino(spark: Any) -> None:
    from pyspark.sql import functions as F

    from headwater.pipeline.query_log.sources.trino import duration

    frame = spark.createDataFrame([(said,) for said in DURATIONS], "said string")
    assert {row[0]: row[1] for row in frame.select("said", duration(F.col("said"))).collect()} == DURATIONS
