"""A store changes whole or not at all, whatever happens meanwhile."""

import datetime as dt
from pathlib import Path

import msgspec
import pytest
from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType

from headwater.errors import InvalidStore, NotFound, StoreChanged, UnreachableFolder
from headwater.pipeline import one_task, tables
from headwater.pipeline.folder import folder, inputs, whole
from headwater.pipeline.tables import FORMAT, Consumed, Store, Table

pytestmark = pytest.mark.spark

WORDS = Table("words", StructType([StructField("word", StringType()), StructField("n", LongType())]), ("word",))
DAYS = Table(
    "days", StructType([StructField("day", DateType()), StructField("n", LongType())]), ("day", "n"), partition="day"
)
ONE, TWO, THREE = (dt.date(2026, 3, day) for day in (1, 2, 3))


def words(spark, **given):
    return spark.createDataFrame(list(given.items()), "word string, n long")


def days(spark, *rows):
    return spark.createDataFrame(list(rows), "day date, n long")


def rows(frame):
    return sorted(map(tuple, frame.collect()))


@pytest.fixture
def store(spark, tmp_path):
    return Store(spark, str(tmp_path / "store"))


def test_a_table_that_was_never_written_is_empty_and_has_its_columns(store):
    assert store.version == 0
    assert store.read(WORDS).columns == ["word", "n"]
    assert dict(store.read(DAYS).dtypes) == {"day": "date", "n": "bigint"}
    assert rows(store.read(DAYS)) == []
    assert store.days(DAYS) == []


def test_all_of_a_change_is_seen_at_once(spark, store, tmp_path):
    with store.change() as change:
        change.append(WORDS, words(spark, a=1))
        change.replace(DAYS, days(spark, (ONE, 1)))
        change.state["stage"] = "land"
        assert rows(Store(spark, str(tmp_path / "store")).read(WORDS)) == []
        assert rows(store.read(WORDS)) == []
    for seen in (store, Store(spark, str(tmp_path / "store"))):
        assert rows(seen.read(WORDS)) == [("a", 1)]
        assert rows(seen.read(DAYS)) == [(ONE, 1)]
        assert seen.state == {"stage": "land"}


def test_a_crash_before_the_commit_leaves_the_old_state_and_is_swept(spark, store, tmp_path):
    with store.change() as change:
        change.append(WORDS, words(spark, a=1))

    def crash():
        with store.change() as change:
            change.replace(WORDS, words(spark, b=2))
            change.consume([Consumed("f", 1, 1, "bigquery")])
            change.state["stage"] = "land"
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        crash()
    again = Store(spark, str(tmp_path / "store"))
    for seen in (store, again):
        assert rows(seen.read(WORDS)) == [("a", 1)]
        assert seen.consumed() == set()
        assert seen.state == {}
    directories = set((tmp_path / "store" / "words").iterdir())
    assert len(directories) == 2
    # The files that the crash left belong to the next change, which may be at work: they stay until it is made.
    assert again.sweep() == 0
    with again.change() as change:
        change.append(WORDS, words(spark, c=3))
    assert again.sweep() == 1
    assert rows(again.read(WORDS)) == [("a", 1), ("c", 3)]


def test_replacing_days_leaves_the_others(spark, store):
    with store.change() as change:
        change.append(DAYS, days(spark, (ONE, 1), (TWO, 2), (THREE, 3)))
    with store.change() as change:
        change.replace(DAYS, days(spark, (TWO, 20), (TWO, 21)), days=[TWO, THREE])
    assert rows(store.read(DAYS)) == [(ONE, 1), (TWO, 20), (TWO, 21)]
    assert store.days(DAYS) == [ONE, TWO]
    assert rows(store.read(DAYS, days=[TWO, THREE])) == [(TWO, 20), (TWO, 21)]


def test_a_table_can_be_replaced_by_what_is_made_of_itself(spark, store):
    with store.change() as change:
        change.append(WORDS, words(spark, a=1, b=2))
    with store.change() as change:
        change.replace(WORDS, store.read(WORDS).where("n > 1").unionByName(words(spark, c=3)))
    assert rows(store.read(WORDS)) == [("b", 2), ("c", 3)]


def test_a_row_of_a_day_that_is_not_replaced_is_an_error(spark, store):
    with pytest.raises(ValueError, match="2026-03-03"), store.change() as change:
        change.replace(DAYS, days(spark, (TWO, 2), (THREE, 3)), days=[TWO])
    assert store.version == 0
    with pytest.raises(ValueError, match="no partitions"), store.change() as change:
        change.replace(WORDS, words(spark, a=1), days=[TWO])


