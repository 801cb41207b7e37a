"""Events in: one by one over 16 connections, and in batches, beside what PostgreSQL itself takes of the same bodies.

    python benchmarks/cases/server/ingest.py [--only rate|space|memory|rebuild] [--events 20000] [--rounds 3]

The physical limit is COPY of the same bodies into a table of one jsonb column, in another database of the same PostgreSQL. The three ways in
take turns in each round, with bodies of their own; a rate is the median of the rounds.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import psycopg
from catalogue import Catalogue, encoded
from fresh import PROGRAM, Server, Watch, fresh
from load import Outcome, ceiling, drive, post
from table import HOME, Row, said

CONNECTIONS = 16
MIB = 1024 * 1024
ONLY = ("rate", "space", "memory", "rebuild")

_SIZES = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
       coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.oid in (select relid from pg_partition_tree('events'))), 0)::bigint
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'm')
"""


class Limit:
    """A database beside the server's, with one table of one jsonb column."""

    def __init__(self, server: Server) -> None:
        with psycopg.connect(server.database_url, autocommit=True) as connection:
            connection.execute("create database physical_limit")
        self.url = psycopg.conninfo.make_conninfo(server.database_url, dbname="physical_limit")
        with psycopg.connect(self.url) as connection:
            connection.execute("create table bodies (body jsonb not null)")

    def copied(self, bodies: list[bytes]) -> float:
        """Seconds of one COPY of the bodies, commit included."""
        import time

        lines = [body.replace(b"\\", b"\\\\") + b"\n" for body in bodies]
        with psycopg.connect(self.url) as connection:
            began = time.perf_counter()
            with connection.cursor().copy("copy bodies from stdin") as copy:
                for at in range(0, len(lines), 200):
                    copy.write(b"".join(lines[at : at + 200]))
            connection.commit()
            return time.perf_counter() - began

    def bytes_each(self) -> float:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("vacuum bodies")
            return float(
                connection.execute("select pg_total_relation_size('bodies')::float8 / count(*) from bodies").fetchone()[
                    0
                ]
            )  # type: ignore[index]


def one_by_one(server: Server, bodies: list[bytes]) -> Outcome:
    outcome = drive(server.port, [post("/api/v1/lineage", body) for body in bodies], CONNECTIONS)
    if outcome.failed:
        sys.exit(f"the server refused events: {outcome.statuses} {outcome.last!r:.300}")
    return outcome


def sizes(server: Server) -> tuple[int, int, int]:
    """Bytes of all tables with their indexes, of the log among them, and the events in the log."""
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("vacuum")
        all_, log = connection.execute(_SIZES).fetchone()  # type: ignore[misc]
        return all_, log, connection.execute("select count(*) from events").fetchone()[0]  # type: ignore[index]


def rebuilt(server: Server) -> float:
    """Events per second of making every projection again, the start of the program apart."""
    done = subprocess.run([*PROGRAM, "rebuild", "--json"], check=True, capture_output=True, env=server.env)
    told = msgspec.json.decode(done.stdout)
    return float(told["events"] / told["seconds"])


def measure(events: int, rounds: int, only: list[str]) -> list[Row]:
    singles = max(events // 4, 1)
    per_round = singles + events
    bodies = encoded(list(Catalogue(400).events(per_round * rounds)))
    size = statistics.mean(map(len, bodies))
    rates: dict[str, list[float]] = {"copy": [], "single": [], "batch": []}
    times: list[float] = []
    with fresh() as server:
        idle = server.memory()
        limit = Limit(server)
        with Watch(server) as watch:
            for number in range(rounds):
                mine = bodies[number * per_round : (number + 1) * per_round]
                few, many = mine[:singles], mine[singles:]

                def copy(many: list[bytes] = many) -> None:
                    rates["copy"].append(len(many) / limit.copied(many))

                def single(few: list[bytes] = few) -> None:
                    outcome = one_by_one(server, few)
                    rates["single"].append(outcome.rate)
                    times.extend(outcome.milliseconds)

                def batch(many: list[bytes] = many) -> None:
                    rates["batch"].append(len(many) / server.batches(many).seconds)

                turns: list[Callable[[], None]] = [copy, single, batch]
                for turn in turns if number % 2 == 0 else reversed(turns):
                    turn()
        peak = watch.peak
        all_, log, kept = sizes(server)
        rebuild = rebuilt(server) if "rebuild" in only else None
        plain = limit.bytes_each()
    if kept != len(bodies):
        sys.exit(f"{len(bodies)} events were sent and acknowledged, {kept} are in the log")
    free = ceiling([post("/", body) for body in bodies[: singles * 2]], CONNECTIONS)
    copied, single_, batched = (statistics.median(rates[name]) for name in ("copy", "single", "batch"))
    last = Outcome(milliseconds=times)
    of = f"{len(bodies):,} events of {size:,.0f} bytes on average"
    rows = {
        "rate": [
            Row("COPY of the bodies into one jsonb column", copied, "events/s", note=of),
            Row(f"POST one by one, {CONNECTIONS} connections", single_, "events/s", copied, 0.08 * copied, "more",
                f"target 8 % of COPY; p50 {last.at(0.5):.1f} ms, p99 {last.at(0.99):.1f} ms"),
            Row("batches of 500, 2 connections", batched, "events/s", copied, 0.35 * copied, "more", "target 35 % of COPY"),
            Row("the generator against an empty handler", free, "requests/s", note="what it could have sent"),
        ],
        "space": [
            Row("stored for an event, indexes and log included", all_ / kept, "bytes", plain, note="the limit: the jsonb table"),
            Row("of it the log", log / kept, "bytes", note=f"{100 * log / all_:.0f} % of all"),
        ],
        "memory": [
            Row("memory of the server, idle", idle / MIB, "MiB", target=120, note="each resident page once, without PostgreSQL"),
            Row("the most under load", peak / MIB, "MiB", target=300, note="same"),
        ],
        "rebuild": [Row("rebuild", rebuild, "events/s", batched, note="beside: the batches of the same run")],
    }  # fmt: skip
    return [row for name in only for row in rows[name]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=ONLY, action="append")
    parser.add_argument(
        "--events", type=int, default=20_000, help="for each round's batches; a quarter more one by one"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=HOME / "ingest.json", help="where the figures are written too")
    args = parser.parse_args()
    said(measure(args.events, args.rounds, args.only or list(ONLY)), args.json)


if __name__ == "__main__":
    main()
