"""The decisions of `headwater sync` before Spark starts."""

from pathlib import Path

import pytest

from headwater.cli.spark import sync

NAME = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_a_spark_without_logging_configuration_logs_errors_only() -> None:
    properties = {NAME: "-Xss4m"}
    sync._hushed(properties)
    before, _, file = properties[NAME].partition(" -Dlog4j2.configurationFile=file://")
    assert before == "-Xss4m -Xlog:disable -Xlog:all=warning:stderr"
    assert "rootLogger.level = error" in Path(file).read_text(encoding="utf-8")
    again = dict(properties)
    sync._hushed(again)
    assert again == properties


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT"])
def test_a_spark_with_logging_configuration_follows_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    properties: dict[str, str] = {}
    sync._hushed(properties)
    assert properties == {}
