"""Time an event between its bytes and the arrays that PostgreSQL gets: reading, projecting, packing, identifying. Without a database.

Then events that report SQL alone, whose text is parsed: of texts that are all new, and of texts that were parsed before.

Best of ROUNDS, in processor time: `python benchmarks/micro/project.py`.
"""

import argparse
import datetime as dt
import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.events import columns, dataset, encoded, facet, run_event, schema  # noqa: E402

from headwater.intake.events.project import Projector  # noqa: E402
from headwater.model.event import read  # noqa: E402
from headwater.model.version import bytes_digest, event_digest  # noqa: E402
from headwater.store.arrays import Packed  # noqa: E402
from headwater.store.events import projections  # noqa: E402
from headwater.store.events import rows as stored  # noqa: E402
from headwater.store.sqlfile import _array_types  # noqa: E402

AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def events(count: int) -> list[bytes]:
    """Each the end of a run with two inputs and an output with columns; a job runs ten times."""
    made = []
    for number in range(count):
        names = [f"area{number // 10 % 50}.{part}{number // 10}" for part in ("orders", "rates", "sums")]
        fields = columns({"x": [(names[0], "x", "DIRECT:IDENTITY")], "y": [(names[1], "y", "DIRECT:TRANSFORMATION")]})
        inputs = [dataset(name, **schema("x", "y")) for name in names[:2]]
        outputs = [dataset(names[2], **schema("x", "y"), **fields)]
        made.append(encoded(run_event("COMPLETE", number, f"job{number // 10}", inputs, outputs)))
    return made


def statements(count: int) -> list[bytes]:
    """Each the end of a run that reports a join of three tables, and no dataset."""
    made = []
    for number in range(count):
        query = f"""
            insert into shop.mart.sums_{number} (customer, total, orders)
            with recent as (select o.id, o.customer, o.amount from shop.raw.orders_{number} o where o.day > current_date - 7)
            select r.customer, sum(r.amount * p.rate), count(*) from recent r
            join shop.raw.rates p on p.customer = r.customer left join shop.raw.returns x on x.id = r.id
            where x.id is null group by r.customer"""
        source = {"externalQuery": facet(externalQueryId=f"q{number}", source="snowflake://org-acct")}
        made.append(
            encoded(
                run_event(
                    "COMPLETE", number, f"dag.load{number}", run_facets=source, job_facets={"sql": facet(query=query)}
                )
            )
        )
    return made


def time_statements(count: int) -> tuple[float, float]:
    """Return the processor time of an event whose text is new, and of one whose text was parsed before, in µs."""
    decoded = [(read(body), AT, hashlib.blake2b(body, digest_size=16).digest()) for body in statements(count)]
    projector = Projector()
    Projector()(*decoded[0])  # loads the engine
    took = [best(1, lambda: [projector(*one) for one in decoded]) * 1e6 / count for _ in range(2)]
    return took[0], took[1]


def best(rounds: int, work: Callable[[], object]) -> float:
    """The least processor time of any round, in seconds."""
    took = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def pack(batch: Sequence[stored.RowSet]) -> int:
    """The columns of a batch, as `projections.write` sends them."""
    as_tuples: Callable[[Any], Any] = getattr(stored, "as_tuples", lambda given: given)
    size = 0
    for kind, rows in stored.merge_rows(batch).items():
        types = _array_types(projections._QUERIES[kind].sql)
        for name, values in zip(stored.COLUMNS[kind], zip(*as_tuples(rows), strict=True), strict=True):
            size += len(Packed(types[name], values).body)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    bodies = events(given.events)
    decoded = [(read(body), AT, hashlib.blake2b(body, digest_size=16).digest()) for body in bodies]
    projector = Projector()
    changes = [projector(*each) for each in decoded]
    batches = [changes[start : start + 100] for start in range(0, len(changes), 100)]
    rows = sum(len(of_kind) for each in changes for of_kind in each.rows.values())
    each = 1e6 / given.events
    print(f"{rows / given.events:.1f} rows an event")
    print(f"read     {best(given.rounds, lambda: [read(body) for body in bodies]) * each:6.1f} µs an event")
    print(f"project  {best(given.rounds, lambda: [projector(*one) for one in decoded]) * each:6.1f} µs")
    print(f"pack     {best(given.rounds, lambda: [pack(batch) for batch in batches]) * each:6.1f} µs")
    # In turn: the digest as it is, and as it was while an event was identified by its bytes (decision 057).
    turns = [
        (best(1, lambda: list(map(event_digest, bodies))), best(1, lambda: list(map(bytes_digest, bodies))))
        for _ in range(given.rounds)
    ]
    by_meaning, by_bytes = (min(times) * each for times in zip(*turns, strict=True))
    size = sum(map(len, bodies)) / given.events
    print(f"digest   {by_meaning:6.1f} µs by meaning, {by_bytes:.1f} µs by bytes, of {size:.0f} bytes")
    new, repeated = time_statements(min(given.events, 500))
    print(
        f"project an event of SQL alone: {new:.0f} µs with a new text, {repeated:.0f} µs with one that was parsed before"
    )


if __name__ == "__main__":
    main()
