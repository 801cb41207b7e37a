"""A sync ends with the same tables whatever stops it, however its input is cut, and however often it is called."""

import datetime as dt
import json
import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pyspark.errors import PySparkValueError
from tests.fixtures.pipeline import content
from tests.fixtures.query_logs import BEGIN, PRICES, bigquery_files, bigquery_jobs, json_lines, price_list
from tests.scale import FULL, full
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import InvalidQuestion, NotFound, StageFailed, UnreadableContent
from headwater.pipeline import one_task
from headwater.pipeline.folder import LocalFolder
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Asked, Batch, unconsumed, windows
from headwater.pipeline.query_log.prices import parse
from headwater.pipeline.query_log.stages import Settings, batch_stages, final_stages
from headwater.pipeline.query_log.sync import Progress, Synced, sync
from headwater.pipeline.stages import Stage, run
from headwater.pipeline.tables import Consumed, Store

pytestmark = pytest.mark.spark

# `at` is when something was put into quarantine; the files and batches of an execution are not what it is.
LASTING = [table for table in S.TABLES if table not in {S.LANDED, S.REREAD}]
DAY_TWO = BEGIN + dt.timedelta(days=1)
PRICED = Settings(prices=parse(yaml.safe_load(PRICES)))
PASSING = {S.QUARANTINE.name: ("at", "file", "digest"), S.EXECUTIONS.name: ("file",)}


def tables(spark: Any, path: Path) -> dict[str, list[str]]:
    store = Store(spark, str(path))
    return {table.name: content(store.read(table), *PASSING.get(table.name, ())) for table in LASTING}


def synced(
    spark: Any, path: Path, *inputs: object, show: Any = lambda _: None, settings: Settings | None = None, **asked: Any
) -> Synced:
    return sync(spark, str(path), Asked("bigquery", tuple(map(str, inputs)), **asked), settings or PRICED, None, show)


