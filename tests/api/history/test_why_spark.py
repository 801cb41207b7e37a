"""`headwater why` of real Spark runs, captured by `headwater run`: each true cause is ranked first, from what capture sent and nothing else.

A package `load` turns a file into Parquet, and `report` reads that. Four good days with PySpark 3.5, then two bad runs for each of four causes, and one
history for each: the good days and the bad runs of one cause. `make soak` runs the programs; the suite reads the events of such a run
(tests/cases/why).
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from tests.api.usage.measures import ask, send

Events = list[dict[str, Any]]

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests/cases/why"
CONF = '{spark.ui.enabled: "false", spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}'
LOAD = f"""\
metadata: {{name: load, namespace: shop, owner: data, description: Loads the orders}}
run: {{kind: pyspark, script: main.py, args: ["${{data}}"], conf: {CONF}}}
parameters: {{data: data}}
outputs: [{{name: orders, type: parquet, location: "${{data}}/orders"}}]
"""
REPORT = f"""\
metadata: {{name: report, namespace: shop, owner: data, description: Sums the orders}}
run: {{kind: pyspark, script: main.py, args: ["${{data}}", "${{least}}"], conf: {CONF}}}
parameters: {{data: data, least: "10"}}
inputs: [{{name: orders, type: parquet, location: "${{data}}/orders"}}]
outputs: [{{name: report, type: parquet, location: "${{data}}/report"}}]
"""
LOADING = """
    import sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("load").getOrCreate()
    spark.read.json(f"{sys.argv[1]}/raw").write.mode("overwrite").parquet(f"{sys.argv[1]}/orders")
"""
REPORTING = """
    import sys
    from pyspark.sql import SparkSession

    data, least = sys.argv[1:]
    spark = SparkSession.builder.appName("report").getOrCreate()
    orders = spark.read.parquet(f"{data}/orders")
    over = orders.selectExpr("id", f"cast(amount as int) - {int(least)} as over")
    over.write.mode("overwrite").parquet(f"{data}/report")
    rows = spark.read.parquet(f"{data}/report").count()
    assert rows < 1_000, f"{rows} rows are more than the mail takes"
"""
# A word where a number is expected: null for Spark 3.5, an error for Spark 4.
ODD = "none"


class Cause(NamedTuple):
    """The kind of the true cause, and a word of its name. `error`: in the message of the failed runs."""

    kind: str
    name: str
    error: str


CAUSES = {
    "upgrade": Cause("engine", "spark", "CAST_INVALID_INPUT"),
    "dropped_column": Cause("schema", "orders", "amount"),
    "parameter": Cause("parameter", "least", "ten"),
    "tenfold": Cause("volume", "orders", "more than the mail takes"),
}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Events]:
    """The events of the good days with those of the bad runs, for each cause. Sixteen programs of Spark, with two versions of it."""
    home = tmp_path_factory.mktemp("why")
    for name, manifest, program in (("load", LOAD, LOADING), ("report", REPORT, REPORTING)):
        (home / name).mkdir()
        (home / name / "dk.yaml").write_text(manifest, encoding="utf-8")
        (home / name / "main.py").write_text(dedent(program), encoding="utf-8")
    older = subprocess.run(
        [ROOT / "scripts/environment", "spark-3.5"], check=True, capture_output=True, text=True, cwd=ROOT
    )
    (packages,) = Path(older.stdout.split()[-1]).parents[1].glob("lib/python3*/site-packages")

    def ran(into: str, package: str, *words: str, upgraded: bool = False) -> int:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEADWATER_", "OPENLINEAGE_", "SPARK_", "PYSPARK_"))
        }
        path = {} if upgraded else {"PYTHONPATH": str(packages)}
        told = {
            "HEADWATER_TRANSPORT": "file",
            "HEADWATER_EVENTS_FILE": str(home / f"{into}.ndjson"),
            "HEADWATER_SPOOL": str(home / "spool"),
        }
        command = [
            sys.executable,
            "-m",
            "headwater.cli.capture.run",
            str(home / package),
            "--param",
            f"data={home}/data",
            *words,
        ]
        return subprocess.run(command, env=kept | path | told, capture_output=True, timeout=600, check=False).returncode

    def raw(rows: int, *columns: str) -> None:
        (home / "data/raw").mkdir(parents=True, exist_ok=True)
        orders = ({"id": n, "amount": ODD if n == 7 else str(2 * n)} for n in range(rows))
        lines = (json.dumps({name: one[name] for name in columns}) for one in orders)
        (home / "data/raw/orders.json").write_text("\n".join(lines), encoding="utf-8")

    for day in range(4):
        if day % 2 == 0:
            raw(200 + 10 * day, "amount", "id")
            assert ran("good", "load") == 0
        assert ran("good", "report") == 0
    for _ in range(2):
        assert ran("upgrade", "report", upgraded=True) != 0
        assert ran("parameter", "report", "--param", "least=ten") != 0
    raw(210, "id")
    assert ran("dropped_column", "load") == 0
    assert [ran("dropped_column", "report") != 0 for _ in range(2)] == [True, True]
    raw(2_100, "amount", "id")
    assert ran("tenfold", "load") == 0
    assert [ran("tenfold", "report") != 0 for _ in range(2)] == [True, True]

    return histories(home)


def histories(folder: Path) -> dict[str, Events]:
    """Return the recorded events of each cause, those of the good days first."""

    def events(name: str) -> Events:
        return [json.loads(line) for line in (folder / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()]

    return {cause: events("good") + events(cause) for cause in CAUSES}


def assert_first(client: Any, name: str, events: Events) -> None:
    send(client, *events)
    told = ask(client, "/api/v2/why", job="job:shop:report")
    assert (told["question"], told["runs"], told["bad"], told["goes_on"]) == ("failed", 6, 2, True)
    cause = CAUSES[name]
    assert cause.error in told["first_bad"]["error"]
    first = told["suspects"][0]["causes"][0]
    assert (first["kind"], cause.name in first["name"]) == (cause.kind, True), told["suspects"][:3]


@pytest.mark.parametrize("name", CAUSES)
def test_the_true_cause_is_first(client: Any, name: str) -> None:
    assert_first(client, name, histories(RECORDED)[name])


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("name", CAUSES)
def test_the_true_cause_of_programs_that_run_now_is_first(client: Any, fresh: dict[str, Events], name: str) -> None:
    assert_first(client, name, fresh[name])
