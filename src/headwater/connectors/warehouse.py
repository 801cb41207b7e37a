"""Cloud warehouses: the query log of each, pulled in windows (`pipeline.query_log.pull`), then read by the pipeline on Spark.

The pipeline publishes to the server itself, in a process of its own: it is the same `headwater sync query-log` that a person calls, so a pull here
and one by hand can share a folder. Windows that were pulled before an error stay.
"""

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from headwater.connectors import Send, trino_tables
from headwater.errors import DatabaseRefused, NotInstalled, StageFailed
from headwater.home import write_private
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.pipeline.query_log.pull import Source, source, trino
from headwater.pipeline.query_log.pull.asking import Statement
from headwater.pipeline.query_log.pull.pulling import DEFINITIONS, Asked
from headwater.pipeline.query_log.pull.pulling import pull as pull_windows
from headwater.pipeline.query_log.pull.retries import error_line

_SECONDS: Final = 60
# The variable of an option, where it is not the kind and the option's name.
_VARIABLES: Final = {("bigquery", "project"): "GOOGLE_CLOUD_PROJECT"}
_OF_HEADWATER: Final = frozenset({"namespace", "api_key", "credentials"})
GRANTS: Final = {
    "snowflake": "GRANT IMPORTED PRIVILEGES ON DATABASE SNOWFLAKE TO ROLE {role};",
    "bigquery": "gcloud projects add-iam-policy-binding {project} --member=serviceAccount:… --role=roles/bigquery.resourceViewer",
    "redshift": "ALTER USER {user} SYSLOG ACCESS UNRESTRICTED;",
    "databricks": "GRANT SELECT ON TABLE system.query.history TO `…`;",
    "trino": "allow {user} to view the queries of all users in the rules of the coordinator's access control",
}
_LONGEST_ERROR: Final = 2_000


def environment(task: ConnectorTask) -> dict[str, str]:
    """Return the variables that the puller of the kind reads, from the settings of a connector."""
    return {
        _VARIABLES.get((task.kind, name), f"{task.kind.upper()}_{name.upper()}"): value
        for name, value in task.settings.items()
        if name not in _OF_HEADWATER
    }


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    its = source(task.kind)
    with _credentials(task) as environ:
        try:
            connection = its.connect(environ, _SECONDS)
        except Exception as error:  # noqa: BLE001 - each client library has errors of its own
            yield ConnectorCheck("connect", "failed", error_line(error, environ, its.SECRETS), _remedy(error))
            return
        with closing(connection):
            yield ConnectorCheck("connect", "ok", f"{task.kind} answers")
            now = dt.datetime.now(dt.UTC).replace(microsecond=0) - its.LAG
            asked = its.statements(now - dt.timedelta(minutes=5), now, environ, frozenset())
            yield _tried(its, task, connection, environ, "log", "failed", asked[0])
            yield _tried(its, task, connection, environ, DEFINITIONS, "missing", its.definitions(environ))
            if task.kind == "trino":
                with suppress(Exception):  # of the client library; the log's check told of it
                    yield from trino_tables.check_others(connection, GRANTS["trino"].format_map(task.settings))
    if find_spec("pyspark") is None:
        yield ConnectorCheck("spark", "failed", "the query log is read on Spark, which is not installed", _SPARK)


_SPARK: Final = "pip install 'headwater[spark,sql]', and Java 17 or later"


def _remedy(error: Exception) -> str | None:
    return error.message.partition(": ")[2] or None if isinstance(error, NotInstalled) else None


def _tried(
    its: Source,
    task: ConnectorTask,
    connection: Any,
    environ: Mapping[str, str],
    name: str,
    worst: str,
    asked: Statement,
) -> ConnectorCheck:
    what = "the query log" if name == "log" else "definitions of views"
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(asked.text, asked.parameters)
            cursor.fetchmany(1)
    except Exception as error:  # noqa: BLE001 - each client library has errors of its own
        known = {"role": "…", "user": "…", "project": "…"} | task.settings
        line = error_line(error, environ, its.SECRETS)
        return ConnectorCheck(name, worst, f"{what} cannot be read: {line}", GRANTS[task.kind].format_map(known))
    return ConnectorCheck(name, "ok", f"{what} can be read")


def pull(task: ConnectorTask, send: Send) -> PullReport:
    if find_spec("pyspark") is None:
        raise NotInstalled(
            f"the query log of {task.kind} is read on Spark: {_SPARK}", extra="spark", missing=["pyspark"]
        )
    if not task.folder or not task.url:
        raise DatabaseRefused("the server gave no folder for the log, or no address to publish to; update it")
    folder = Path(task.folder)
    (folder / "log").mkdir(mode=0o700, parents=True, exist_ok=True)
    its = source(task.kind)
    with _credentials(task) as environ:
        pulled = pull_windows(
            its, Asked(folder / "log", besides=frozenset({DEFINITIONS})), environ,
            now=lambda: dt.datetime.now(dt.UTC), sleep=time.sleep, tell=lambda _window: None,
        )  # fmt: skip
        tables, catalogs, warnings = _read_catalogs(its, task, environ, send)
    published = _sync(task, folder) if any((folder / "log").glob("*.gz")) else {}
    events = int((published.get("published") or {}).get("events") or 0)
    cursor = {"until": pulled.until.isoformat(), **({"catalogs": catalogs} if catalogs else {})}
    return PullReport(pulled.rows + tables, cursor, pulled.until, tuple(warnings), published=events)


def _read_catalogs(
    its: Source, task: ConnectorTask, environ: Mapping[str, str], send: Send
) -> tuple[int, dict[str, Any], list[str]]:
    """Send the tables of a warehouse of which the log does not tell columns: Trino's. The pipeline publishes what the log tells by itself."""
    if task.kind != "trino":
        return 0, {}, []
    before = (task.cursor or {}).get("catalogs") or {}
    try:
        with closing(its.connect(environ, _SECONDS)) as connection:
            namespace = task.settings.get("namespace") or trino.namespace_of(environ)
            return trino_tables.send_tables(connection, namespace, before, dt.datetime.now(dt.UTC), send)
    except Exception as error:  # noqa: BLE001 - of the client library: the log that was pulled is not lost for it
        return 0, before, [f"the columns of tables cannot be read: {error_line(error, environ, its.SECRETS)}"]


def _sync(task: ConnectorTask, folder: Path) -> dict[str, Any]:
    """Run the pipeline over all that was pulled; return its summary. Raises StageFailed with its last words."""
    words = [
        sys.executable, "-m", "headwater", "sync", "query-log", "--source", task.kind, "--input", str(folder / "log"),
        "--store", str(folder / "store"), "--url", str(task.url), "--json",
    ]  # fmt: skip
    if namespace := task.settings.get("namespace"):
        words += ["--namespace", namespace]
    key = task.settings.get("api_key")
    environ = {**os.environ, **({"HEADWATER_API_KEY": key} if key else {})}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise StageFailed(
            f"headwater sync query-log ended with the code {done.returncode}: {done.stderr[-_LONGEST_ERROR:].strip()}"
        )
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@contextmanager
def _credentials(task: ConnectorTask) -> Iterator[dict[str, str]]:
    """Yield the environment of a task. Credentials that a client reads from a file are in one that only this user may read, while it lasts."""
    text = task.settings.get("credentials")
    if not text:
        yield environment(task)
        return
    with tempfile.TemporaryDirectory(prefix="headwater-") as folder:
        write_private(Path(folder) / "credentials.json", text.encode())
        # The client looks at the process's own environment; this process does nothing else.
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = f"{folder}/credentials.json"
        yield environment(task)