def test_rows_that_do_not_fit_the_declaration_are_an_error(spark, store):
    with pytest.raises(TypeError, match=r"lacking \['n'\], extra \['m'\]"), store.change() as change:
        change.append(WORDS, spark.createDataFrame([("a", 1)], "word string, m long"))
    with pytest.raises(TypeError, match="n: string, not bigint"), store.change() as change:
        change.append(WORDS, spark.createDataFrame([("a", "1")], "word string, n string"))
    with store.change() as change:
        change.append(WORDS, spark.createDataFrame([(1, "a")], "n long, word string"))
    assert rows(store.read(WORDS)) == [("a", 1)]


def test_replacing_with_nothing_leaves_an_empty_table(spark, store):
    with store.change() as change:
        change.append(WORDS, words(spark, a=1))
        change.append(DAYS, days(spark, (ONE, 1)))
    with store.change() as change:
        change.replace(WORDS, words(spark, a=1).where("false"))
        change.replace(DAYS, days(spark, (ONE, 1)).where("false"), days=[ONE])
    assert rows(store.read(WORDS)) == []
    assert rows(store.read(DAYS)) == []
    assert store.days(DAYS) == []


def test_of_two_changes_at_once_the_second_is_refused_and_nothing_of_it_stays(spark, store, tmp_path):
    other = Store(spark, str(tmp_path / "store"))

    def slowly():
        with store.change() as slow:
            slow.append(WORDS, words(spark, slow=1))
            with other.change() as quick:
                quick.append(WORDS, words(spark, quick=1))

    with pytest.raises(StoreChanged):
        slowly()
    assert rows(Store(spark, str(tmp_path / "store")).read(WORDS)) == [("quick", 1)]
    assert other.sweep() == 1
    assert rows(other.read(WORDS)) == [("quick", 1)]


def test_many_appends_are_one_directory_now_and_then(spark, store, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "APPENDED_AT_MOST", 3)
    for n in range(8):
        with store.change() as change:
            change.append(DAYS, days(spark, (ONE, n), (TWO, n)))
            change.consume([Consumed(f"f{n}", n, n, "bigquery")])
    assert rows(store.read(DAYS)) == sorted((day, n) for day in (ONE, TWO) for n in range(8))
    assert {entry.path for entry in store.consumed()} == {f"f{n}" for n in range(8)}
    manifest = msgspec.json.decode((tmp_path / "store" / "_manifest" / "0000000008.json").read_bytes())
    assert all(len(paths) <= 3 for paths in manifest["tables"]["days"].values())
    assert len(manifest["ledger"]) <= 3
    store.sweep()
    assert len(list((tmp_path / "store" / "_manifest").glob("*.json"))) == tables.KEPT
    assert rows(store.read(DAYS)) == sorted((day, n) for day in (ONE, TWO) for n in range(8))
    assert len(store.consumed()) == 8


def test_who_reads_the_state_before_can_go_on_for_some_changes(spark, store):
    with store.change() as change:
        change.replace(WORDS, words(spark, a=1))
    before = store.read(WORDS)
    with store.change() as change:
        change.replace(WORDS, words(spark, b=2))
    store.sweep()
    assert rows(before) == [("a", 1)]


def test_a_store_of_a_newer_headwater_or_a_damaged_one_is_refused(spark, store, tmp_path):
    path = tmp_path / "store" / "_manifest" / "0000000001.json"
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"version": 1, "format": {FORMAT + 1}}}')
    with pytest.raises(InvalidStore, match="newer"):
        Store(spark, str(tmp_path / "store"))
    path.write_text('{"version": 1, "for')
    with pytest.raises(InvalidStore, match="no manifest"):
        Store(spark, str(tmp_path / "store"))


def test_the_same_store_through_hadoops_classes(spark, tmp_path):
    from headwater.pipeline.folder import HadoopFolder, LocalFolder

    root = tmp_path / "lake"
    (root / "a" / "_temporary").mkdir(parents=True)
    (root / "a" / "one.json").write_text("{}")
    (root / "a" / ".hidden").write_text("x")
    (root / "a" / "_temporary" / "part").write_text("x")
    (root / "two.json.gz").write_text("xx")
    near, far = LocalFolder(), HadoopFolder(spark)
    for pattern in (f"{root}/a/*.json", f"{root}/*", str(root), f"{root}/two.json.gz", f"{root}/none*"):
        one = near.matching(f"file://{pattern}")
        other = far.matching(f"file://{pattern}")
        assert [(Path(x.path).name, x.size, x.modified) for x in one] == [
            (Path(x.path).name, x.size, x.modified) for x in other
        ], pattern
    for number, place in enumerate((near, far)):
        path = f"file://{root}/made{number}/1.json"
        assert place.create(path, "ö")
        assert not place.create(path, "again")
        assert place.read(path) == "ö"
        place.create(f"file://{root}/made{number}/day=1/_part", "xyz")
        sizes = place.sizes(f"file://{root}/made{number}")
        assert {name: size for name, size in sizes.items() if not name.endswith(".crc")} == {
            "1.json": 2,
            "day=1/_part": 3,
        }
        assert [name for name in place.names(f"file://{root}/made{number}") if not name.startswith(".")] == [
            "1.json",
            "day=1",
        ]
        place.remove(f"file://{root}/made{number}")
        place.remove(f"file://{root}/made{number}")
        assert place.names(f"file://{root}/made{number}") == []


