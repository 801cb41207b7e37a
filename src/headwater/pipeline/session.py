"""The Spark session a pipeline runs in: on this machine, on a cluster, or through Spark Connect."""

import os
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from headwater.errors import InvalidQuestion, NotInstalled, SparkUnavailable

# Settings that every job relies on, in any session.
RELIED_ON = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A file of a log has few days, and to write them side by side needs no sorting.
    "spark.sql.maxConcurrentOutputFileWriters": "32",
    # A text has up to a megabyte, and a batch by its number of rows would have any size.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # A kept table of few rows is few partitions.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # The same stage of another query has the same code, and is not compiled again.
    "spark.sql.codegen.useIdInClassName": "false",
}

# Settings that only take effect at the start of a driver.
AT_THE_START = {
    # PySpark 4 sends the JVM ten more messages for each expression, to name its line in an error; a sync makes some thousands of them.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# Modules that a Spark Connect client needs besides the extra `spark`; pyspark's own extra `connect` brings it.
CONNECT_NEEDS: Final = ("grpc", "grpc_status", "zstandard")
CONNECT_PORT: Final = 15002
# Seconds for a Spark Connect server to take the call. Spark's own client tries for ten minutes and says nothing meanwhile.
CONNECT_PATIENCE: Final = 10.0
# The proxy variables that its client follows, if they are set.
PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy")
# Properties of a driver, which a Spark Connect client does not start.
OF_A_DRIVER: Final = "spark.driver."

# Settings for one machine; a cluster's own configuration is left as it is.
ON_ONE_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # One sync is some hundreds of stages; Spark keeps the code of a hundred, and would compile all of it anew for each batch.
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.shuffle.partitions": "32",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def session(
    master: str | None = None,
    remote: str | None = None,
    name: str = "headwater",
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session with what the jobs rely on: that of `remote` (`sc://host:15002`), or of `master`, or the one spark-submit gives, or `local[*]`.

    `settings` are Spark's own and win over what Headwater would choose, but for those the jobs rely on. A session that runs already is used as it is,
    with these set in it.

    NotInstalled: what a Spark Connect client needs is missing. SparkUnavailable: nothing answers at `remote`.
    """
    builder = SparkSession.builder.appName(name)
    given = dict(settings or {})
    # Spark itself minds this property only under spark-submit.
    if python := given.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python
    if remote is not None:
        reachable(remote)
        builder = builder.remote(remote)
        given = {key: value for key, value in given.items() if not key.startswith(OF_A_DRIVER)}
    else:
        running = SparkSession.getActiveSession()
        if master is None and running is None and not _submitted():
            master = "local[*]"
        if master is not None:
            builder = builder.master(master)
        if running is None:
            given = {**AT_THE_START, **given}
        if master is not None and master.startswith("local"):
            for key, value in ON_ONE_MACHINE.items():
                builder = builder.config(key, value)
            # Workers are this Python; the `python3` of the PATH need not have Headwater. No setting says that to a session, only this variable does.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for key, value in given.items():
        builder = builder.config(key, value)
    for key, value in RELIED_ON.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    for key, value in RELIED_ON.items():
        made.conf.set(key, value)
    if not is_remote(made):
        _remember_lookups(made)
    return made


class _Lookups:
    """The members of a class of the JVM, each looked up once: PySpark asks the JVM by two messages what `col` is, each time it calls it."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._found, name)
        setattr(self, name, member)
        return member


# As PySpark asks for the classes that it calls for each expression, list and type.
_LOOKED_UP: Final = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
)


def _remember_lookups(spark: SparkSession) -> None:
    view: Any = spark.sparkContext._jvm
    for name in _LOOKED_UP:
        found = getattr(view, name)
        if not isinstance(found, _Lookups):
            setattr(view, name, _Lookups(found))


def _submitted() -> bool:
    """Return whether spark-submit started this process, and so says where it runs."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ


def is_remote(spark: SparkSession) -> bool:
    """Return whether it is a Spark Connect session, which has no JVM here."""
    return not hasattr(spark, "_jsparkSession")


def reachable(remote: str) -> None:
    """Check at once that a Spark Connect server is there. InvalidQuestion: no such address."""
    try:
        found = urlsplit(remote)
        host, port = found.hostname, found.port or CONNECT_PORT
    except ValueError:
        host, port = None, CONNECT_PORT
    if host is None or found.scheme != "sc":
        raise InvalidQuestion(
            f"{remote!r} is no Spark Connect server; write sc://host:{CONNECT_PORT}", parameter="remote", value=remote
        )
    if missing := [name for name in CONNECT_NEEDS if find_spec(name) is None]:
        raise NotInstalled(
            f"Spark Connect needs {', '.join(missing)}: pip install 'headwater[spark-connect]'",
            extra="spark-connect",
            missing=missing,
        )
    if any(os.environ.get(name) for name in PROXIES):
        return  # the way there is not a direct one
    try:
        socket.create_connection((host, port), CONNECT_PATIENCE).close()
    except OSError as error:
        raise SparkUnavailable(f"no Spark Connect server answers at {host}:{port}: {error}", remote=remote) from error
