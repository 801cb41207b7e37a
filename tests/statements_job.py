"""Statements over tables, and what Spark finds at the versions that capture told: `spark-submit statements_job.py STATEMENTS FOLDER [hive | connect | gone]`.

With `gone` no version is read: the statements removed them. With `connect` the session is that of `SPARK_REMOTE`, whose server has the catalogs.

Leaves beside the tables: `told.json`, by statement the event of its end; `history.json`, by table that keeps versions all of them, the first one first; and
`found.json`, how many rows Spark reads at each version that was told as written;
and `columns.json`, which columns.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.capture.spark import attach

statements, folder = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
builder = SparkSession.builder.appName("lake")
if "connect" not in sys.argv[3:]:
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse")
if "hive" in sys.argv[3:]:
    store = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    builder = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", store).enableHiveSupport()
elif "connect" not in sys.argv[3:]:
    builder = (
        builder.config(
            "spark.sql.extensions",
            "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        )
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", f"{folder}/ice")
    )
spark = builder.getOrCreate()
attachment = attach(spark)
events = Path(os.environ["HEADWATER_EVENTS_FILE"])


def ended() -> list[dict]:
    attachment.flush()
    told = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    return [each for each in told if each["eventType"] in {"COMPLETE", "FAIL"} and each["outputs"]]


told = []
for each in statements:
    before = len(ended())
    if "sql" in each:
        spark.sql(each["sql"].replace("FOLDER", folder))
    else:
        exec("\n".join(each["python"]), {"spark": spark, "folder": folder})
    told.append(ended()[before:])
Path(folder, "told.json").write_text(json.dumps(told))

history, found, columns = {}, {}, {}
for each in (event for some in told for event in some if "gone" not in sys.argv[3:]):
    output = each["outputs"][0]
    place, layer = output["name"], output["facets"].get("storage", {}).get("storageLayer")
    version = output["facets"].get("version", {}).get("datasetVersion")
    kept = {"delta": "_delta_log", "iceberg": "metadata"}.get(layer)
    if kept is None or version is None or not Path(place, kept).exists():
        continue  # what was dropped is not there to be read
    read = spark.read.format(layer).option("versionAsOf", version).load(place)
    found.setdefault(place, {})[version] = read.count()
    columns.setdefault(place, {})[version] = read.columns
    if layer == "iceberg":
        snapshots = spark.read.format("iceberg").load(f"{place}#snapshots").orderBy("committed_at").collect()
        history[place] = [str(row.snapshot_id) for row in snapshots]
    else:
        history[place] = [str(number) for number in range(len(list(Path(place, "_delta_log").glob("*.json"))))]
Path(folder, "history.json").write_text(json.dumps(history))
Path(folder, "columns.json").write_text(json.dumps(columns))
Path(folder, "found.json").write_text(json.dumps(found))
spark.stop()
