"""Killed in the middle of a stage, while it writes: the next call ends with the same tables, and nothing is there twice.

At the boundaries of stages and before each commit: test_query_log_sync.py, which the suite runs; these run in `make soak`.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.test_query_log_sync import synced, tables

from headwater.pipeline.query_log.batch import Batch
from headwater.pipeline.query_log.stages import Settings, batch_stages, final_stages
from headwater.pipeline.tables import Change, Store, Table

pytestmark = [pytest.mark.spark, pytest.mark.soak]


class Killed(BaseException):
    """No handler on the way may take it for something else."""


def half(directory: Path) -> None:
    """Leave a folder as Spark does when it is killed while it writes: some files whole, some cut off, some where tasks work; no
    `_SUCCESS`."""
    (directory / "_SUCCESS").unlink()
    for number, part in enumerate(sorted(directory.rglob("part-*"))):
        if number % 3 == 1:
            part.write_bytes(part.read_bytes()[:-20])
        if number % 3 == 2:
            draft = directory / "_temporary" / "0" / "_temporary" / f"attempt_{number}"
            draft.mkdir(parents=True)
            part.rename(draft / part.name)


def test_killed_in_the_middle_of_every_write_of_every_stage(
    spark: Any, bigquery_log: Path, tmp_path: Path, plain_tables: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call dies at the first table that no call has died at, until one gets through."""
    store = tmp_path / "store"
    write, died = Change._write, []

    def dying(change: Change, table: Table, rows: Any) -> dict[str, list[str]]:
        made = write(change, table, rows)
        if table.name not in died:
            died.append(table.name)
            half(max((store / table.name).iterdir(), key=lambda one: one.stat().st_mtime_ns))
            raise Killed(table.name)
        return made

    monkeypatch.setattr(Change, "_write", dying)
    answers = []
    for _ in range(50):
        try:
            answers.append(synced(spark, store, bigquery_log))
            break
        except Killed:
            continue
    stages = (*batch_stages(Batch(number=1, batches=1, source="bigquery"), Settings()), *final_stages(Settings()))
    assert set(died) == {"landed"} | {table.name for stage in stages for table in stage.writes}
    assert len(answers) == 1
    assert tables(spark, store) == plain_tables
    # The files they left are gone: each file is in a manifest that was kept.
    kept = [json.loads(path.read_text()) for path in (store / "_manifest").glob("*.json")]
    spoken_of = {
        "/".join(directory.split("/")[:2])
        for manifest in kept
        for partitions in manifest["tables"].values()
        for directories in partitions.values()
        for directory in directories
    }
    there = {f"{path.parent.name}/{path.name}" for path in store.glob("*/change=*")}
    assert there <= spoken_of
    assert not list(store.rglob("_temporary"))


def killed(store: Path, log: Path, table: str, whom: str, home: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "tests.pipeline.killed_sync", str(store), str(log), table, whom],
        env=kept | {"HEADWATER_HOME": str(home), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        timeout=400,
    )


def test_sigkill_while_spark_writes(
    spark: Any, bigquery_log: Path, tmp_path: Path, plain_tables: dict[str, list[str]]
) -> None:
    store = tmp_path / "store"
    done = killed(store, bigquery_log, "landed", "all", tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert Store(spark, str(store)).version == 0
    assert list((store / "landed").rglob("part-*"))

    # Without its JVM the command ends by itself, and says that calling again may help.
    done = killed(store, bigquery_log, "executions", "jvm", tmp_path)
    assert done.returncode == 75, done.stderr
    # Neither the last line always nor at its beginning: a thread of PySpark's writes its own end to stderr at the same time, piece by piece.
    errors = re.findall(r"headwater: (?!WARNING).*", done.stderr)
    assert len(errors) == 1, done.stderr
    assert errors[0].startswith("headwater: stage executions did not end: Spark is gone ("), done.stderr
    assert Store(spark, str(store)).state["batch"]["done"] == ["land", "shapes", "statements"]

    done = killed(store, bigquery_log, "edges", "all", tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    state = Store(spark, str(store)).state
    assert "batch" not in state
    assert "edges" in state["behind"]

    told = synced(spark, store, bigquery_log)
    assert (told.files, told.rows) == (0, 0)
    assert tables(spark, store) == plain_tables
