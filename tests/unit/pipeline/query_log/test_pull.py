"""The pull of a query log, against a warehouse that is made up: a DB-API connection over a list of queries, and a clock that is given."""

import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import DatabaseRefused, DatabaseUnavailable, InvalidQuestion, StoreChanged
from headwater.pipeline.query_log.pull import Source, folder, source
from headwater.pipeline.query_log.pull.folder import Folder
from headwater.pipeline.query_log.pull.pulling import Asked, Pulled, PulledWindow, pull
from headwater.pipeline.query_log.pull.retries import DELAYS
from headwater.pipeline.query_log.pull.windows import Window
from headwater.pipeline.query_log.sources.definitions import is_definitions

NOW = dt.datetime(2026, 3, 1, 12, 50, 7, tzinfo=dt.UTC)
SECRET = "hunter2-and-more"
ENVIRON = {"SNOWFLAKE_ACCOUNT": "acme-one", "SNOWFLAKE_USER": "reader", "SNOWFLAKE_PASSWORD": SECRET}


def at(hour: int, minute: int = 0, second: int = 0, day: int = 1) -> dt.datetime:
    return dt.datetime(2026, 3, day, hour, minute, second, tzinfo=dt.UTC)


class OperationalError(Exception):
    """A client's error that may pass."""


class ProgrammingError(Exception):
    """A client's error that will not pass."""


class Warehouse:
    """Queries by the time they ended, and what goes wrong: `failures` are raised one after the other, one a statement."""

    def __init__(self, *ended: dt.datetime) -> None:
        self.ended = list(ended)
        self.failures: list[BaseException] = []
        self.asked: list[tuple[str, str]] = []
        self.portions: list[int] = []
        self.open = self.most_open = 0
        self.cursors = 0

    def connect(self, environ: Any, seconds: int) -> "Connection":
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        return Connection(self)


class Connection:
    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse

    def cursor(self) -> "Cursor":
        self.warehouse.cursors += 1
        return Cursor(self.warehouse)

    def close(self) -> None:
        self.warehouse.open -= 1


class Cursor:
    arraysize = 1
    description = (("QUERY_ID",), ("QUERY_TEXT",), ("START_TIME",), ("END_TIME",), ("ROLE_NAME",))

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse

    def execute(self, text: str, parameters: dict[str, str]) -> None:
        if "task_versions" in text:
            self.rows = [("v1", "create view v as select 1", NOW, NOW, "owner")]
            return
        since, until = (dt.datetime.fromisoformat(parameters[name]) for name in ("since", "until"))
        self.warehouse.asked.append((parameters["since"][11:16], parameters["until"][11:16]))
        if self.warehouse.failures:
            raise self.warehouse.failures.pop(0)
        east = dt.timezone(dt.timedelta(hours=1))
        self.rows = [
            (f"q{number}", "select 'é'", end.astimezone(east), end.astimezone(east), None)
            for number, end in enumerate(self.warehouse.ended)
            if since <= end < until
        ]

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        portion, self.rows = self.rows[:size], self.rows[size:]
        self.warehouse.portions.append(len(portion))
        return portion

    def close(self) -> None:
        self.warehouse.cursors -= 1


