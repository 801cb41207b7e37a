"""Declarations beside the log: a change of one makes again the tables that depend on it and nothing else."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.pipeline import content
from tests.fixtures.query_logs import BEGIN, json_lines

from headwater.errors import InvalidQuestion, NotFound, UnreadableContent
from headwater.pipeline.folder import inputs
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log import sync as syncing
from headwater.pipeline.query_log.batch import Asked, unconsumed
from headwater.pipeline.query_log.declared import (
    ASSET_NAMES,
    EXPORTED,
    Dbt,
    Exports,
    RetainedTable,
    Stored,
    exported,
    retained_datasets,
)
from headwater.pipeline.query_log.stages import BEHIND, UNPUBLISHED, WHO_VERSION, Settings, final_stages, redoing
from headwater.pipeline.query_log.sync import Synced, sync
from headwater.pipeline.query_log.who import Config
from headwater.pipeline.stages import run
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark
EVERY = [stage.name for stage in final_stages(Settings())]
LOOKML = Path(__file__).parents[1] / "cases" / "query_log" / "lookml"
BATCH = ["land", "shapes", "statements", "executions", "daily"]


def job(number: int, text: str, user: str = "batch", day: int = 0) -> dict[str, Any]:
    at = BEGIN.replace(day=BEGIN.day + day).isoformat()
    return {
        "job_id": f"job_{number}",
        "project_id": "acme",
        "creation_time": at,
        "start_time": at,
        "end_time": at,
        "user_email": user,
        "query": text,
        "state": "DONE",
        "job_type": "QUERY",
    }


LOOKER = '-- Looker Query Context \'{"user_id":6,"history_slug":"aaaaaaaa1","instance_slug":"71d4"}\'\n'
FIRST = (job(1, "create table s.b as select * from s.a"), job(2, f"{LOOKER}select x from s.b", "looker", 1))
SECOND = (job(3, "select y from s.c", "ada", 2),)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two days in one file, a third in another. Roll-ups stay behind: these tests ask which tables are made again, not how."""
    folder = tmp_path_factory.mktemp("declared") / "log"
    json_lines(folder / "a.json", list(FIRST))
    json_lines(folder / "b.json", list(SECOND))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syncing, "final_stages", lambda settings: ())
        yield folder


@pytest.fixture(scope="module")
def plain(spark: Any, log: Path) -> Path:
    """The log's store, with nothing told besides it."""
    synced(spark, log.parent / "plain", log)
    return log.parent / "plain"


@pytest.fixture
def store(plain: Path, tmp_path: Path) -> Path:
    return shutil.copytree(plain, tmp_path / "store")


def synced(spark: Any, store: Path, path: Path, settings: Settings | None = None) -> Synced:
    return sync(spark, str(store), Asked("bigquery", (str(path),)), settings or Settings())


def exports(folder: Path) -> Exports:
    results = {
        "metadata": {"invocation_id": "inv-1"},
        "results": [{"unique_id": "model.shop.b", "adapter_response": {"job_id": "job_1"}}],
    }
    (folder / "run_results.json").write_text(json.dumps(results), encoding="utf-8")
    (folder / "history.csv").write_text(
        "History Slug,User Email,Dashboard ID,Dashboard Title\naaaaaaaa1,ada@x.example,12,Orders\n", encoding="utf-8"
    )
    (folder / "names.csv").write_text("tool,tool_asset,name\nlooker,dashboard/12,Sales\n", encoding="utf-8")
    return Exports((Dbt(f"{folder}/run_results.json"),), (f"{folder}/history.csv",), (f"{folder}/names.csv",))


def executions(spark: Any, store: Path) -> dict[str, dict[str, Any]]:
    return {row["query_id"]: row.asDict() for row in Store(spark, str(store)).read(S.EXECUTIONS).collect()}


def test_exports_of_tools_say_who_asked_whenever_they_come(spark: Any, log: Path, store: Path, tmp_path: Path) -> None:
    settings = Settings(exports=exports(tmp_path))
    early, late = tmp_path / "early", store
    assert list(synced(spark, early, log, settings).stages) == ["exports", *BATCH]
    with Store(spark, str(late)).change() as change:
        change.state |= {BEHIND: [], UNPUBLISHED: []}
    assert list(synced(spark, late, log, settings).stages) == ["exports"]
    state = Store(spark, str(late)).state
    # Two of the three days have a query that an export speaks of.
    assert (state[BEHIND], state[UNPUBLISHED]) == (EVERY, ["2026-03-01", "2026-03-02"])
    for table in (S.EXECUTIONS, S.DAILY, *EXPORTED):
        rows = [content(Store(spark, str(store)).read(table)) for store in (early, late)]
        assert rows[0] == rows[1]
        assert rows[0]
    found = executions(spark, late)
    first, second = found["job_1"], found["job_2"]
    assert (first["tool"], first["job_namespace"], first["job_name"], first["job_run_id"]) == (
        *("dbt", "dbt", "model.shop.b"),
        "inv-1",
    )
    assert (second["actor"], second["tool_asset"], second["tool_asset_name"], second["tool_run"]) == (
        *("ada@x.example", "dashboard/12", "Sales"),
        "aaaaaaaa1",
    )
    assert found["job_3"]["tool"] is None
    # The same files again are nothing new, and what is not given any more stays known.
    assert synced(spark, late, log, settings).stages == {}
    assert list(synced(spark, late, log).stages) == ["exports"]
    assert executions(spark, late) == found


