"""The session of a pipeline costs no more messages to the JVM than it must."""

from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import functions as F

from headwater.pipeline.expressions import once_a_jvm

pytestmark = pytest.mark.spark


def test_the_jvm_is_not_asked_where_an_expression_was_written(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark 4 asks, by some ten messages for each expression, unless the driver was started without that; a sync makes thousands of expressions.

    Nor is it asked again what `col` is, by two messages more.
    """
    assert F.col("first") is not None  # asks once whether it is to ask
    messages: list[str] = []
    client = type(spark.sparkContext._gateway._gateway_client)
    send = client.send_command

    def count(self: Any, command: str, *more: Any, **named: Any) -> Any:
        messages.append(command)
        return send(self, command, *more, **named)

    monkeypatch.setattr(client, "send_command", count)
    assert F.col("a") is not None
    asked = [command for command in messages if not command.startswith("m\n")]  # what the garbage collector lets go of
    assert len(asked) == 1, asked


def test_what_is_the_same_for_every_log_is_built_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    @once_a_jvm
    def twice(name: str) -> Any:
        built.append(name)
        return F.col(name) * 2

    @once_a_jvm
    def thrice(name: str) -> Any:
        return F.col(name) * 3

    for first, last in ((1, 2), (3, 4)):
        rows = spark.createDataFrame([(first, last)], "a long, b long")
        (row,) = rows.select(twice("a"), twice("b"), thrice("a")).collect()
        assert tuple(row) == (2 * first, 2 * last, 3 * first)
    assert built == ["a", "b"]
    # Lookups of another JVM do not count for this one.
    kept = twice("a")
    monkeypatch.setattr(SparkContext, "_gateway", object())
    monkeypatch.setattr(F, "col", lambda name: 1)
    assert twice("a") == 2
    monkeypatch.undo()
    assert twice("a") is kept