class Pull:
    """`headwater pull`, without the command line."""

    def __init__(self, warehouse: Warehouse, to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.warehouse, self.to, self.now = warehouse, to, NOW
        self.slept: list[float] = []
        self.told: list[PulledWindow] = []
        self.source: Source = source("snowflake")
        monkeypatch.setattr(self.source, "connect", warehouse.connect)

    def __call__(self, **asked: Any) -> Pulled:
        return pull(
            self.source,
            Asked(self.to, **asked),
            ENVIRON,
            now=lambda: self.now,
            sleep=self.slept.append,
            tell=self.told.append,
        )

    def ids(self) -> list[str]:
        return [record["QUERY_ID"] for path in sorted(self.to.glob("*.jsonl.gz")) for record in records(path)]

    def names(self) -> list[str]:
        return sorted(path.name for path in self.to.iterdir() if not path.name.startswith(".pulling"))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse(at(9, 10), at(10, 0), at(10, 59, 59), at(11, 0), at(12, 4, 59), at(12, 30))


@pytest.fixture
def pulled(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pull:
    return Pull(warehouse, tmp_path / "here" / "log", monkeypatch)


def test_windows_become_files_and_empty_ones_markers(pulled: Pull) -> None:
    answer = pulled(since=at(8))
    # 12:50:07 less 45 minutes is 12:05:07; the hour that is not over waits.
    assert pulled.names() == [
        ".snowflake-20260301T080000Z-20260301T090000Z.none",
        "snowflake-20260301T090000Z-20260301T100000Z.jsonl.gz",
        "snowflake-20260301T100000Z-20260301T110000Z.jsonl.gz",
        "snowflake-20260301T110000Z-20260301T120000Z.jsonl.gz",
    ]
    assert pulled.ids() == ["q0", "q1", "q2", "q3"]
    assert (answer.windows, answer.empty, answer.rows) == (4, 1, 4)
    assert answer.bytes == sum(path.stat().st_size for path in pulled.to.glob("*.gz"))
    assert (answer.since, answer.until, answer.lag_seconds) == (at(8), at(12), 50 * 60 + 7)
    assert [(told.rows, told.left) for told in pulled.told] == [(0, 3), (1, 2), (2, 1), (1, 0)]


def test_rows_are_written_as_the_reader_takes_them(pulled: Pull) -> None:
    pulled(since=at(9), until=at(10))
    (path,) = pulled.to.glob("*.gz")
    assert records(path) == [
        {
            "QUERY_ID": "q0",
            "QUERY_TEXT": "select 'é'",
            "START_TIME": "2026-03-01T09:10:00Z",
            "END_TIME": "2026-03-01T09:10:00Z",
        }
    ]


def test_definitions_are_a_file_of_their_own_that_each_call_replaces(pulled: Pull) -> None:
    for _ in range(2):
        answer = pulled(since=at(9), until=at(10), besides=frozenset({"definitions"}))
        assert answer.definitions == 1
    assert answer.windows == 0
    found = pulled.to / "definitions-snowflake.jsonl.gz"
    assert [record["QUERY_TEXT"] for record in records(found)] == ["create view v as select 1"]
    assert is_definitions(str(found))
    assert answer.until == at(10)


def test_a_second_call_asks_for_what_is_new_alone(pulled: Pull, warehouse: Warehouse) -> None:
    pulled(since=at(8))
    before = {path: path.stat().st_mtime_ns for path in pulled.to.iterdir() if path.suffix == ".gz"}
    warehouse.asked.clear()
    assert pulled().windows == 0
    assert warehouse.asked == []
    pulled.now = NOW + dt.timedelta(hours=1)
    answer = pulled()
    assert warehouse.asked == [("12:00", "13:00")]
    assert (answer.since, answer.until) == (at(12), at(13))
    assert pulled.ids() == [f"q{number}" for number in range(6)]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_without_since_the_first_call_takes_a_day(pulled: Pull) -> None:
    answer = pulled()
    assert (answer.since, answer.until, answer.windows) == (at(12) - dt.timedelta(days=1), at(12), 24)


def test_an_earlier_since_fills_what_is_lacking(pulled: Pull, warehouse: Warehouse) -> None:
    pulled(since=at(10), until=at(11))
    warehouse.asked.clear()
    pulled(since=at(9, 30))
    assert warehouse.asked == [("09:30", "10:00"), ("11:00", "12:00")]


def test_another_length_of_window_asks_for_nothing_twice(pulled: Pull, warehouse: Warehouse) -> None:
    pulled(since=at(9), until=at(11))
    warehouse.asked.clear()
    pulled(since=at(8), until=at(11), window=dt.timedelta(hours=4))
    assert warehouse.asked == [("08:00", "09:00")]
    pulled(window=dt.timedelta(minutes=30))
    assert warehouse.asked[1:] == [("11:00", "11:30"), ("11:30", "12:00")]
    assert pulled.ids() == ["q0", "q1", "q2", "q3"]


def test_nothing_younger_than_the_lag_is_asked_for(pulled: Pull, warehouse: Warehouse) -> None:
    pulled(since=at(11), until=at(12, 5))
    assert warehouse.asked == [("11:00", "12:00"), ("12:00", "12:05")]
    warehouse.asked.clear()
    assert pulled(until=at(12, 6)).until == at(12, 5)
    assert warehouse.asked == []
    pulled(since=at(9), until=at(12), lag=dt.timedelta(hours=2))
    assert warehouse.asked == [("09:00", "10:00")]


def test_a_shorter_lag_than_the_sources_is_not_taken(pulled: Pull) -> None:
    assert pulled(since=at(11), lag=dt.timedelta(minutes=1)).until == at(12)


def test_what_is_asked_for_besides_is_waited_for(pulled: Pull, warehouse: Warehouse) -> None:
    answer = pulled(since=at(8), besides=frozenset({"access-history"}))
    assert answer.until == at(9)
    # Two statements a window, by one connection.
    assert warehouse.asked == [("08:00", "09:00")] * 2
    with pytest.raises(InvalidQuestion, match="no plans to pull besides: it has access-history, sessions, credits"):
        pulled(besides=frozenset({"plans"}))


def test_a_window_with_too_many_rows_is_halved_and_nothing_is_cut_off(pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.ended = [at(10, minute, second) for minute in (3, 4, 50) for second in range(0, 60, 6)]
    answer = pulled(since=at(10), until=at(11), most=10)
    assert pulled.ids() == [f"q{number}" for number in range(30)]
    assert (answer.rows, answer.windows) == (30, len(pulled.names()))
    windows = Folder(pulled.to, "snowflake").windows()
    assert [one.since for one in windows[1:]] == [one.until for one in windows[:-1]]
    assert (windows[0].since, windows[-1].until) == (at(10), at(11))
    assert {at(10, 3), at(10, 4)} <= {one.since for one in windows}
    warehouse.asked.clear()
    assert pulled(since=at(10), until=at(11), most=10).windows == 0
    assert warehouse.asked == []


def test_a_minute_is_taken_whole_whatever_it_holds(pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.ended = [at(10, 3, second) for second in range(60)]
    assert pulled(since=at(10), until=at(11), most=10).rows == 60
    assert "snowflake-20260301T100300Z-20260301T100400Z.jsonl.gz" in pulled.names()


def test_rows_come_in_portions(pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.ended = [at(10)] * 2_500
    pulled(since=at(10), until=at(11))
    assert warehouse.portions == [1_000, 1_000, 500, 0]


def test_one_connection_at_a_time_and_none_is_left(pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.failures = [OperationalError("reset")]
    pulled(since=at(6), most=1)
    assert (warehouse.most_open, warehouse.open, warehouse.cursors) == (1, 0, 0)


def test_the_pause_lies_between_windows(pulled: Pull) -> None:
    pulled(since=at(9), pause=7.0)
    assert pulled.slept == [7.0, 7.0]


@pytest.mark.parametrize(
    "error",
    [OperationalError("gone away"), ConnectionResetError("reset"), TimeoutError("slow")],
    ids=lambda error: type(error).__name__,
)
def test_what_may_pass_is_tried_again(error: Exception, pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.failures = [error, error]
    assert pulled(since=at(9), until=at(11)).rows == 3
    assert pulled.slept == [DELAYS[0], DELAYS[1], 0.0]


def test_an_error_inside_another_counts(pulled: Pull, warehouse: Warehouse) -> None:
    """BigQuery's client packs what happened into an error that says nothing."""
    packed = type("DatabaseError", (Exception,), {})(type("ServiceUnavailable", (Exception,), {})("503"))
    warehouse.failures = [packed]
    assert pulled(since=at(9), until=at(10)).rows == 1


def test_what_does_not_pass_ends_it_after_a_few_tries_and_what_was_pulled_stays(
    pulled: Pull, warehouse: Warehouse
) -> None:
    pulled(since=at(9), until=at(10))
    warehouse.failures = [OperationalError(f"no route with {SECRET}")] * (len(DELAYS) + 1)
    with pytest.raises(DatabaseUnavailable, match=r"2026-03-01T10:00:00Z to .* failed 4 times") as raised:
        pulled(until=at(12))
    assert pulled.slept == list(DELAYS)
    assert SECRET not in str(raised.value)
    assert "***" in str(raised.value)
    assert raised.value.__cause__ is None
    assert not raised.value.permanent
    assert pulled.names() == ["snowflake-20260301T090000Z-20260301T100000Z.jsonl.gz"]
    pulled(until=at(12))
    assert pulled.ids() == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ProgrammingError("no such column x"), "no such column x"),
        # A wrong password that is sent again and again locks the account.
        (OperationalError(f"Incorrect username or password: {SECRET}"), r"password: \*\*\*"),
        (OperationalError("HTTP 401"), "401"),
        (ProgrammingError("Statement reached its statement timeout"), "A shorter --window asks for less"),
    ],
    ids=["question", "password", "401", "timeout"],
)
def test_what_will_not_pass_is_not_tried_again(error: Exception, said: str, pulled: Pull, warehouse: Warehouse) -> None:
    warehouse.failures = [error]
    with pytest.raises(DatabaseRefused, match=said) as raised:
        pulled(since=at(9))
    assert SECRET not in str(raised.value)
    assert pulled.slept == []
    assert pulled.names() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()], ids=["Ctrl-C", "exit"])
def test_stopped_it_leaves_whole_files(error: BaseException, pulled: Pull, warehouse: Warehouse) -> None:
    pulled(since=at(9), until=at(10))
    warehouse.failures = [error]
    with pytest.raises(type(error)):
        pulled(until=at(12))
    assert pulled.names() == ["snowflake-20260301T090000Z-20260301T100000Z.jsonl.gz"]
    assert warehouse.open == 0


def test_a_crash_between_writing_and_renaming_leaves_nothing_that_counts(
    pulled: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that dies leaves the part, whole, under its hidden name."""

    def die(*_given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", die)
        patched.setattr(Path, "unlink", lambda *_given, **_named: None)
        with pytest.raises(KeyboardInterrupt):
            pulled(since=at(10), until=at(12))
    part = ".snowflake-20260301T100000Z-20260301T110000Z.jsonl.gz.part".replace(folder.SUFFIX, "")
    assert pulled.names() == [part]
    # Gone with the next call, whatever that asks for.
    assert pulled(since=at(11), until=at(12)).rows == 1
    assert pulled.names() == ["snowflake-20260301T110000Z-20260301T120000Z.jsonl.gz"]
    assert pulled(since=at(10), until=at(12)).rows == 2
    assert pulled.names() == [
        "snowflake-20260301T100000Z-20260301T110000Z.jsonl.gz",
        "snowflake-20260301T110000Z-20260301T120000Z.jsonl.gz",
    ]


def test_the_same_rows_are_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        place = Folder(tmp_path / name, "trino")
        with place.held(), place.writing(Window(at(1), at(2))) as file:
            file.write(b"{}\n")
        made.append(next((tmp_path / name).glob("*.gz")).read_bytes())
    assert made[0] == made[1]


def test_two_pulls_do_not_share_a_folder(pulled: Pull) -> None:
    with Folder(pulled.to, "snowflake").held(), pytest.raises(StoreChanged, match="another process pulls"):
        pulled()
    # Two pulls of different sources may.
    with Folder(pulled.to, "trino").held():
        pulled()


def test_other_files_of_the_folder_do_not_count(pulled: Pull) -> None:
    pulled.to.mkdir(parents=True)
    for name in (
        "trino-20260301T100000Z-20260301T120000Z.jsonl.gz",
        "snowflake-20260301T100000Z-20260301T120000Z.jsonl.gz.tmp",
        "snowflake-20260399T100000Z-20260301T120000Z.jsonl.gz",
        "snowflake-20260301T120000Z-20260301T110000Z.jsonl.gz",
        "notes.txt",
    ):
        (pulled.to / name).touch()
    assert pulled(since=at(9)).windows == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"since": at(9), "until": at(9)}, "--since is not before --until"),
        ({"window": dt.timedelta(seconds=30)}, "a minute at least"),
    ],
)
def test_questions_that_make_no_sense(asked: dict[str, Any], said: str, pulled: Pull) -> None:
    with pytest.raises(InvalidQuestion, match=said):
        pulled(**asked)


def test_a_since_that_is_not_over_yet_is_no_error(pulled: Pull, warehouse: Warehouse) -> None:
    assert pulled(since=at(12, 30)).windows == 0
    assert warehouse.asked == []


def test_what_the_source_has_forgotten_is_not_taken_for_nothing(pulled: Pull) -> None:
    pulled(since=at(11))
    pulled.now = NOW + dt.timedelta(days=400)
    day = dt.timedelta(days=1)
    assert pulled(window=day, until=at(12) + 34 * day).windows == 0
    answer = pulled(window=day, until=at(0) + 38 * day)
    assert (answer.since, answer.windows) == (at(0) + 35 * day, 3)
    assert pulled(window=day, since=at(8), until=at(0) + 38 * day).since == at(0) + 35 * day
