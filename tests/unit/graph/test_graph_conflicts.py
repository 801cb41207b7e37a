"""The claims of sources about an edge, and the disagreements among them."""

import datetime as dt
import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.conflicts import CLAIMS, KINDS, Evidence, LastReport, conflicts

JOB, A, B, C = (uuid.UUID(int=i) for i in range(1, 5))
NOW = LastReport(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


def told(
    reads: dict[str, Any] | None = None,
    writes: dict[str, Any] | None = None,
    feeds: dict[str, dict[uuid.UUID, Any]] | None = None,
    **below: Any,
) -> Evidence:
    def said(datasets: Any) -> dict[uuid.UUID, LastReport]:
        return dict.fromkeys(datasets, NOW)

    return Evidence(
        JOB,
        {who: said(some) for who, some in (reads or {}).items()},
        {who: said(some) for who, some in (writes or {}).items()},
        {who: {t: said(some) for t, some in targets.items()} for who, targets in (feeds or {}).items()},
        **{key: said(some) for key, some in below.items()},
    )


def kinds(evidence: Evidence) -> set[tuple[str, uuid.UUID, uuid.UUID]]:
    return {(c.kind, c.source, c.target) for c in conflicts(evidence)}


def test_one_voice_is_no_conflict() -> None:
    assert kinds(told({"OBSERVED": [A]}, {"OBSERVED": [B]})) == set()
    assert kinds(told({"JOB_EVENT": [A]}, {"JOB_EVENT": [B]})) == set()
    assert kinds(told({"MANUAL": [A]})) == set()


def test_declared_and_observed() -> None:
    found = kinds(told({"JOB_EVENT": [A], "OBSERVED": [C]}, {"JOB_EVENT": [B], "OBSERVED": [B]}))
    assert found == {("declared_not_observed", A, JOB), ("observed_not_declared", C, JOB)}
    assert kinds(told({"MANIFEST": [A]}, {"OBSERVED": [B]})) == {("declared_not_observed", A, JOB)}
    assert kinds(told({"MANUAL": [A]}, {"OBSERVED": [B]})) == {("manual_not_observed", A, JOB)}


def test_a_family_keeps_to_what_its_package_declares() -> None:
    found = told({"MANIFEST": [A]}, {"MANIFEST": [B]}, reads_below=[A, C], writes_below=[B, C])
    assert kinds(found) == set()
    more = told({"MANIFEST": [A]}, {"MANIFEST": [B]}, reads_below=[C], writes_below=[B])
    assert kinds(more) == {("declared_not_observed", A, JOB), ("observed_not_declared", C, JOB)}


def test_columns_name_what_nobody_was_seen_reading() -> None:
    found = told({"OBSERVED": [A]}, {"OBSERVED": [B]}, {"COLUMN_LINEAGE": {B: [A, C]}})
    assert kinds(found) == {("evidence_not_observed", C, JOB)}


def test_an_input_that_columns_leave_out() -> None:
    found = told({"OBSERVED": [A, C]}, {"OBSERVED": [B]}, {"COLUMN_LINEAGE": {B: [A]}})
    assert kinds(found) == {("not_in_columns", C, B)}


def test_explicit_lineage_denies() -> None:
    found = told({"OBSERVED": [A, C]}, {"OBSERVED": [B]}, {"EXPLICIT": {B: [A]}})
    assert kinds(found) == {("denied_by_explicit", C, B)}
    both = told({"OBSERVED": [A, C]}, {"OBSERVED": [B]}, {"EXPLICIT": {B: [A]}, "COLUMN_LINEAGE": {B: [C]}})
    assert kinds(both) == {("columns_against_explicit", C, B), ("not_in_columns", A, B)}
    nothing = told({"OBSERVED": [A]}, {"OBSERVED": [B]}, {"EXPLICIT": {B: []}})
    assert kinds(nothing) == {("denied_by_explicit", A, B)}


def test_who_said_what_when() -> None:
    later = LastReport(NOW.at + dt.timedelta(days=1), uuid.UUID(int=7))
    (found,) = conflicts(
        Evidence(JOB, {"JOB_EVENT": {A: NOW}, "OBSERVED": {}}, {"OBSERVED": {B: later}, "JOB_EVENT": {B: NOW}}, {})
    )
    assert [(c.who, c.says, c.said) for c in found.claims] == [
        ("OBSERVED", "MISSING", later),
        ("JOB_EVENT", "CLAIMS", NOW),
    ]


nodes = st.sets(st.sampled_from([A, B, C]))
sides = st.dictionaries(st.sampled_from(["OBSERVED", "MANIFEST", "JOB_EVENT", "MANUAL"]), nodes)
flows = st.dictionaries(
    st.sampled_from(["EXPLICIT", "COLUMN_LINEAGE", "PARSED_SQL"]),
    st.dictionaries(st.sampled_from([A, B, C, JOB]), nodes),
)


@given(sides, sides, flows, nodes, nodes)
def test_every_conflict_has_two_sides(reads: Any, writes: Any, feeds: Any, reads_below: Any, writes_below: Any) -> None:
    found = conflicts(told(reads, writes, feeds, reads_below=reads_below, writes_below=writes_below))
    for conflict in found:
        assert conflict.kind in KINDS
        assert {c.says == CLAIMS for c in conflict.claims} == {True, False}
        assert len({c.who for c in conflict.claims}) == len(conflict.claims)
    assert len({(c.source, c.target) for c in found}) == len(found)


@given(nodes, nodes)
def test_who_agrees_has_no_conflict(reads: set[uuid.UUID], writes: set[uuid.UUID]) -> None:
    whole = dict.fromkeys(("OBSERVED", "JOB_EVENT", "MANUAL"), reads)
    feeds = {who: dict.fromkeys(writes, reads) for who in ("EXPLICIT", "COLUMN_LINEAGE")}
    assert conflicts(told(whole, dict.fromkeys(whole, writes), feeds)) == []
