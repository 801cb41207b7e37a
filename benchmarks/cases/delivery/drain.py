"""A full spool into PostgreSQL, over HTTP and over AMQP, beside what the server takes in batches by itself.

    python benchmarks/cases/delivery/drain.py [--events 20000] [--rounds 3] [--only http|amqp]

Each round has three turns with events of their own: batches of 500 over two connections, as benchmarks/cases/server/ingest.py sends them; a spool
emptied by `headwater events spool drain` over HTTP; a spool emptied into a broker by the same command while one `headwater events receive` takes
the events out. Counted is the time from the start of `drain` to the last event in the log, the start of the program included. Server, database,
broker, receiver and sender share the machine. AMQP needs Debian's rabbitmq-server.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE.parents[3])]

import psycopg  # noqa: E402
from catalogue import Catalogue, encoded  # noqa: E402
from fresh import PROGRAM, Server, fresh  # noqa: E402
from table import Row, said  # noqa: E402
from tests.fixtures.rabbitmq import SETTLED, own_broker  # noqa: E402

from headwater.client.spool import Spool  # noqa: E402


def filled(bodies: list[bytes]) -> str:
    """A folder with the events as a process that is gone left them."""
    folder = tempfile.mkdtemp(prefix="headwater-drain-")
    spool = Spool(Path(folder), cap_bytes=4 << 30)
    for body in bodies:
        spool.append(body)
    spool.close()
    return folder


def logged(server: Server) -> int:
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        return int(connection.execute("select count(*) from events").fetchone()[0])  # type: ignore[index]


def drained(server: Server, bodies: list[bytes], url: str) -> float:
    """Seconds until the last of the events is in the log."""
    before, folder = logged(server), filled(bodies)
    env = {**server.env, "HEADWATER_URL": url, "HEADWATER_SPOOL": folder}
    began = time.perf_counter()
    subprocess.run([*PROGRAM, "spool", "drain", "--timeout", "600", "--json"], env=env, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    while logged(server) < before + len(bodies):
        time.sleep(0.02)
    return time.perf_counter() - began


def measure(events: int, rounds: int, only: list[str]) -> list[Row]:
    rates: dict[str, list[float]] = {"batch": [], "http": [], "amqp": []}
    bodies = encoded(list(Catalogue(400).events(events * 3 * rounds)))
    with fresh() as server, own_broker() as broker:
        queue = f"bench.{uuid.uuid4().hex}"
        receiver = None
        if "amqp" in only:
            broker.start()
            receiver = subprocess.Popen(
                [*PROGRAM, "receive", "--url", broker.url, "--queue", queue, "--dead-letters", f"{queue}.dead"],
                env={**server.env, "HEADWATER_DATABASE__URL": server.database_url},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(SETTLED)
        try:
            for number in range(rounds):
                mine = iter(bodies[number * 3 * events : (number + 1) * 3 * events])

                def take(mine: "object" = mine) -> list[bytes]:
                    return [next(mine) for _ in range(events)]  # type: ignore[call-overload]

                def batch(take: Callable[[], list[bytes]] = take) -> None:
                    rates["batch"].append(events / server.batches(take()).seconds)

                def http(take: Callable[[], list[bytes]] = take) -> None:
                    rates["http"].append(events / drained(server, take(), f"http://127.0.0.1:{server.port}"))

                def amqp(take: Callable[[], list[bytes]] = take) -> None:
                    rates["amqp"].append(events / drained(server, take(), f"{broker.url}?queue={queue}"))

                turns = [batch, *([http] if "http" in only else []), *([amqp] if "amqp" in only else [])]
                for turn in turns if number % 2 == 0 else reversed(turns):
                    turn()
                    server.settle()
        finally:
            if receiver is not None:
                receiver.terminate()
                receiver.wait(60)
    batch_rate = statistics.median(rates["batch"])
    rows = [Row("batches of 500, two connections", batch_rate, "events/s", note="what is compared with")]
    for name in only:
        rate = statistics.median(rates[name])
        note, least = "target 80 % of the batches", 0.8 * batch_rate
        rows.append(Row(f"a spool drained over {name.upper()}", rate, "events/s", batch_rate, least, "more", note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=("http", "amqp"))
    parser.add_argument("--json", type=Path, default=HERE.parents[3] / ".tools/cases/delivery/drain.json")
    arguments = parser.parse_args()
    said(measure(arguments.events, arguments.rounds, arguments.only or ["http", "amqp"]), arguments.json)


if __name__ == "__main__":
    main()