def test_a_change_makes_again_what_depends_on_it(spark: Any, log: Path, store: Path) -> None:
    opened = Store(spark, str(store))
    with opened.change() as change:
        change.state |= {BEHIND: [], UNPUBLISHED: []}

    def behind(part: str, settings: Settings) -> tuple[list[str], list[str]]:
        with opened.change() as change:
            change.state |= {BEHIND: [], UNPUBLISHED: []}
        run(opened, redoing(part, settings), lambda _: None)
        return opened.state[BEHIND], opened.state[UNPUBLISHED]

    assert behind("kept", Settings(kept=(RetainedTable("s.b"),))) == (["pruning"], [])
    assert behind("storage", Settings(storage=(Stored("bigquery", "acme.s.b", 1),))) == (["cost", "pruning"], [])

    # A column list is what `select *` needs; the other statements are not read again.
    before = {row["shape_id"]: row for row in opened.read(S.STATEMENTS).collect()}
    schemas = Settings(schemas={"bigquery": {"acme.s.a": ["x", "y"]}})
    assert behind("schemas", schemas) == (EVERY, ["2026-03-01", "2026-03-02", "2026-03-03"])
    after = {row["shape_id"]: row for row in opened.read(S.STATEMENTS).collect()}
    assert len(after) == len(before) == 3
    (made,) = [shape for shape, row in after.items() if row["writes"]]
    assert '"y"' in after[made]["outputs"]
    assert '"y"' not in before[made]["outputs"]
    assert len({row["catalog_version"] for row in after.values()}) == 1

    # Comments are not kept, so the files are read again; what is said now stands, whatever was known.
    assert executions(spark, store)["job_1"]["actor_kind"] == "pipeline"
    known = Settings(who=Config(users={"batch": "bi", "ada": "person"}))
    told = synced(spark, store, log, known)
    assert list(told.stages) == ["who", *BATCH]
    assert (told.files, told.files_known) == (2, 0)
    kinds = {name: row["actor_kind"] for name, row in executions(spark, store).items()}
    assert kinds == {"job_1": "bi", "job_2": "bi", "job_3": "person"}
    assert synced(spark, store, log, known).stages == {}
    # Back to what was said first: that is other settings once more, though the ledger knows files that were read by the like.
    run(Store(spark, str(store)), redoing("who", Settings()), lambda _: None)
    now = Store(spark, str(store))
    asked = Asked("bigquery", (str(log),))
    assert len(unconsumed(inputs(spark, asked.inputs), now.consumed(), asked, now.state[WHO_VERSION])) == 2


def test_names_that_are_kept(spark: Any) -> None:
    one = ("bigquery", "acme.audit.Log"), ("other", "acme.audit.log"), ("bigquery", "acme.auditing.x")
    rows = [("{}", [one[0], one[2]], None), ("{}", None, [one[1]])]
    kind = "place string, reads array<struct<namespace:string,name:string>>, writes array<struct<namespace:string,name:string>>"
    known = spark.createDataFrame(rows, kind)

    def found(*told: RetainedTable) -> set[tuple[str, str]]:
        table = retained_datasets(known, told)
        assert table is not None
        return {tuple(row) for row in table.collect()}

    assert retained_datasets(known, ()) is None
    assert found(RetainedTable("acme.audit.*")) == {one[0], one[1]}
    assert found(RetainedTable("acme.audit.*", "bigquery")) == {one[0]}
    assert found(RetainedTable("*.X", "bigquery"), RetainedTable("*.log", "other")) == {one[1], one[2]}
    assert found(RetainedTable("acme.audit")) == set()
    assert found(RetainedTable("acme?audit?log", "other")) == {one[1]}


def test_names_that_lookml_gives(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text(
        "tool,tool_asset,name\nlooker,dashboard/shop::sales,Told\nlooker,look/7,Seven\n", encoding="utf-8"
    )

    def found(told: Exports) -> set[tuple[str, str, str]]:
        (names,) = exported(spark, told, Config()).values()
        assert names.columns == ASSET_NAMES.columns()
        return {tuple(row) for row in names.collect()}

    own = {
        ("looker", "dashboard/shop::returns%2F2026", "Returns"),
        ("looker", "explore/shop::orders", "Orders of Acme"),
        ("looker", "explore/shop::recent", "Recent orders"),
    }
    lookml = (str(LOOKML),)
    assert found(Exports(lookml=lookml)) == own | {("looker", "dashboard/shop::sales", "Sales of Acme")}
    told = {("looker", "dashboard/shop::sales", "Told"), ("looker", "look/7", "Seven")}
    assert found(Exports(lookml=lookml, asset_names=(f"{tmp_path}/names.csv",))) == own | told
    assert len({Exports(lookml=(f"{LOOKML}{more}",)).version(spark) for more in ("", "/views", "/*.lkml")}) == 3


def test_exports_that_are_none(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id\n1\n", encoding="utf-8")
    with pytest.raises(NotFound, match="no file matches"):
        Exports(looker_history=(f"{tmp_path}/*.json",)).version(spark)
    with pytest.raises(InvalidQuestion, match=r"looker_history: .*no column history_slug"):
        exported(spark, Exports(looker_history=(f"{tmp_path}/x.csv",)), Config())
    with pytest.raises(UnreadableContent, match="not an artifact of dbt"):
        exported(spark, Exports(dbt=(Dbt(f"{tmp_path}/x.csv"),)), Config())
    with pytest.raises(InvalidQuestion, match="read on this machine"):
        exported(spark, Exports(dbt=(Dbt(f"{tmp_path}/x.csv", "s3a://lake/manifest.json"),)), Config())
    with pytest.raises(InvalidQuestion, match=r"no file there is LookML"):
        exported(spark, Exports(lookml=(str(tmp_path),)), Config())
    (tmp_path / "a.model.lkml").write_text("explore: {", encoding="utf-8")
    with pytest.raises(UnreadableContent, match=r"a\.model\.lkml:1: explore has no }"):
        exported(spark, Exports(lookml=(str(tmp_path),)), Config())
    assert Exports().version(spark) == ""
