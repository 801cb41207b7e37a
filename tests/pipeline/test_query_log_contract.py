"""The measures of the pipeline, sent to a real server: every list empty, with one item and with many."""

import datetime as dt
from typing import Any

import pytest
from tests.fixtures.pipeline import rows_of
from tests.pipeline.measured import statements
from tests.pipeline.test_query_log_publish import AT, get
from tests.receiver import receiving

from headwater.errors import FacetsNotUnderstood
from headwater.pipeline.query_log import publish
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.cost import cost
from headwater.pipeline.query_log.pruning import pruning
from headwater.pipeline.query_log.quality import quality
from headwater.pipeline.query_log.recurrence import recurrence
from headwater.pipeline.query_log.usage import usage
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark
# A warehouse for each number of readers, of tools and of codes in quarantine.
COUNTS = {"postgres": 0, "trino": 1, "redshift": 3}
FIRST = dt.datetime(2026, 11, 1, 8, tzinfo=dt.UTC)
LAST = dt.datetime(2026, 11, 20, 8, tzinfo=dt.UTC)


def runs() -> list[dict[str, Any]]:
    """Each table is made twice; as many people as its warehouse has read it, each with a tool of their own."""
    rows = []
    for source, count in COUNTS.items():
        asked = [(f"reader {number}", f"tool {number}") for number in range(count)]
        for shape, actor, tool in [("make", None, None), *(("look", *one) for one in asked)]:
            for at in (FIRST, LAST):
                minutes = [0] * 24
                minutes[at.hour] = 1
                row = {
                    "source": source, "namespace": source, "dialect": source, "place": "{}", "shape_id": shape, "actor": actor, "tool": tool,
                    "actor_kind": "person" if actor else "pipeline", "executions": 1, "failures": 0, "last_query_id": "q", "day": at.date(),
                    "first_at": at, "last_at": at, "starts": minutes, "money": 1.0,
                }  # fmt: skip
                rows.append(row)
    return rows


@pytest.fixture
def measured(spark: Any, tmp_path: Any) -> Store:
    log = rows_of(spark, runs(), S.DAILY.schema)
    told = {"make": {"kind": "INSERT", "writes": ["t"]}, "look": {"reads": ["t"]}}
    known = statements(spark, told)
    for namespace in COUNTS:
        named = [{"namespace": namespace, "name": "t"}]
        rows = [
            {"namespace": namespace, "shape_id": shape, "place": "{}", "dialect": namespace, "level": "full", "kind": "QUERY", "temporary": False,
             "unresolved": 0, "reads": named if shape == "look" else [], "writes": named if shape == "make" else []}
            for shape in told
        ]  # fmt: skip
        known = known.unionByName(rows_of(spark, rows, S.STATEMENTS.schema))
    known = known.where("namespace != 'w'").localCheckpoint()
    apart = [
        {"source": source, "code": f"code {number}", "digest": f"{source} {number}", "at": LAST}
        for source, count in COUNTS.items()
        for number in range(count)
    ]
    store = Store(spark, str(tmp_path / "store"))
    shapes = [{"shape_id": shape, "dialect": "trino", "normalised": "SELECT 1", "kind": "SELECT"} for shape in told]
    with store.change() as change:
        change.replace(S.DAILY, log)
        change.replace(S.UNDERSTOOD, known)
        change.replace(S.SHAPES, rows_of(spark, shapes, S.SHAPES.schema))
        change.replace(S.USAGE, usage(log, known))
        change.replace(S.COST, cost(log, known))
        change.replace(S.RECURRENCE, recurrence(log))
        change.replace(S.QUALITY, quality(log, known, quarantine=rows_of(spark, apart, S.QUARANTINE.schema)))
        change.replace(S.PRUNING, pruning(log, known))
    return store


def test_the_server_understands_all_that_is_measured(measured: Store, server_url: str) -> None:
    told = publish.publish_measures(measured, publish.destination(server_url), at=AT)
    assert (told.refused, told.misunderstood, told.examples) == (0, 0, [])
    found = {one["namespace"]: one for one in get(server_url, "/api/v2/quality", until="2026-11-21")["sources"]}
    assert {name: len(one["quarantined_by"]) for name, one in found.items()} == COUNTS
    # Days without a row in quarantine count as others do.
    assert {name: one["days"] for name, one in found.items()} == dict.fromkeys(COUNTS, 2)
    used = {one["namespace"]: one for one in get(server_url, "/api/v2/usage")["datasets"]}
    assert {name: len(one["top_readers"]) for name, one in used.items()} == COUNTS
    tools = {one["namespace"]: 0 for one in get(server_url, "/api/v2/usage")["datasets"]}
    for one in get(server_url, "/api/v2/cost", grain="tool")["costs"]:
        tools[one["namespace"]] += 1
    assert tools == COUNTS


def test_a_server_that_does_not_understand_fails_the_sync(measured: Store) -> None:
    odd = b'{"summary":{},"failed_events":[],"receipts":[{"duplicate":false,"warnings":[{"code":"facet_not_understood","where":"w","message":"no object"}]}]}'
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (200, odd)
        with pytest.raises(FacetsNotUnderstood, match="no object"):
            publish.publish_measures(measured, publish.destination(receiver.url), at=AT)
        assert measured.read(publish.PUBLISHED).count() == 0
