"""Restore items of a plan in Delta tables: copy a stored version of their partitions over the present one, with Spark.

`headwater.runner.restoring` does it, in its own process, locked like those of packages. The server hands out no tables of other
formats.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from headwater.runner.executors import Going
from headwater.runner.executors.processes import ProcessExecutor
from headwater.runner.plans import RESTORE, Item, Restore


class Job(msgspec.Struct, frozen=True):
    """The input file of the process. `columns`: by entity, the time columns of its table, if their names do not show it."""

    plan: str
    number: int
    run: str
    restore: list[Restore]
    spark_submit: list[str]
    columns: dict[str, str]


class DeltaTables(ProcessExecutor):
    """`spark_submit`: the command that runs a Spark application with Delta's jars. `columns`: as in `Job`. Output of the processes goes below `logs`;
    `environ` is added to their environment.
    """

    actions = (RESTORE,)
    producers: Sequence[str] = ()

    def __init__(
        self,
        spark_submit: Sequence[str],
        logs: Path,
        *,
        columns: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(logs, environ)
        self._submit, self._columns = list(spark_submit), dict(columns or {})

    def command(self, item: Item) -> str:
        return f"{shlex.join(self._submit)} (restore {item.about})"

    def start(self, item: Item, run: str) -> Going:
        job = self._new_log(item, run).with_suffix(".json")
        job.write_bytes(
            msgspec.json.encode(Job(item.plan, item.number, run, item.restore, self._submit, self._columns))
        )
        return self._begin(item, run, [[sys.executable, "-m", "headwater.runner.restoring", str(job)]])
