"""A landing folder that is followed ends with the tables of one batch, however often following was stopped and where."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.pipeline import FAST
from tests.fixtures.query_logs import price_list
from tests.pipeline.test_query_log_sync import PRICED, tables
from tests.scale import FULL

from headwater.errors import HeadwaterError, InvalidQuestion, NotFound, ServerUnavailable, StageFailed
from headwater.pipeline.query_log import follow as module
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.follow import follow
from headwater.pipeline.query_log.publish import Published
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import Progress, Publisher, Synced
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark

PATIENCE = 600.0


def arrive(file: Path, folder: Path) -> None:
    """Let a file arrive as files should: whole, under its name."""
    file.rename(folder / file.name)


class Following:
    """`follow` in a thread, as a service runs it."""

    def __init__(self, spark: Any, store: Path, *inputs: object, publisher: Any = None) -> None:
        self.stop = threading.Event()
        self.told: list[Synced] = []
        self.stages: list[tuple[str, str]] = []
        self.failures: list[HeadwaterError] = []
        self.stop_at: tuple[str, str] | None = None
        self.rounds = -1
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(spark, store, inputs, publisher))
        self._thread.start()

    def _work(self, spark: Any, store: Path, inputs: tuple[object, ...], publisher: Any) -> None:
        def failed(error: HeadwaterError, seconds: float) -> None:
            assert 0 < seconds <= module.LONGEST_WAIT
            self.failures.append(error)

        try:
            self.rounds = follow(
                spark,
                str(store),
                Asked("bigquery", tuple(map(str, inputs))),
                PRICED,
                publisher,
                self._show,
                every=0.3,
                stop=self.stop,
                took=self.told.append,
                failed=failed,
            )
        except BaseException as error:  # noqa: BLE001 - it is raised again where the test is
            self.error = error

    def _show(self, told: Progress) -> None:
        self.stages.append((told.what, told.stage))
        if (told.what, told.stage) == self.stop_at:
            self.stop.set()

    @property
    def files(self) -> int:
        return sum(told.files for told in self.told)

    def until(self, true: Callable[[], bool]) -> None:
        began = time.monotonic()
        while not true():
            assert time.monotonic() - began < PATIENCE, (self.stages, self.failures)
            assert self._thread.is_alive() or true(), self.error
            time.sleep(0.05)

    def ended(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def following(*given: Any, **named: Any) -> Iterator[Following]:
    made = Following(*given, **named)
    try:
        yield made
    finally:
        made.stop.set()
        made.ended()
    if made.error is not None:
        raise made.error


def streams(store: Path) -> bool:
    """Return whether the stream has begun: it writes its identity before it looks."""
    return any(store.glob("follow/*/metadata"))


def test_files_as_they_come_end_as_one_batch(
    spark: Any, tmp_path: Path, log_files: list[Path], plain_tables: dict[str, list[str]]
) -> None:
    folder, store = tmp_path / "landing", tmp_path / "store"
    folder.mkdir()

    if FULL:
        # As people call it: nothing is there yet, a file comes, a service manager stops it.
        with in_its_own_process(folder, store, tmp_path) as command:
            until(lambda: streams(store) or command.poll() is not None)
            arrive(log_files[0], folder)
            first = json.loads(line(command))
            assert (first["files"], first["rows"]) == (1, 15)
            command.send_signal(signal.SIGTERM)
            _, complaints = command.communicate(timeout=PATIENCE)
            assert command.returncode == 0, complaints
            assert "Traceback" not in complaints
    else:
        # The batch that is stopped below has both files.
        arrive(log_files[0], folder)
    files = 1 if FULL else 2

    # Stopped in the middle of a batch that the stream began.
    with following(spark, store, folder) as again:
        again.stop_at = ("begins", "executions")
        arrive(log_files[1], folder)
        again.ended()
    assert again.rounds == 0
    # The stage under way is lost, or was done already; no stage was begun after it.
    assert again.stages[-1] == ("begins", "executions")
    assert Store(spark, str(store)).state["batch"]["done"][:3] == ["land", "shapes", "statements"]

    # It goes on where it was, with a file that came meanwhile, and with one that comes while it runs.
    arrive(log_files[2], folder)
    with following(spark, store, folder) as last:
        last.until(lambda: last.files == files + 1)
        assert any(told.resumed for told in last.told)
        arrive(log_files[3], folder)
        last.until(lambda: last.files == files + 2)
    assert last.rounds == len(last.told)
    assert last.failures == []
    assert tables(spark, store) == plain_tables


def in_its_own_process(folder: Path, store: Path, home: Path) -> "subprocess.Popen[str]":
    properties = [word for name, value in FAST.items() for word in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "headwater", "sync", "query-log", "--source", "bigquery"]
    more = ["--input", folder, "--store", store, "--master", "local[2]", "--no-publish", "--json"]
    more += ["--prices", price_list(home)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    return subprocess.Popen(
        [*command, *map(str, more), "--follow", "--every", "0.5", *properties],
        env=kept | {"HEADWATER_HOME": str(home / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line(command: "subprocess.Popen[str]") -> str:
    assert command.stdout is not None
    ready, _, _ = select.select([command.stdout], [], [], PATIENCE)
    assert ready, "it said nothing"
    return command.stdout.readline()


def until(true: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


def unpublished(spark: Any, store: Path) -> None:
    """A store in which a day waits to be published."""
    with Store(spark, str(store)).change() as change:
        change.state["unpublished"] = ["2026-03-01"]


def publisher(runs: Callable[[Store, Any], Published]) -> Publisher:
    return Publisher(runs, lambda _: Published())


def test_what_may_help_itself_is_tried_again(spark: Any, tmp_path: Path) -> None:
    unpublished(spark, tmp_path / "store")
    days: list[int] = []

    def runs(_store: Store, given: Any) -> Published:
        days.append(len(given))
        if len(days) < 3:
            raise ServerUnavailable("nobody answers")
        return Published(events=1)

    with following(spark, tmp_path / "store", tmp_path / "*.json", publisher=publisher(runs)) as made:
        made.until(lambda: bool(made.told))
    assert days[:3] == [1, 1, 1]
    assert [error.code for error in made.failures] == ["server_unavailable"] * 2
    assert made.told[0].published == Published(events=1)


def test_what_cannot_help_itself_ends_it(spark: Any, tmp_path: Path) -> None:
    unpublished(spark, tmp_path / "store")

    def runs(_store: Store, _days: Any) -> Published:
        raise InvalidQuestion("no such thing")

    with (
        pytest.raises(InvalidQuestion, match="no such thing"),
        following(spark, tmp_path / "store", tmp_path / "*.json", publisher=publisher(runs)) as made,
    ):
        made.ended()


def test_a_folder_that_is_not_there(spark: Any, tmp_path: Path) -> None:
    with (
        pytest.raises(NotFound, match=r"there is no folder to follow: .*nowhere"),
        following(spark, tmp_path / "store", tmp_path / "nowhere") as made,
    ):
        made.ended()


def test_a_stream_that_ends_by_itself_is_a_failure_to_try_again(
    spark: Any, tmp_path: Path, log_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "landing").mkdir()
    with following(spark, tmp_path / "store", tmp_path / "landing") as made:
        made.until(lambda: bool(spark.streams.active))
        for query in spark.streams.active:
            query.stop()
        made.until(lambda: bool(made.failures))
        made.until(lambda: bool(spark.streams.active))
    assert made.failures[0].code == "stage_failed"
    assert not spark.streams.active


def test_a_spark_that_is_gone_ends_it(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its supervisor restarts it: otherwise it would retry for ever."""
    unpublished(spark, tmp_path / "store")
    monkeypatch.setattr(module, "_runs", lambda _: False)

    def away(_store: Store, _days: Any) -> Published:
        raise ServerUnavailable("nobody answers")

    with (
        pytest.raises(ServerUnavailable),
        following(spark, tmp_path / "store", tmp_path / "*.json", publisher=publisher(away)) as made,
    ):
        made.ended()
    monkeypatch.undo()

    def gone(_store: Store, _days: Any) -> Published:
        raise ConnectionRefusedError("refused")

    with (
        pytest.raises(StageFailed, match="the folder cannot be followed: refused"),
        following(spark, tmp_path / "store", tmp_path / "*.json", publisher=publisher(gone)) as made,
    ):
        made.ended()
    assert module._runs(spark)


def test_a_session_without_a_driver_of_its_own(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_remote", lambda _: True)
    with pytest.raises(InvalidQuestion, match="--remote has its driver elsewhere"):
        follow(spark, str(tmp_path), Asked("bigquery", ("x",)), Settings())
