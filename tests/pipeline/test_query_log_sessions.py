"""Temporary tables of a log are followed through its sessions, whatever the product calls them, and however the log is cut."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.fixtures.pipeline import DAY_ONE, content
from tests.pipeline.test_query_log_shapes import landed

from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Batch
from headwater.pipeline.query_log.following import SESSIONS
from headwater.pipeline.query_log.sessions import STEPS_AT_MOST, Follower
from headwater.pipeline.query_log.stages import Settings, batch_stages, final_stages
from headwater.pipeline.stages import run
from headwater.pipeline.tables import Store

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]
CASES = yaml.safe_load(Path("tests/cases/query_log/sessions/cases.yaml").read_text(encoding="utf-8"))
NONE: frozenset[str] = frozenset()


def executed(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The landed rows of a case, a minute apart; its namespace is its name."""
    rows: list[dict[str, Any]] = []
    for session, texts in case["sessions"].items():
        for text in texts:
            later = dt.timedelta(days=len(rows) >= case.get("midnight", len(rows) + 1))
            started = DAY_ONE + later + dt.timedelta(minutes=len(rows))
            failed = text.startswith("failed: ")
            rows.append(
                {
                    "source": case["source"], "namespace": case["name"], "query_id": f"{session}/{len(rows)}", "session_id": session,
                    "statement": text.removeprefix("failed: "), "dialect": case.get("dialect", case["source"]), **case["place"],
                    "started_at": started, "ended_at": started, "state": "failed" if failed else "succeeded", "user": "ada", "file": "log",
                    "day": started.date(),
                }
            )  # fmt: skip
    return rows


def imported(store: Store, rows: list[dict[str, Any]], *tables: str) -> None:
    """One batch of landed rows, and these roll-ups."""
    batch = Batch(number=1, batches=1, source="any")
    for row in rows:
        batch.days[str(row["day"])] = batch.days.get(str(row["day"]), 0) + 1
    with store.change() as change:
        change.replace(S.LANDED, S.LANDED.ordered(landed(store.spark, rows).rows))
        batch.put(change.state)
    for place in range(len(batch_stages(batch, Settings()))):
        run(store, batch_stages(Batch.of(store.state) or batch, Settings())[place], lambda _: None)
    for stage in final_stages(Settings()):
        if stage.name in tables:
            run(store, stage, lambda _: None)


@pytest.fixture(scope="module")
def log(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All cases as one log."""
    store = Store(spark, str(tmp_path_factory.mktemp("sessions")))
    imported(store, [row for case in CASES for row in executed(case)], "understood", "edges", "usage", "cost")
    return store


@pytest.fixture(scope="module")
def answers(log: Store) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {
        case["name"]: {"edges": [], "columns": [], "datasets": [], "partial": []} for case in CASES
    }

    def arrow(row: Any) -> str:
        return "~>" if row["through"] else "->"

    for row in log.read(S.EDGES).collect():
        found[row["to_namespace"]]["edges"].append(f"{row['from_name']} {arrow(row)} {row['to_name']}")
    for row in log.read(S.COLUMN_EDGES).collect():
        ends = f"{row['from_name']}.{row['from_column']}", f"{row['to_name']}.{row['to_column']}"
        found[row["to_namespace"]]["columns"].append(f"{ends[0]} {arrow(row)} {ends[1]} {row['subtype']}")
    for row in log.read(S.USAGE).collect():
        found[row["namespace"]]["datasets"].append(row["name"])
    costs = [row for row in log.read(S.COST).collect() if row["grain"] == "table" and row["key"]]
    assert {(row["namespace"], row["key"]) for row in costs} <= {
        (name, one) for name, answer in found.items() for one in answer["datasets"]
    }
    for row in log.read(S.UNDERSTOOD).collect():
        found[row["namespace"]]["partial"] += [one for one in row["warnings"] if "temporary table" in one]
        assert row["level"] == "partial" or not row["warnings"]
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_sessions(case: dict[str, Any], answers: dict[str, dict[str, list[str]]]) -> None:
    found = answers[case["name"]]
    for what in ("edges", "columns", "datasets"):
        assert sorted(set(found[what])) == sorted(case[what]), what
    assert sorted(set(found["partial"])) == sorted(case.get("partial", ()))


def test_the_published_columns_say_what_they_went_through(log: Store) -> None:
    rows = log.read(S.UNDERSTOOD).where("namespace like 'databricks%' and kind = 'INSERT'").collect()
    (output,) = json.loads(rows[0]["outputs"])
    (told,) = output["facets"]["columnLineage"]["fields"]["k"]["inputFields"]
    assert told["transformations"][0]["description"] == "through the temporary table v"


@pytest.mark.soak
def test_a_session_across_two_batches_ends_as_in_one(spark: Any, tmp_path: Path, log: Store) -> None:
    """The later half first: its days are judged again when the earlier half comes."""
    rows = [row for case in CASES for row in executed(case)]
    store = Store(spark, str(tmp_path))
    # Statements of one session in two batches, and the session's beginning in the second.
    imported(store, rows[1::2])
    imported(store, rows[::2], "understood", "edges")
    for table in (S.EXECUTIONS, S.DAILY, S.UNDERSTOOD, S.EDGES, S.COLUMN_EDGES):
        assert content(store.read(table)) == content(log.read(table)), table.name


def test_nothing_is_followed_where_nothing_is_temporary() -> None:
    """The stage of sessions is passed over then: `sync` asks the state."""
    names = [stage.name for stage in batch_stages(Batch(number=1, batches=1, source="any"), Settings())]
    assert names.index(SESSIONS) == names.index("daily") - 1


def test_a_table_that_is_filled_by_very_many_statements() -> None:
    follower = Follower()
    steps = [(f"s{n}", None, None, None) for n in range(STEPS_AT_MOST + 10)]
    assert follower.follow(steps[0], ["+t"], NONE) == ([], [])
    for step in steps[1:]:
        follower.follow(step, [">t"], NONE)
    before, missing = follower.follow(("last", None, None, None), ["<t"], NONE)
    assert (len(before), missing) == (STEPS_AT_MOST, ["t"])
    # Over and over the same is no more than once.
    again = Follower()
    for _ in range(1_000):
        again.follow(steps[0], ["+t"], NONE)
        again.follow(steps[1], [">t"], NONE)
    assert again.follow(steps[2], ["<t"], NONE) == (steps[:2], [])
