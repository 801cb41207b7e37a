"""The pipeline's result for the example's log against the facts known in advance (`expected.yaml`, dbt's manifests, the log itself)."""

import json
import re
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from headwater.pipeline.query_log.schema import (
    COLUMN_EDGES,
    COST,
    DAILY,
    EDGES,
    PRUNING,
    QUALITY,
    QUARANTINE,
    RECURRENCE,
    SHAPES,
    STATEMENTS,
    USAGE,
)

pytestmark = pytest.mark.spark

Row = dict[str, Any]


def edges_of(manifest: Row) -> set[tuple[str, str]]:
    """Table to table, as dbt knows it. An ephemeral model is no table: what it is made of feeds what is made of it."""
    every = {**manifest["nodes"], **manifest["sources"]}

    def tables(node: str) -> set[str]:
        one = every[node]
        if one.get("config", {}).get("materialized") == "ephemeral":
            return {name for parent in one["depends_on"]["nodes"] for name in tables(parent)}
        return {f"{one['schema']}.{one.get('identifier') or one['alias']}"}

    return {
        (parent, child)
        for node, one in manifest["nodes"].items()
        if one["resource_type"] in {"model", "snapshot"} and one["config"]["materialized"] != "ephemeral"
        for child in tables(node)
        for above in one["depends_on"]["nodes"]
        for parent in tables(above)
    }


def test_the_edges_are_dbts_and_what_people_made(told: Any, manifests: list[Row], expected: Row) -> None:
    assert len(manifests) == 3  # the project as it began, with a column more, with a model renamed
    known = set().union(*map(edges_of, manifests)) | {(one, other) for one, other in expected["edges"]}
    assert len(known) == 25
    found = {(told.name(row["from_name"]), told.name(row["to_name"])) for row in told[EDGES]}
    assert found == known


def test_columns(told: Any, expected: Row) -> None:
    found = {
        (told.name(row["from_name"]), row["from_column"], told.name(row["to_name"]), row["to_column"])
        for row in told[COLUMN_EDGES]
        if row["kind"] == "DIRECT"
    }
    assert {tuple(one) for one in expected["columns"]} <= found


def test_what_may_go(told: Any, expected: Row) -> None:
    found = [
        {"dataset": told.name(row["name"]), "wave": row["wave"], "reason": row["reason"]}
        for row in sorted(told[PRUNING], key=lambda row: (row["wave"], row["name"]))
    ]
    assert found == expected["pruning"]
    # Making it costs something, and so saves something: once for a table that was made by hand, each month for the others.
    rows = {told.name(row["name"]): row for row in told[PRUNING]}
    assert {name for name, row in rows.items() if row["money_month"] is None} == {"scratch.jfk_snow"}
    assert json.loads(rows["scratch.jfk_snow"]["evidence"])["money_once"] > 0
    assert all(row["money_month"] > 0 for name, row in rows.items() if name != "scratch.jfk_snow")


def test_usage(told: Any, expected: Row) -> None:
    found = {told.name(row["name"]): row for row in told[USAGE]}
    assert set(found) == set(expected["usage"])
    for name, wanted in expected["usage"].items():
        row = found[name]
        assert row["status"] == wanted["status"], name
        reads = (row["reads_by_people"], row["reads_by_bi"], row["reads_by_services"], row["reads_by_unknown"])
        assert reads == (wanted.get("people", 0), wanted.get("bi", 0), wanted.get("services", 0), 0), name
        assert row["last_written_at"].date() == wanted["written"], name


def test_who_asked(told: Any, expected: Row) -> None:
    found = defaultdict(set)
    for row in told[DAILY]:
        found[row["actor"]].add((row["actor_kind"], row["tool"]))
    assert found == {actor: {tuple(one) for one in kinds} for actor, kinds in expected["actors"].items()}


