"""Edges that a job declares and the jobs below it have: what they cost."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.api.lineage.test_known_traps import parent
from tests.events import columns, dataset, run_event

from headwater.intake.events.accept import Intake
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

DAG = range(20)
AFTER = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)


async def count_calls(connection: Connection) -> int:
    """Return how often this transaction asked what jobs below a job have, or which columns a job alone tells."""
    rows = await connection.execute(
        "select sum(calls) from pg_stat_xact_user_functions where funcname in ('tells_columns_alone', 'told_columns_alone', 'children_with_edge')"
    )
    found = await rows.fetchone()
    assert found is not None
    return int(found[0] or 0)


@pytest.mark.parametrize("as_of", [None, AFTER], ids=["now", "then"])
def test_a_dag_is_asked_once_for_each_of_its_edges(database: Database, run: Any, as_of: dt.datetime | None) -> None:
    """Each of its inputs is looked at beside each of its outputs: a function for each pair made a DAG of two hundred edges take seconds."""
    told = columns({"x": [("/alone/in", "y", "DIRECT:IDENTITY")]})
    events = [
        run_event(None, 1, "dag", [f"/in/{n}" for n in DAG], [f"/out/{n}" for n in DAG]),
        run_event(None, 2, "alone", ["/alone/in"], [dataset("/alone/out", **told)]),
        run_event("COMPLETE", 3, "alone.task", ["/alone/in"], ["/alone/out"], run_facets=parent(9, "alone")),
    ]
    for event in events[:2]:
        del event["run"]
    events += [
        run_event("COMPLETE", 10 + n, f"dag.{n}", [f"/in/{n}"], [f"/out/{n}"], run_facets=parent(8, "dag")) for n in DAG
    ]
    run(Intake(database).accept_each([json.dumps(event).encode() for event in events]))

    async def ask() -> tuple[dict[str, int], int]:
        async with database.transaction() as connection:
            await connection.execute("set local track_functions = 'all'")
            rows = await connection.execute("select name, id from jobs where name in ('dag', 'alone')")
            jobs = dict(await rows.fetchall())
            moment = Moment(as_of) if as_of else Moment()
            found = {
                name: sum([len(await edge_store.at_jobs(connection, [id_], side, moment)) for side in ("in", "out")])
                for name, id_ in jobs.items()
            }
            return found, await count_calls(connection)

    edges, calls = run(ask())
    assert edges == {"dag": 0, "alone": 2}
    assert calls <= 8 * len(DAG)
