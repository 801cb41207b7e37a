"""Run the programs of a list in one Spark, and keep which events each made: `spark-submit driver.py PROGRAMS FOLDER EVENTS FLUSH`.

FLUSH: `ours` waits for capture; `jar` for Spark's listeners, which the jar is one of, and then until each run that it began has its last event
and nothing more comes for two seconds, at most for 30. Leaves `told.json`: by program its events and its error.
"""

import json
import os
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession, Window, functions

programs, folder, events, how = yaml.safe_load(Path(sys.argv[1]).read_text()), *sys.argv[2:5]
HOME = Path(os.environ["SPARK_HOME"])
spark = SparkSession.builder.appName("coverage").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
land = f"{folder}/land"


def make_inputs() -> None:
    """Make the inputs, which no program is judged by."""
    Path(land).mkdir(parents=True)
    Path(folder, "data").symlink_to(HOME / "data")  # the programs that ship with PySpark name it so
    texts = {
        "lines.txt": "a b\nb c\n",
        "numbers.txt": "3\n1\n2\n",
        "links.txt": "a b\nb a\n",
        "points.txt": "0 0\n1 1\n9 9\n",
        "raw.csv": "id,email,amount,day\n1,A@x,2.5,2024-03-05\n",
        "events.json": '{"id":1,"who":{"name":"ann","city":"north"},"tags":["x","y"]}\n',
    }
    for name, text in texts.items():
        Path(land, name).write_text(text)
    tables = {
        "people": ("id int, name string, city string, age int", (1, "ann", "north", 30)),
        "orders": ("no int, person int, amount double, kind string, day string", (1, 1, 9.5, "a", "2024-03-05")),
        "store_sales": (
            "ss_sold_date_sk int, ss_item_sk int, ss_customer_sk int, ss_quantity int, ss_ext_sales_price double",
            (1, 1, 1, 2, 9.0),
        ),
        "date_dim": ("d_date_sk int, d_year int, d_moy int", (1, 2000, 11)),
        "item": (
            "i_item_sk int, i_brand_id int, i_brand string, i_manufact_id int, i_category string, i_price double",
            (1, 1, "b", 128, "c", 3.0),
        ),
        "customer": ("c_customer_sk int, c_current_addr_sk int", (1, 1)),
        "customer_address": ("ca_address_sk int, ca_state string", (1, "ME")),
    }
    for name, (schema, row) in tables.items():
        spark.createDataFrame([row], schema).coalesce(1).write.parquet(f"{land}/{name}")


def settle() -> None:
    """Wait until everything that Spark did is reported."""
    if how == "ours":
        from headwater.capture.spark import attach

        attach(spark).flush(30)
    else:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        began = changed = time.monotonic()
        seen = 0
        while time.monotonic() - began < 30:
            told = [json.loads(line) for line in lines()]
            if len(told) != seen:
                seen, changed = len(told), time.monotonic()
            ended = {one["run"]["runId"] for one in told if one["eventType"] in {"COMPLETE", "FAIL", "ABORT"}}
            open_ = {one["run"]["runId"] for one in told if is_of_a_query(one)} - ended
            if time.monotonic() - changed > (2 if not open_ else 10):
                return
            time.sleep(0.2)


def is_of_a_query(event: dict[str, Any]) -> bool:
    """Return whether an event is of a run that ends before the application does."""
    return "parent" in event["run"]["facets"]


def run(number: int, program: dict[str, Any]) -> str:
    out = f"{folder}/out{number}"
    try:
        if "code" in program:
            exec(
                compile(program["code"], program["name"], "exec"),
                {"spark": spark, "land": land, "out": out, "F": functions, "Window": Window},
            )
        else:
            sys.argv = [program["example"], *(word.replace("land/", f"{land}/") for word in program.get("args", []))]
            runpy.run_path(str(HOME / "examples/src/main/python" / program["example"]), run_name="__main__")
    except Exception:  # noqa: BLE001 - the table says it
        return traceback.format_exc()[-1500:]
    return ""


def lines() -> list[str]:
    return Path(events).read_text().splitlines() if Path(events).exists() else []


stop, SparkSession.stop = SparkSession.stop, lambda self: None  # the programs share one
make_inputs()
settle()
told = []
for number, program in enumerate(programs):
    before = len(lines())
    error = run(number, program)
    settle()
    told.append({"error": error, "events": [json.loads(line) for line in lines()[before:]]})
    print(program["name"], "failed" if error else "", flush=True)
Path(folder, "told.json").write_text(json.dumps(told))
stop(spark)