def test_recurrence(told: Any, expected: Row) -> None:
    runs = {row["shape_id"]: row for row in told[RECURRENCE]}
    actors = {(row["shape_id"], row["actor"]) for row in told[DAILY]}

    def shapes(wanted: Row) -> list[Row]:
        if "writes" in wanted:
            return [
                runs[row["shape_id"]]
                for row in told[STATEMENTS]
                if not row["temporary"] and wanted["writes"] in {told.name(one["name"]) for one in row["writes"]}
            ]
        return [
            runs[row["shape_id"]]
            for row in told[STATEMENTS]
            if not row["writes"]
            and wanted["reads"] in {told.name(one["name"]) for one in row["reads"]}
            and (row["shape_id"], wanted["actor"]) in actors
        ]

    for wanted in expected["recurrence"]:
        row = max(shapes(wanted), key=lambda one: one["executions"])
        hours = row["period_seconds"] and row["period_seconds"] / 3600
        assert (row["class"], hours, row["missing"]) == (
            wanted["class"],
            wanted.get("hours"),
            wanted.get("missing", 0),
        ), wanted


def test_an_incremental_models_statements_are_one_shape(told: Any) -> None:
    """dbt puts the time into the names of its temporary tables."""
    texts = Counter(" ".join(row["text"].split()[:4]) for row in told[SHAPES])
    # Before and after there was a column more.
    assert texts['create temporary table "fct_departures__dbt_tmp"'] == 2
    assert not [text for text in texts if re.search(r"__dbt_tmp\d", text)]


DURATION = re.compile(r"duration: (\d+\.\d+) ms  statement: ")


def test_the_cost_is_that_of_the_logs_times(told: Any, lines: list[Row], expected: Row) -> None:
    """A dollar for a second: worked out from the log, without the pipeline."""
    spent: dict[str, Decimal] = defaultdict(Decimal)
    ran: Counter[str] = Counter()
    everything = Decimal()
    for line in lines:
        if took := DURATION.match(line["message"]):
            everything += Decimal(took[1])
            if node := re.search(r'^/\* \{"app": "dbt".*?"node_id": "([^"]+)"', line["message"][took.end() :]):
                spent[node[1]] += Decimal(took[1])
                ran[node[1]] += 1
    assert len(spent) > 15
    a_millisecond = Decimal("0.001")
    models = {row["key"]: (row["money"], row["executions"]) for row in told[COST] if row["grain"] == "model"}
    assert {key: value for key, value in models.items() if key} == {
        node: (spent[node] * a_millisecond, ran[node]) for node in spent
    }
    for grain in ("table", "shape", "user", "tool", "model"):
        assert sum(row["money"] or 0 for row in told[COST] if row["grain"] == grain) == everything * a_millisecond, (
            grain
        )


def test_every_statement_was_understood(told: Any, lines: list[Row], expected: Row) -> None:
    statements = [line for line in lines if DURATION.match(line["message"]) or line["error_severity"] == "ERROR"]
    summary = told.summary
    assert (summary["files"], summary["days"], summary["rows"]) == (expected["days"], expected["days"], len(statements))
    assert (summary["quarantined"], told[QUARANTINE]) == (0, [])
    texts = {row["shape_id"]: re.sub(r"^/\*.*?\*/\s*", "", row["text"]) for row in told[SHAPES]}
    # A text that reads a temporary table is read anew in each session that fills the table otherwise.
    partial = [texts[shape] for shape in {row["shape_id"] for row in told[STATEMENTS] if row["level"] != "full"}]
    first_words = Counter(start for text in partial for start in expected["partial"] if text.startswith(start))
    assert (first_words, len(partial)) == (expected["partial"], sum(expected["partial"].values()))
    failed = [line["statement"] for line in lines if line["error_severity"] == "ERROR"]
    assert failed == ["select * from marts.dayly_delays", "select pg_sleep(5)"]
    assert sum(row["executions"] for row in told[QUALITY]) == len(statements) - len(failed)
