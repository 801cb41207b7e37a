"""The function that fetches the edges of a walk: it reads those of the nodes it meets, and no others."""

from typing import Any

import msgspec
from tests.events import run_event

from headwater.intake.events.accept import Intake
from headwater.model import version
from headwater.model.names import DatasetName
from headwater.store.database import Database
from headwater.store.lineage import edges

# Jobs and edges that have nothing to do with the walk.
_OTHER_JOBS = """
insert into jobs (id, namespace, name, first_seen, last_seen)
select md5('j' || n)::uuid, 'other', n::text, now(), now() from generate_series(1, 20000) n
"""
_OTHER_EDGES = """
insert into edges (dataset_id, job_id, direction, first_at, last_at, declared)
select md5('d' || n)::uuid, md5('j' || n)::uuid, case n % 2 when 0 then 'in' else 'out' end, now(), now(), false from generate_series(1, 20000) n
"""
_READ = "select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int from pg_stat_xact_user_tables where relname in ('jobs', 'edges')"


def test_a_walk_reads_the_rows_of_the_nodes_it_meets(database: Database, run: Any) -> None:
    async def read() -> tuple[int, int]:
        chain = [run_event("COMPLETE", n + 1, f"job_{n}", [f"t{n}"], [f"t{n + 1}"]) for n in range(3)]
        await Intake(database).accept_each([msgspec.json.encode(event) for event in chain])
        async with database.transaction() as connection:
            await connection.execute(_OTHER_JOBS)
            await connection.execute(_OTHER_EDGES)
            await connection.execute("analyze jobs, edges")
        async with database.snapshot(generic=True) as connection:
            start = version.dataset_id(DatasetName("file", "t3"))
            found = await edges.ahead(connection, [start], [], "upstream", 20, 1000)
            met = found.at_datasets([start], "out")
            (rows,) = await (await connection.execute(_READ)).fetchone() or (0,)
            return len(met), rows

    met, rows = run(read())
    assert met == 1
    # Of 40,000 rows: how many of its own it reads twice depends on the plan.
    assert rows < 1000
