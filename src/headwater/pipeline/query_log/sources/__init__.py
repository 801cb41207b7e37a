"""Readers of exported query logs, one module a source, all with the same names in them.

    FIELDS     what is looked for in the files, as the product names it
    EXPORTS    the exports that are understood, and the columns without which a file is none of them
    read(spark, paths, namespace) -> Rows

A reader turns files into the common schema (`schema.LANDED_ROWS`) with DataFrame expressions alone: nothing of a row ever comes to the driver, only
names of columns do. Unusable rows go to quarantine with a reason. Nothing here asks a warehouse: `pull` does,
and docs/reference/query-log-sources.md says how each log is exported.

A further source is one more module, its line in `SOURCES`, and its chapter in that document.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.pipeline.query_log.sources.rows import Rows

SOURCES: Final[dict[str, str]] = {
    name: f"{__name__}.{name}" for name in ("bigquery", "databricks", "postgres", "redshift", "snowflake", "trino")
}


class Source(Protocol):
    """The interface of every module of this package."""

    def read(self, spark: "SparkSession", paths: Sequence[str], namespace: str | None) -> "Rows":
        """The executions in the files: `paths` are files, folders (read with all below them) or globs, of any Hadoop file system.

        `namespace` is OpenLineage's, of the tables the statements speak of; None where the log itself says it.
        InvalidQuestion: no files, an undetectable format, a file that is no such log, a namespace that must be given and is not.
        """
        ...


def source(name: str) -> Source:
    """The reader of that name. Only now is Spark imported. InvalidQuestion names the sources there are."""
    if name not in SOURCES:
        known = ", ".join(SOURCES)
        raise InvalidQuestion(
            f"there is no query log source {name!r}: known are {known}", parameter="source", value=name
        )
    return cast("Source", import_module(SOURCES[name]))