@pytest.fixture(scope="module")
def expected(plain_tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """The tables that the log ends as: one batch, nothing that goes wrong."""
    return plain_tables


def test_what_comes_out(expected: dict[str, list[str]]) -> None:
    """No expected table is empty, so that the comparisons below compare something."""
    for name, rows in expected.items():
        # In four days nothing was unread for long enough to be advised against.
        assert rows or name == "pruning", name
    edges = {(edge["from_name"], edge["to_name"]) for edge in map(json.loads, expected["edges"])}
    assert edges == {("acme.shop.orders", "acme.shop.orders_clean"), ("acme.shop.orders_clean", "acme.shop.daily")}
    assert len(expected["executions"]) == 60
    assert {json.loads(row)["code"] for row in expected["quarantine"]} >= {"bad_row"}
    usage = {row["name"]: row for row in map(json.loads, expected["usage"])}
    assert usage["acme.shop.daily"]["reads_by_people"] > 0


@pytest.fixture(scope="module")
def in_many_tasks(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The store of a log that is taken in as a large one is: with exchanges, broadcasts, and plans that are made again on the way. What the command printed."""
    folder = tmp_path_factory.mktemp("many")
    bigquery_files(folder / "jobs")
    words = ["sync", "query-log", "--source", "bigquery", "--input", str(folder / "jobs"), "--no-publish"]
    words += ["--store", str(folder / "store"), "--prices", str(price_list(folder))]
    nothing_recorded = {"OPENLINEAGE_DISABLED": "true", "HEADWATER_URL": "", "HEADWATER_HOME": str(folder / "home")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_task, "BYTES", -1)
        patch.setattr(one_task, "planned_for_one_task", None)  # nothing is
        told = CliRunner(env=nothing_recorded).invoke(program, words, catch_exceptions=False)
    return folder / "store", told.stdout


@pytest.mark.soak
def test_many_tasks_end_as_one_does(
    spark: Any, in_many_tasks: tuple[Path, str], expected: dict[str, list[str]]
) -> None:
    assert tables(spark, in_many_tasks[0]) == expected


@pytest.mark.soak
def test_what_is_said_to_people(in_many_tasks: tuple[Path, str]) -> None:
    said = in_many_tasks[1]
    assert said.startswith("60 rows of 4 files: 4 days, ")
    assert "could not be used: the table `quarantine` has the reasons" in said
    assert "4 days are not published yet" in said


class PowerCut(RuntimeError):
    pass


def test_killed_at_every_boundary_and_before_every_commit_it_ends_the_same(
    spark: Any, bigquery_log: Path, tmp_path: Path, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call dies at the first moment that no call has died at yet, until one gets through. The suite spares five of six moments."""
    seen: set[object] = set()
    create = LocalFolder.create

    def once(moment: object) -> None:
        if moment not in seen:
            seen.add(moment)
            if len(seen) % full(1, 6) == 0:
                raise PowerCut(moment)

    def show(told: Progress) -> None:
        once((told.what, told.stage, told.batch))

    def dying(folder: LocalFolder, path: str, text: str) -> bool:
        if "/_manifest/" in path:
            once(path.rsplit("/", 1)[-1])
        return create(folder, path, text)

    monkeypatch.setattr(LocalFolder, "create", dying)
    for _ in range(200):
        try:
            told = synced(spark, tmp_path / "store", bigquery_log, show=show, batch_files=2)
            break
        except PowerCut:
            continue
    stages = {moment[1] for moment in seen if isinstance(moment, tuple)}
    nothing = Settings()
    assert len(stages) == 5 + len(final_stages(nothing))
    # Every commit was lost once: five stages of two batches, and the last ones.
    assert len([moment for moment in seen if isinstance(moment, str)]) == 10 + len(final_stages(nothing))
    assert told.rows == 0
    assert tables(spark, tmp_path / "store") == expected
    # Nothing of what the crashes left is there any more.
    manifest = json.loads(max((tmp_path / "store" / "_manifest").glob("*.json")).read_text())
    assert len(list((tmp_path / "store" / "landed").iterdir())) <= 3
    assert manifest["state"]["behind"] == []


class Grown(NamedTuple):
    """A store after four calls, the first two at another price: what ran by then, what each call did, how many stages the last began, and the versions of its tables before and after that."""

    store: Path
    ran: list[str]
    resumed: Synced
    again: Synced
    nothing: Synced
    begun_by_nothing: list[str]
    versions: tuple[int, int]


@pytest.fixture(scope="module")
def grown(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A log that comes in pieces, in any order: the first call dies; its file is gone when the second comes; then one is written anew, and one twice."""
    folder = tmp_path_factory.mktemp("grown")
    dear = Settings(prices=parse(yaml.safe_load(PRICES.replace("6.25", "100"))))
    log, store = bigquery_files(folder / "jobs"), folder / "store"
    files = sorted(log.iterdir())
    random.Random(7).shuffle(files)

    def dies(told: Progress) -> None:
        if (told.what, told.stage) == ("ended", "shapes"):
            raise PowerCut

    with pytest.raises(PowerCut):
        synced(spark, store, files[0], show=dies, settings=dear)
    files[0].rename(folder / "kept.json")
    resumed = synced(spark, store, files[1], files[2], batch_files=1, settings=dear)
    ran = tables(spark, store)["executions"]
    (folder / "kept.json").rename(log / "again.json")
    shutil.copy(log / "again.json", log / "and_again.json")
    files[1].write_bytes(files[1].read_bytes())
    again = synced(spark, store, log)
    version, stages = Store(spark, str(store)).version, []
    nothing = synced(spark, store, log, show=lambda told: stages.append(told.stage))
    return Grown(store, ran, resumed, again, nothing, stages, (version, Store(spark, str(store)).version))


def test_what_an_earlier_call_left_is_ended_before_anything_else(grown: Grown) -> None:
    told = grown.resumed
    assert (told.resumed, told.files, told.batches, told.rows) == (True, 3, 3, 45)
    assert told.watermark is not None


def test_increments_in_any_order_with_duplicates_end_the_same(
    spark: Any, grown: Grown, expected: dict[str, list[str]]
) -> None:
    """One of the last files was written anew, so it is read anew; one is there twice; their rows were known, but for the fourth."""
    told = grown.again
    assert (told.files, told.files_known, told.batches, told.rows) == (4, 1, 1, 60)
    assert tables(spark, grown.store) == expected


def test_a_rerun_changes_nothing_and_opens_nothing(grown: Grown) -> None:
    told = grown.nothing
    assert (told.files, told.files_known, told.rows, grown.begun_by_nothing) == (0, 5, 0, [])
    assert grown.versions[0] == grown.versions[1]


def test_money_follows_the_prices(spark: Any, grown: Grown) -> None:
    """An execution that came at another price costs what the present one makes of it, whether or not its file was read again."""
    assert grown.again.files_known == 1
    before = [json.loads(row) for row in grown.ran]
    after = [json.loads(row) for row in tables(spark, grown.store)["executions"]]
    assert (len(before), len(after)) == (45, 60)
    for rows, price in ((before, 100), (after, 6.25)):
        assert all(row["money"] == pytest.approx(row["bytes_billed"] / 2**40 * price, abs=1e-9) for row in rows)
        assert any(row["money"] for row in rows)
    days = Store(spark, str(grown.store)).read(S.DAILY).agg({"money": "sum", "bytes_billed": "sum"}).first()
    assert days["sum(money)"] == pytest.approx(days["sum(bytes_billed)"] / 2**40 * 6.25)


class InWindows(NamedTuple):
    """A store into which the second day came first: the answers of two calls, in `make soak` of three, and what ran by the first."""

    store: Path
    day: Synced
    within: Synced
    rest: Synced | None
    ran: list[str]


@pytest.fixture(scope="module")
def in_windows(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> InWindows:
    folder = tmp_path_factory.mktemp("windows")
    log, store = bigquery_files(folder / "jobs"), folder / "store"
    day = synced(spark, store, log, since=DAY_TWO, until=DAY_TWO + dt.timedelta(days=1))
    ran = tables(spark, store)["executions"]
    hours = {"since": DAY_TWO + dt.timedelta(hours=1), "until": DAY_TWO + dt.timedelta(hours=2)}
    within = synced(spark, store, log, **hours)
    return InWindows(store, day, within, synced(spark, store, log) if FULL else None, ran)


def test_since_and_until_and_then_the_rest(spark: Any, in_windows: InWindows, expected: dict[str, list[str]]) -> None:
    rows = [json.loads(row) for row in in_windows.ran]
    # From the 22nd job, at 08:30, to the 42nd, at 07:50.
    assert in_windows.day.rows == len(rows) == 21
    starts = [dt.datetime.fromisoformat(row["started_at"]) for row in rows]
    assert all(DAY_TWO <= started < DAY_TWO + dt.timedelta(days=1) for started in starts)
    assert (in_windows.within.files, in_windows.within.files_known) == (0, 4)
    if in_windows.rest is not None:
        assert in_windows.rest.rows == 60
        assert tables(spark, in_windows.store) == expected


def test_a_log_of_nothing_usable_is_quarantined_and_an_error(spark: Any, tmp_path: Path) -> None:
    json_lines(tmp_path / "x.json", [{"job_id": "a"}])
    with pytest.raises(UnreadableContent, match="nothing of 1 file was understood as a log of bigquery: of 1 record"):
        synced(spark, tmp_path / "store", tmp_path / "x.json")
    store = Store(spark, str(tmp_path / "store"))
    assert store.read(S.QUARANTINE).count() == 1
    # It was read, and is not read again.
    again = synced(spark, tmp_path / "store", tmp_path / "x.json")
    assert (again.files, again.files_known, again.rows) == (0, 1, 0)


def test_records_are_counted_by_what_became_of_them(spark: Any, tmp_path: Path) -> None:
    rows = [*bigquery_jobs(6), {"job_id": "no time"}]
    json_lines(tmp_path / "x.json", rows)
    told = synced(spark, tmp_path / "store", tmp_path / "x.json", since=BEGIN + dt.timedelta(minutes=140))
    assert (told.records, told.rows, told.outside, told.quarantined) == (7, 4, 2, 1)


def test_questions_that_make_no_sense(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file matches"):
        synced(spark, tmp_path / "store", tmp_path / "*.json")
    with pytest.raises(InvalidQuestion, match="is not before"):
        Asked("bigquery", ("x",), since=BEGIN, until=BEGIN)
    json_lines(tmp_path / "x.json", [{"a": 1}])
    with pytest.raises(InvalidQuestion, match="oracle"):
        sync(spark, str(tmp_path / "store"), Asked("oracle", (str(tmp_path / "x.json"),)), Settings())


def test_a_stage_touches_only_what_it_declares(spark: Any, tmp_path: Path) -> None:
    store = Store(spark, str(tmp_path / "store"))
    for work in (lambda desk: desk.read(S.TEXTS), lambda desk: desk.append(S.TEXTS, None)):
        with pytest.raises(ValueError, match="does not declare"):
            run(store, Stage("x", (), (), work), lambda _: None)
    batch = Batch(number=1, batches=1, source="bigquery")
    assert {
        table for stage in (*batch_stages(batch, Settings()), *final_stages(Settings())) for table in stage.writes
    } | {S.LANDED} == set(S.TABLES)


def test_what_spark_could_not_do_is_said_in_a_line(spark: Any, tmp_path: Path) -> None:
    store = Store(spark, str(tmp_path / "store"))

    def work(desk: Any) -> None:
        desk.spark.sql("select raise_error('no such luck')").collect()

    def other(_: Any) -> None:
        raise PySparkValueError("a value")

    with pytest.raises(StageFailed, match="no such luck") as told:
        run(store, Stage("land", (), (), work), lambda _: None)
    assert "\n" not in told.value.message
    assert not told.value.permanent
    with pytest.raises(StageFailed, match="a value"):
        run(store, Stage("land", (), (), other), lambda _: None)
    assert store.version == 0


def test_windows_of_files(spark: Any, tmp_path: Path) -> None:
    from headwater.pipeline.folder import InputFile

    files = [InputFile(f"f{n}", n * 10, n) for n in range(1, 6)]
    cut = [[file.path for file in window] for window in windows(files, 2, 60)]
    assert cut == [["f1", "f2"], ["f3"], ["f4"], ["f5"]]
    assert list(windows([], 2, 60)) == []
    assert [len(window) for window in windows(files, 9, 5)] == [1, 1, 1, 1, 1]


def test_the_ledger_knows_files_by_what_they_are_and_what_was_read_of_them() -> None:
    from headwater.pipeline.folder import InputFile

    file = InputFile("f", 1, 2)
    day = [BEGIN + dt.timedelta(days=n) for n in range(4)]

    def known(*entries: Consumed, since: dt.datetime | None = None, until: dt.datetime | None = None) -> bool:
        return not unconsumed([file], entries, Asked("bigquery", ("f",), since=since, until=until))

    whole = Consumed("f", 1, 2, "bigquery")
    part = Consumed("f", 1, 2, "bigquery", day[1].isoformat(), day[2].isoformat())
    assert known(whole)
    assert known(whole, since=day[0], until=day[1])
    assert known(part, since=day[1], until=day[2])
    assert not known(part)
    assert not known(part, since=day[0], until=day[2])
    assert not known(part, since=day[1], until=day[3])
    assert not known(part, since=day[1])
    assert not known(Consumed("f", 1, 3, "bigquery"), Consumed("f", 2, 2, "bigquery"), Consumed("f", 1, 2, "trino"))
