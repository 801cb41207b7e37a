"""A sync ends with the same tables whatever stops it, however its input is cut, and however often it is called."""

import datetime as dt
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from tests.fixtures.pipeline import content
from tests.fixtures.query_logs import BEGIN, json_lines
from tests.scale import full

from headwater.errors import InvalidQuestion, NotFound, StageFailed
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
PASSING = {S.QUARANTINE.name: ("at", "file", "digest"), S.EXECUTIONS.name: ("file",)}


def tables(spark: Any, path: Path) -> dict[str, list[str]]:
    store = Store(spark, str(path))
    return {table.name: content(store.read(table), *PASSING.get(table.name, ())) for table in LASTING}


def synced(
    spark: Any, path: Path, *inputs: object, show: Any = lambda _: None, settings: Settings | None = None, **asked: Any
) -> Synced:
    return sync(
        spark, str(path), Asked("bigquery", tuple(map(str, inputs)), **asked), settings or Settings(), None, show
    )


@pytest.fixture(scope="module")
def expected(plain_tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """The tables that the log ends as: one batch, nothing that goes wrong."""
    return plain_tables


def test_what_comes_out(expected: dict[str, list[str]]) -> None:
    """So that the comparisons below compare something."""
    for name, rows in expected.items():
        # In four days nothing was unread for long enough to be advised against.
        assert rows or name == "pruning", name
    edges = {(edge["from_name"], edge["to_name"]) for edge in map(json.loads, expected["edges"])}
    assert edges == {("acme.shop.orders", "acme.shop.orders_clean"), ("acme.shop.orders_clean", "acme.shop.daily")}
    assert len(expected["executions"]) == 60
    assert {json.loads(row)["code"] for row in expected["quarantine"]} >= {"bad_row"}
    usage = {row["name"]: row for row in map(json.loads, expected["usage"])}
    assert usage["acme.shop.daily"]["reads_by_people"] > 0


def test_many_tasks_end_as_one_does(
    spark: Any, bigquery_log: Path, tmp_path: Path, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a log that is large is taken in: with exchanges, broadcasts, and plans that are made again on the way."""
    monkeypatch.setattr(one_task, "BYTES", -1)
    monkeypatch.setattr(one_task, "planned_for_one_task", None)  # nothing is
    synced(spark, tmp_path / "store", bigquery_log)
    assert tables(spark, tmp_path / "store") == expected


class PowerCut(RuntimeError):
    pass


def test_killed_at_every_boundary_and_before_every_commit_it_ends_the_same(
    spark: Any, bigquery_log: Path, tmp_path: Path, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call dies at the first moment that no call has died at yet, until one gets through. The suite spares two of three moments."""
    seen: set[object] = set()
    create = LocalFolder.create

    def once(moment: object) -> None:
        if moment not in seen:
            seen.add(moment)
            if len(seen) % full(1, 3) == 0:
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


def test_increments_in_any_order_with_duplicates_end_the_same(
    spark: Any, bigquery_log: Path, tmp_path: Path, expected: dict[str, list[str]]
) -> None:
    chance = random.Random(7)
    files = sorted(bigquery_log.iterdir())
    chance.shuffle(files)
    shutil.copy(files[0], bigquery_log / "again.json")
    store = tmp_path / "store"
    synced(spark, store, files[0])
    told = synced(spark, store, files[1], files[2], batch_files=1)
    assert (told.files, told.batches) == (2, 2)
    told = synced(spark, store, bigquery_log)
    assert (told.files, told.files_known, told.batches) == (2, 3, 1)
    assert tables(spark, store) == expected


def test_a_rerun_changes_nothing_and_opens_nothing(spark: Any, bigquery_log: Path, tmp_path: Path) -> None:
    first = bigquery_log / "jobs-1.json"
    assert synced(spark, tmp_path / "store", first).files == 1
    version = Store(spark, str(tmp_path / "store")).version
    first.write_bytes(first.read_bytes())
    stages: list[str] = []
    modified = first.stat().st_mtime_ns
    again = synced(spark, tmp_path / "store", first, show=lambda told: stages.append(told.stage))
    assert modified == first.stat().st_mtime_ns
    # It was written anew, so it is read anew; what it says was known.
    assert again.files == 1
    before = tables(spark, tmp_path / "store")
    stages.clear()
    again = synced(spark, tmp_path / "store", first, show=lambda told: stages.append(told.stage))
    assert (again.files, again.files_known, again.rows, stages) == (0, 1, 0, [])
    assert tables(spark, tmp_path / "store") == before
    assert Store(spark, str(tmp_path / "store")).version > version


def test_since_and_until_and_then_the_rest(
    spark: Any, bigquery_log: Path, tmp_path: Path, expected: dict[str, list[str]]
) -> None:
    middle = BEGIN + dt.timedelta(days=1)
    store = tmp_path / "store"
    told = synced(spark, store, bigquery_log, since=middle, until=middle + dt.timedelta(days=1))
    rows = [json.loads(row) for row in tables(spark, store)["executions"]]
    # From the 22nd job, at 08:30, to the 42nd, at 07:50.
    assert told.rows == len(rows) == 21
    assert all(middle <= dt.datetime.fromisoformat(row["started_at"]) < middle + dt.timedelta(days=1) for row in rows)
    again = synced(
        spark, store, bigquery_log, since=middle + dt.timedelta(hours=1), until=middle + dt.timedelta(hours=2)
    )
    assert (again.files, again.files_known) == (0, 4)
    assert synced(spark, store, bigquery_log).rows == 60
    assert tables(spark, store) == expected


def test_money_follows_the_prices(spark: Any, bigquery_log: Path, tmp_path: Path) -> None:
    def billed(price: float) -> Settings:
        return Settings(prices=parse({"currency": "USD", "compute": [{"source": "bigquery", "per_tib_billed": price}]}))

    first, second = bigquery_log / "jobs-0.json", bigquery_log / "jobs-1.json"
    plain, changed = tmp_path / "plain", tmp_path / "changed"
    synced(spark, plain, bigquery_log / "jobs-[01].json", settings=billed(6.25))
    synced(spark, changed, first, settings=billed(100))
    synced(spark, changed, first, second, settings=billed(6.25))
    assert tables(spark, changed) == tables(spark, plain)
    days = Store(spark, str(plain)).read(S.DAILY).agg({"money": "sum", "bytes_billed": "sum"}).first()
    assert days[0] == pytest.approx(days[1] / 2**40 * 6.25) or days[1] == pytest.approx(days[0] / 2**40 * 6.25)


def test_what_an_earlier_call_left_is_ended_before_anything_else(
    spark: Any, bigquery_log: Path, tmp_path: Path
) -> None:
    def dies(told: Progress) -> None:
        if (told.what, told.stage) == ("ended", "shapes"):
            raise PowerCut

    with pytest.raises(PowerCut):
        synced(spark, tmp_path / "store", bigquery_log / "jobs-0.json", show=dies)
    (bigquery_log / "jobs-0.json").unlink()
    told = synced(spark, tmp_path / "store", bigquery_log / "jobs-1.json")
    assert (told.resumed, told.files, told.batches, told.rows) == (True, 2, 2, 30)
    assert told.watermark is not None


def test_a_log_of_nothing_usable_is_quarantined_and_ends(spark: Any, tmp_path: Path) -> None:
    json_lines(tmp_path / "x.json", [{"job_id": "a"}])
    told = synced(spark, tmp_path / "store", tmp_path / "x.json")
    assert (told.rows, told.quarantined, told.days) == (0, 1, 0)


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