def test_small_tables_are_read_and_written_by_one_task(spark, store, tmp_path, monkeypatch):
    with store.change() as change:
        change.replace(DAYS, days(spark, (ONE, 1), (TWO, 2)).repartition(2))
        change.append(WORDS, words(spark, a=1).repartition(2))
    asked = {name: spark.conf.get(name) for name in one_task._SETTINGS}

    def tasks() -> int:
        return store.read(DAYS).rdd.getNumPartitions()

    def alone(*given, **named):
        with Store(spark, str(tmp_path / "store")).in_one_task_if_small(*given, **named) as found:
            return found

    with store.in_one_task_if_small((DAYS, WORDS)) as small:
        assert small
        assert tasks() == 1
        counted = store.read(DAYS).join(store.read(WORDS), "n", "left").groupBy("word").count()
        assert "Exchange" not in counted._jdf.queryExecution().executedPlan().toString()
        assert {row["word"]: row["count"] for row in counted.collect()} == {"a": 1, None: 1}
        # Read once and held, until a change replaces it or the sync ends.
        held = store.read(DAYS)
        assert store.read(DAYS) is held
        assert store.read(DAYS, [ONE]) is not held
        assert held.is_cached
        with store.change() as change:
            change.append(WORDS, words(spark, b=2, c=3).repartition(2))
            change.replace(DAYS, days(spark, (ONE, 5)), [ONE])
        assert not held.is_cached
        assert rows(store.read(DAYS)) == [(ONE, 5), (TWO, 2)]
        held = store.read(DAYS)
        with store.change() as change:
            change.replace(DAYS, days(spark, (ONE, 1)), [ONE])
    store.release()
    assert not held.is_cached
    assert len(list(next((tmp_path / "store" / "words").glob("*2-*")).glob("part-*"))) == 1
    # As it was, also after a failure.
    with pytest.raises(RuntimeError), store.in_one_task_if_small((DAYS,)):
        raise RuntimeError
    assert {name: spark.conf.get(name) for name in one_task._SETTINGS} == asked
    assert tasks() == 2

    # By what is looked at: the days that are asked for, and what is read besides.
    sizes = {
        day: sum(file.stat().st_size for file in (tmp_path / "store" / directory).iterdir())
        for day, (directory,) in store._manifest.tables["days"].items()
    }
    assert sizes == {
        day: store._manifest.sizes[directory] for day, (directory,) in store._manifest.tables["days"].items()
    }
    monkeypatch.setattr(one_task, "BYTES", sizes[str(ONE)])
    assert alone((DAYS,), [ONE])
    assert not alone((DAYS,), [ONE], 1)
    assert not alone((), more=None)
    assert not alone((DAYS,), [ONE, TWO])
    assert not alone((DAYS,))
    monkeypatch.undo()
    monkeypatch.setattr(one_task, "DIRECTORIES", 1)
    assert not alone((DAYS,))
    monkeypatch.undo()
    # An earlier version recorded no sizes of its directories.
    path = max((tmp_path / "store" / "_manifest").iterdir())
    told = msgspec.json.decode(path.read_bytes())
    path.write_bytes(
        msgspec.json.encode({name: value for name, value in told.items() if name != "sizes"} | {"format": 1})
    )
    assert not alone((DAYS,))
    assert rows(Store(spark, str(tmp_path / "store")).read(DAYS)) == [(ONE, 1), (TWO, 2)]


def test_inputs_are_each_file_once_and_a_glob_without_files_is_said(spark, tmp_path):
    (tmp_path / "b.json").write_text("{}")
    (tmp_path / "a.json").write_text("{}")
    found = inputs(spark, [str(tmp_path), f"{tmp_path}/*.json", f"file://{tmp_path}/a.json"])
    assert [file.path for file in found] == [f"file://{tmp_path}/a.json", f"file://{tmp_path}/b.json"]
    with pytest.raises(NotFound, match=r"no file matches .*/\*\.csv"):
        inputs(spark, [f"{tmp_path}/*.csv"])


def test_where_a_path_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert whole("store") == f"file://{tmp_path}/store"
    assert whole("file:/data//x/") == "file:///data/x"
    assert whole("s3a://bucket/x/") == "s3a://bucket/x"
    with pytest.raises(UnreachableFolder, match="Spark Connect"):
        folder(object(), "s3a://bucket/x")  # type: ignore[arg-type]
