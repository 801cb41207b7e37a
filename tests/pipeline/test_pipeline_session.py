"""The session of a pipeline costs no more messages to the JVM than it must."""

from typing import Any

import pytest
from pyspark.sql import functions as F

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
