"""A sync that is killed while Spark writes a table: `python -m tests.pipeline.killed_sync STORE INPUT TABLE all|jvm`.

`all`: SIGKILL to this process and its JVM at once. `jvm`: to the JVM alone, as the kernel does when memory is short.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.fixtures.pipeline import FAST
from tests.fixtures.query_logs import price_list

from headwater.cli import main
from headwater.pipeline.tables import Change, Table

write = Change._write


def kill(whom: str) -> None:
    if whom == "all":
        os.killpg(0, signal.SIGKILL)
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)


def killed_in(table_name: str, whom: str) -> None:
    def watched(change: Change, table: Table, rows: Any) -> dict[str, list[str]]:
        if table.name != table_name:
            return write(change, table, rows)
        place = Path(change._store.path.removeprefix("file://")) / table.name
        before = set(place.rglob("part-*"))

        def watch() -> None:
            while not set(place.rglob("part-*")) - before:
                time.sleep(0.001)
            kill(whom)

        watcher = threading.Thread(target=watch)
        watcher.start()
        made = write(change, table, rows)
        watcher.join()  # it was written before it was seen: killed before it counts
        return made

    Change._write = watched  # type: ignore[method-assign]


if __name__ == "__main__":
    store, given, table_name, whom = sys.argv[1:]
    killed_in(table_name, whom)
    # As it begins processes otherwise, a JVM that is killed just then leaves helpers that keep its sockets open, and Python waits for good.
    options = f"{FAST['spark.driver.extraJavaOptions']} -Djdk.lang.Process.launchMechanism=VFORK"
    settings = FAST | {"spark.driver.extraJavaOptions": options}
    properties = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words = ["sync", "query-log", "--source", "bigquery", "--input", given, "--store", store, "--no-publish", "--json"]
    words += ["--prices", str(price_list(Path(store).parent))]
    sys.argv[1:] = [*words, "--master", "local[2]", *properties]
    main()
