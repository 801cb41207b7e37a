"""Each judge is content with a right answer, and names what is wrong with each wrong one."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from headwater.client.watch import judges
from headwater.client.watch.expected import ColumnEdge, Run
from headwater.client.watch.receipts import Ledger
from headwater.client.watch.scene import Delivery

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
UUID = "0199c0de-0000-7000-8000-000000000001"
A, J, B = "dataset:n:a", "job:n:j", "dataset:n:b"


def lineage() -> dict[str, Any]:
    return {
        "root": B,
        "nodes": [{"id": A}, {"id": J}, {"id": B}],
        "edges": [{"source": A, "target": J}, {"source": J, "target": B}],
        "column_edges": [{"source": A, "source_field": "x", "target": B, "target_field": "y"}],
        "hidden": {"nodes": 0, "reason": None},
    }


def run() -> dict[str, Any]:
    return {
        "id": UUID,
        "external_id": None,
        "job": J,
        "state": "FAILED",
        "effective_state": "FAILED",
        "started_at": "2026-01-01T12:00:00Z",
        "ended_at": None,
        "inputs": [{"dataset": A}],
        "outputs": [{"dataset": B}],
        "children": [{"id": "c", "parent": {"run_id": UUID}}],
    }


def marquez() -> dict[str, Any]:
    def edge(*ends: str) -> dict[str, str]:
        return {"origin": ends[0], "destination": ends[1]}

    return {
        "graph": [
            {"id": A, "inEdges": [], "outEdges": [edge(A, J)]},
            {"id": J, "inEdges": [edge(A, J)], "outEdges": [edge(J, B)]},
            {"id": B, "inEdges": [edge(J, B)], "outEdges": []},
        ]
    }


def dataset() -> dict[str, Any]:
    fields = [{"name": "x", "type": "int"}]
    return {
        "id": A,
        "fields": fields,
        "version_count": 2,
        "versions": [{"run_id": UUID, "fields": fields, "schema_changed": True}],
    }


EDGES = {(A, J), (J, B)}
LINEAGE = judges.lineage(B, EDGES)
COLUMNS = judges.columns({ColumnEdge(("n", "a"), "x", ("n", "b"), "y")})
RUN = judges.run(UUID, Run(("n", "j"), "FAILED", NOW, NOW, None, {("n", "a")}, {("n", "b")}))
CHILDREN = judges.children(UUID, {"c"}, "FAILED")
SCHEMA = judges.schema([("x", "int")], version_run=UUID, changed=True)
RUNS = judges.runs({UUID}, 2)
FOUND = judges.judge_search({A})
TOTAL = judges.total("jobs", {J})


@pytest.mark.parametrize(
    ("judge", "answer", "change", "kinds"),
    [
        (LINEAGE, lineage, lambda a: a["edges"].pop(), {"missing_edge"}),
        (LINEAGE, lineage, lambda a: a["edges"].append({"source": A, "target": B}), {"extra_edge"}),
        (LINEAGE, lineage, lambda a: a["edges"].append(a["edges"][0]), {"extra_edge"}),
        (LINEAGE, lineage, lambda a: a["nodes"].pop(), {"missing_node"}),
        (LINEAGE, lineage, lambda a: a["nodes"].append({"id": "dataset:n:else"}), {"extra_edge"}),
        (LINEAGE, lineage, lambda a: a["hidden"].update(nodes=1), {"missing_node"}),
        (LINEAGE, lineage, lambda a: a.pop("edges"), {"wrong_reply"}),
        (judges.connected(("n", "j"), "upstream"), lineage, lambda a: a["nodes"].pop(1), {"unmerged_alias"}),
        (COLUMNS, lineage, lambda a: a["column_edges"].pop(), {"missing_column_edge"}),
        (COLUMNS, lineage, lambda a: a["column_edges"][0].update(source_field="z"), {"missing_column_edge", "extra_column_edge"}),
        (judges.marquez(EDGES), marquez, lambda a: a["graph"][1]["inEdges"].pop(), {"missing_edge"}),
        (judges.marquez(EDGES), marquez, lambda a: a["graph"].pop(), {"missing_node", "missing_edge"}),
        (RUN, run, lambda a: a.update(state="COMPLETED"), {"wrong_state"}),
        (RUN, run, lambda a: a.update(started_at=None), {"wrong_time"}),
        (RUN, run, lambda a: a.update(ended_at="2026-01-01T12:00:00Z"), {"wrong_time"}),
        (RUN, run, lambda a: a["inputs"].append({"dataset": B}), {"wrong_datasets"}),
        (RUN, run, lambda a: a["outputs"].pop(), {"wrong_datasets"}),
        (RUN, run, lambda a: a.update(id="other", external_id=UUID), {"wrong_id"}),
        (RUN, run, lambda a: a.update(job="job:n:other"), {"wrong_id"}),
        (CHILDREN, run, lambda a: a["children"].pop(), {"wrong_family"}),
        (CHILDREN, run, lambda a: a["children"][0].update(parent=None), {"wrong_family"}),
        (CHILDREN, run, lambda a: a.update(effective_state="COMPLETED"), {"wrong_state"}),
        (RUNS, lambda: {"total": 2, "runs": [run()]}, lambda a: a["runs"].pop(), {"lost_run"}),
        (RUNS, lambda: {"total": 2, "runs": [run()]}, lambda a: a.update(total=1), {"lost_run"}),
        (RUNS, lambda: {"total": 2, "runs": [run()]}, lambda a: a.update(total=3), {"doubled_run"}),
        (RUNS, lambda: {"total": 2, "runs": [run()]}, lambda a: a["runs"].append(run()), {"doubled_run"}),
        (SCHEMA, dataset, lambda a: a.update(fields=[]), {"stale_schema"}),
        (SCHEMA, dataset, lambda a: a["versions"][0].update(fields=[]), {"stale_schema"}),
        (SCHEMA, dataset, lambda a: a["versions"][0].update(schema_changed=False), {"stale_schema"}),
        (SCHEMA, dataset, lambda a: a["versions"][0].update(run_id="other"), {"wrong_versions"}),
        (SCHEMA, dataset, lambda a: a["versions"].clear(), {"wrong_reply"}),
        (judges.versions(2), dataset, lambda a: a.update(version_count=1), {"wrong_versions"}),
        (FOUND, lambda: {"results": [{"id": A}]}, lambda a: a["results"].clear(), {"not_searchable"}),
        (TOTAL, lambda: {"total": 1, "jobs": [{"id": J}]}, lambda a: a.update(total=2), {"wrong_total"}),
        (TOTAL, lambda: {"total": 1, "jobs": [{"id": J}]}, lambda a: a["jobs"].clear(), {"wrong_total"}),
    ],
)  # fmt: skip
def test_right_is_right_and_wrong_is_named(
    judge: Any, answer: Callable[[], Any], change: Callable[[Any], Any], kinds: set[str]
) -> None:
    assert judge(answer()) == []
    wrong = answer()
    change(wrong)
    assert {kind for kind, _ in judge(wrong)} == kinds


def test_a_run_id_that_is_no_uuid_has_marquez_id_and_keeps_its_own() -> None:
    judge = judges.run("manual__1", Run(("n", "j"), "FAILED", NOW, NOW, None, {("n", "a")}, {("n", "b")}))
    right = run() | {"id": "30d07784-9a8e-3411-9608-00d443fb1c7e", "external_id": "manual__1"}
    assert {kind for kind, _ in judge(right | {"external_id": None})} == {"wrong_id"}
    assert {kind for kind, _ in judge(run())} == {"wrong_id"}
    assert judge(right) == []


@pytest.mark.parametrize("reply", [None, 7, [], "x", {}, {"nodes": 3}])
def test_no_reply_is_an_exception(reply: Any) -> None:
    for judge in (
        LINEAGE,
        COLUMNS,
        RUN,
        CHILDREN,
        SCHEMA,
        RUNS,
        FOUND,
        TOTAL,
        judges.marquez(EDGES),
        judges.versions(1),
    ):
        assert {kind for kind, _ in judge(reply)} == {"wrong_reply"}


def receipts(*duplicate: bool) -> dict[str, Any]:
    return {"failed_events": [], "receipts": [{"duplicate": d} for d in duplicate]}


def test_receipts_say_what_was_lost_and_what_was_doubled() -> None:
    ledger, both, one = Ledger(), Delivery((0, 1, 0), True), Delivery((2,), False)
    assert list(ledger.settle(both, receipts(False, False, True))) == []
    assert [kind for kind, _ in ledger.settle(both, receipts(True, False, True))] == ["lost_event"]
    assert [kind for kind, _ in ledger.settle(one, {"duplicate": True})] == ["doubled_event"]
    assert ledger.acknowledged == {0, 1, 2}


def test_of_an_unanswered_event_both_receipts_are_right() -> None:
    for duplicate in (True, False):
        ledger, one = Ledger(), Delivery((0,), False)
        ledger.unanswered(one)
        assert list(ledger.settle(one, {"duplicate": duplicate})) == []


def test_refusals_and_odd_replies_are_findings() -> None:
    ledger, batch, one = Ledger(), Delivery((0, 1), True), Delivery((0,), False)
    refused = {"failed_events": [{"index": 0, "reason": "no"}], "receipts": [{"duplicate": False}]}
    assert [kind for kind, _ in ledger.settle(batch, refused)] == ["refused"]
    assert (ledger.acknowledged, ledger.refused) == ({1}, {0})
    assert [kind for kind, _ in Ledger().settle(batch, receipts(False))] == ["wrong_reply"]
    for reply in (None, [], {}, {"failed_events": None}):
        assert [kind for kind, _ in Ledger().settle(batch, reply)] == ["wrong_reply"]
        assert [kind for kind, _ in Ledger().settle(one, reply)] == ["wrong_reply"]
    assert [kind for kind, _ in Ledger().refuse(batch, "no")] == ["refused"]
