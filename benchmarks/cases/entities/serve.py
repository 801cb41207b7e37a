"""The cost of entities through the server: every row over HTTP with connections kept alive, beside PostgreSQL's own time.

    python benchmarks/cases/entities/serve.py [--entities 10000] [--seconds 10] [--only readiness] [--workers 2] [--home FOLDER] [--json FILE]

A server of its own, filled by fill.py; or with `--home` one that `headwater up` runs over that HEADWATER_HOME and that fill.py
filled: what is written to it is new only once.
"cpu" in the notes is processor time of a request, the server's and PostgreSQL's: it says more than the clock while other work is on the machine.
"the generator's" is what asking took on the same cores.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

import msgspec
import wrong
from fill import Filled, fill
from filled import Bench
from fresh import Server, fresh
from known import as_of, readiness, stored
from said import burst, sustained, woken
from table import HOME, Row, said

PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "stored": stored,
    "readiness": readiness,
    "as_of": as_of,
    "wake": woken,
    "writes": sustained,
    "burst": burst,
    "taint": wrong.taint,
    "plan": wrong.plan,
}


@contextmanager
def server(home: Path | None, workers: int) -> Iterator[Server]:
    if home is None:
        with fresh(HEADWATER_SERVER__WORKERS=str(workers)) as found:
            yield found
        return
    running = msgspec.json.decode((home / "server.json").read_bytes())
    port = int(running["url"].rsplit(":", 1)[1])
    yield Server(port, running["pid"], running["database_url"], {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=50, help="in which each entity was made, a hole after each")
    parser.add_argument("--singles", type=int, default=10, help="hourly entities of which every hour was reported")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long writes are sustained")
    parser.add_argument("--only", choices=list(PARTS), action="append")
    parser.add_argument("--workers", type=int, default=1, help="processes of a server of its own")
    parser.add_argument("--home", type=Path, help="of a server that runs and is filled")
    parser.add_argument("--json", type=Path, default=HOME.parent / "entities" / "serve.json")
    asked = parser.parse_args()
    with server(asked.home, asked.workers) as found:
        if asked.home is None:
            filled: Filled = asyncio.run(fill(found.database_url, asked.entities, asked.runs, asked.singles))
            print(
                f"{asked.entities:,} entities declared in {filled.declared_seconds:.1f} s; {filled.instances / 1e6:.0f} million instances, "
                f"{filled.reports:,} reports, written in {filled.copied_seconds:.1f} s",
                flush=True,
            )
        bench = Bench.of(found, asked.seconds)
        rows = []
        for name in asked.only or PARTS:
            some = PARTS[name](bench)
            for row in some:
                print(row, file=sys.stderr, flush=True)
            rows += some
    said(rows, asked.json)


if __name__ == "__main__":
    main()
