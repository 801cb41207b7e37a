"""The decisions of `headwater sync` before Spark starts."""

from pathlib import Path

import pytest

from headwater.cli.spark import sync
from headwater.pipeline.one_task import BYTES

NAME = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT", *sync._JAVA_OPTIONS):
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


def write_log(folder: Path, *sizes: int) -> str:
    for number, size in enumerate(sizes):
        (folder / f"{number}.parquet").write_bytes(b"x" * size)
    return f"{folder}/*.parquet"


def test_a_small_log_has_a_jvm_that_compiles_quickly(tmp_path: Path) -> None:
    properties = {NAME: "-Xss4m"}
    sync._start_quickly(properties, [write_log(tmp_path, 10, 20)])
    assert properties[NAME] == f"{sync._QUICK_COMPILER} -Xss4m"


def test_a_large_log_has_the_jvm_that_compiles_well(tmp_path: Path) -> None:
    properties: dict[str, str] = {}
    sync._start_quickly(properties, [write_log(tmp_path, BYTES, 1)])
    assert properties == {}


def test_a_log_of_unknown_size_has_the_jvm_that_compiles_well(tmp_path: Path) -> None:
    properties: dict[str, str] = {}
    sync._start_quickly(properties, [write_log(tmp_path, 10), "s3a://bucket/*.parquet"])
    assert properties == {}


def test_options_of_the_driver_are_left_as_they_are(tmp_path: Path) -> None:
    properties = {NAME: "-XX:TieredStopAtLevel=4"}
    sync._start_quickly(properties, [write_log(tmp_path, 10)])
    assert properties == {NAME: "-XX:TieredStopAtLevel=4"}


@pytest.mark.parametrize("name", sync._JAVA_OPTIONS)
def test_options_of_every_java_are_left_as_they_are(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "-XX:+UseZGC")
    properties: dict[str, str] = {}
    sync._start_quickly(properties, [write_log(tmp_path, 10)])
    assert properties == {}
