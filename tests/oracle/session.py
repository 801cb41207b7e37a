"""One Spark session for the oracles, outside of pytest too."""

import logging
import tempfile
from pathlib import Path
from typing import Any


def start(home: Path | None = None) -> Any:
    from pyspark.sql import SparkSession

    home = home or Path(tempfile.mkdtemp(prefix="oracle-"))
    session = (
        SparkSession.builder.master("local[1]")
        .appName("oracle")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # a refused statement is an answer
    return session
