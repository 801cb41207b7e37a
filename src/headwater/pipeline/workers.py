"""Check, before the first stage, that the workers of a cluster have this Headwater and see the folder of the tables.

Spark would not notice a missing folder: each machine writes to a disk of its own, and a table without files is an empty table.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater import __version__
from headwater.errors import NotInstalled, StageFailed, UnreachableFolder
from headwater.pipeline.folder import LocalFolder, whole
from headwater.pipeline.session import is_remote
from headwater.pipeline.stages import cause

if TYPE_CHECKING:
    import pyarrow as pa

PROBES: Final = 16
"""Tasks that look. More than most clusters have machines free at once, and little work."""
_FILES: Final = "file://"


def check(spark: SparkSession, path: str) -> None:
    """Check that the workers have this version of Headwater, and see `path` if it is a path of this machine.

    A session on this machine alone is not checked. Raises NotInstalled, UnreachableFolder.
    """
    if _alone(spark):
        return
    place = whole(path)
    near = LocalFolder()
    # A directory of its own, for two calls may look at once.
    probe = f"{place}/probe-{secrets.token_hex(8)}"
    mark = f"{probe}/seen.txt" if place.startswith(_FILES) else ""
    if mark:
        near.create(mark, "here\n")
    try:
        _ask(spark, mark, path)
    finally:
        if mark:
            near.remove(probe)


def _alone(spark: SparkSession) -> bool:
    return not is_remote(spark) and str(spark.sparkContext.master).split("[")[0] == "local"


def _ask(spark: SparkSession, mark: str, path: str) -> None:
    local = mark.removeprefix(_FILES)

    def look(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        return _look(batches, local)

    try:
        told = spark.range(0, PROBES, 1, PROBES).mapInArrow(look, "version string, seen boolean").distinct().collect()
        seen = all(row["seen"] for row in told) and (not mark or _driver_sees(spark, mark))
    except (PySparkException, Py4JError) as error:
        if "No module named 'headwater" in str(error):
            raise NotInstalled(
                "the Python of Spark's workers has no Headwater: install it there, and say which Python it is with PYSPARK_PYTHON"
                " (of a Spark Connect server: in the server's environment)"
            ) from error
        raise StageFailed(f"Spark's workers do not work: {cause(error)}", stage="check") from error
    if versions := sorted({row["version"] for row in told} - {__version__}):
        raise NotInstalled(f"Spark's workers have Headwater {', '.join(versions)}, and this is {__version__}")
    if not seen:
        raise UnreachableFolder(
            f"{path} is a folder of this machine that not all of Spark's machines see: give one that all of them reach"
            " (a shared mount, s3a://…, hdfs://…)",
            path=path,
        )


def _look(batches: Iterator["pa.RecordBatch"], mark: str) -> Iterator["pa.RecordBatch"]:
    """Run in a worker: that the function can be called at all proves that Headwater is there."""
    import pyarrow

    for batch in batches:
        if batch.num_rows:
            row = {"version": __version__, "seen": not mark or Path(mark).is_file()}
            yield pyarrow.RecordBatch.from_pylist([row])


def _driver_sees(spark: SparkSession, mark: str) -> bool:
    """Return whether a Spark Connect server lists the folder that the workers wrote."""
    try:
        return bool(spark.read.text(mark).count() == 1)
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
