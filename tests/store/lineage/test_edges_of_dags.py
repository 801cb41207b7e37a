"""Edges that a job declares and the jobs below it have: what they cost."""

import json
from typing import Any

import psycopg
from tests.api.lineage.test_known_traps import parent
from tests.events import columns, dataset, run_event

from headwater.intake.events.accept import Intake
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

DAG = range(20)


def test_a_dag_that_tells_no_columns_is_not_asked_for_any(
    database: Database, postgres: EmbeddedPostgres, run: Any
) -> None:
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
    with psycopg.connect(postgres.url) as connection:
        connection.execute("set local track_functions = 'all'")
        found = connection.execute(
            "select j.name, count(*) from live_edges e join jobs j on j.id = e.job_id where j.name in ('dag', 'alone') group by 1"
        ).fetchall()
        assert found == [("alone", 2)]
        asked = connection.execute(
            "select calls from pg_stat_xact_user_functions where funcname = 'tells_columns_alone'"
        ).fetchone()
    assert asked is not None
    assert asked[0] <= 2
