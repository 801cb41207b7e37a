"""The cost of the spool and its drain: `emit` without a server, writing alone, and the drain into a sink.

    python benchmarks/micro/spool.py [--events 20000] [--fsync never|interval|always] [--destinations 1] [--amqp amqp://…]

Events are COMPLETE events of a Spark-like run, 1.2–2 KB of JSON, each with ids and numbers of its own. `emit` is measured in the calling thread,
encoding included, with a sender thread alive and failing; `write` is the spool alone, encoded records in; `drain` is over one connection of one
sender into a server in another process that unpacks and parses every batch (`--amqp`: into that broker, until it has confirmed).
Prints figures; asserts nothing.
"""

import argparse
import logging
import multiprocessing
import statistics
import tempfile
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from headwater.client import emitter_from_environment, event
from headwater.client.spool import Spool

DEAD = "http://127.0.0.1:1"


def make(number: int) -> dict[str, Any]:
    columns = [{"name": f"column_{i}", "type": "decimal(18,2)"} for i in range(6 + number % 12)]
    facets = {"schema": event.schema(columns), "documentation": event.documentation(f"table {number}")}
    return event.run(
        "COMPLETE",
        run_id=event.run_id(),
        job=("bench", f"daily.orders_{number % 97}.execute_insert"),
        inputs=[event.dataset("s3://lake", f"raw/orders/day={number}")],
        outputs=[
            event.dataset(
                "s3://lake", "clean/orders", facets=facets,
                output_facets={"outputStatistics": event.output_statistics(rows=number, size=number * 100)},
            )
        ],
    )  # fmt: skip


class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = zlib.decompress(body, wbits=31)
        msgspec.json.decode(body)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def serve(ready: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    ready.send(server.server_port)
    server.serve_forever()


def emit(count: int, fsync: str, destinations: int) -> None:
    import os

    os.environ["HEADWATER_SPOOL_FSYNC"] = fsync
    events = [make(number) for number in range(min(count, 5000))]
    with tempfile.TemporaryDirectory() as folder:
        addresses = ",".join([DEAD, "http://127.0.0.1:2", "http://127.0.0.1:3"][:destinations])
        out = emitter_from_environment(url=addresses, spool=folder)
        times = []
        began = time.perf_counter()
        for number in range(count):
            one = events[number % len(events)]
            started = time.perf_counter()
            out.emit(one)
            times.append((time.perf_counter() - started) * 1e6)
        seconds = time.perf_counter() - began
        out.close()
        times.sort()
        print(
            f"emit, {destinations} destination(s) down, fsync {fsync}: median {times[count // 2]:.1f} µs, p99 {times[int(count * 0.99)]:.1f} µs, "
            f"p99.9 {times[int(count * 0.999)]:.1f} µs, longest {times[-1]:.0f} µs; {count / seconds:,.0f} events/s"
        )


def spaced(count: int) -> None:
    """Emit as a pipeline does: an event, then some work."""
    with tempfile.TemporaryDirectory() as folder:
        out = emitter_from_environment(url=DEAD, spool=folder)
        times = []
        for number in range(count):
            one = make(number)
            time.sleep(0.001)
            started = time.perf_counter()
            out.emit(one)
            times.append((time.perf_counter() - started) * 1e6)
        out.close()
        times.sort()
        print(
            f"emit each millisecond, server down: median {times[count // 2]:.1f} µs, p99 {times[int(count * 0.99)]:.1f} µs"
        )


def write(count: int, fsync: str) -> None:
    records = [msgspec.json.encode(make(number)) for number in range(min(count, 5000))]
    sizes = [len(record) for record in records]
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder), fsync=fsync)
        began = time.perf_counter()
        for number in range(count):
            spool.append(records[number % len(records)])
        seconds = time.perf_counter() - began
        spool.close()
    print(
        f"write, encoded before, fsync {fsync}: {count / seconds:,.0f} events/s, {sum(sizes) / len(sizes) * count / seconds / 1e6:,.0f} MB/s "
        f"(events of {min(sizes):,}–{max(sizes):,} bytes, median {statistics.median(sizes):,.0f})"
    )


def drain(count: int, url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder))
        records = [msgspec.json.encode(make(number)) for number in range(min(count, 5000))]
        for number in range(count):
            spool.append(records[number % len(records)])
        spool.close()
        out = emitter_from_environment(url=url, spool=folder)
        began = time.perf_counter()
        whole = out.flush(300)
        seconds = time.perf_counter() - began
        out.close()
        kind = url.partition(":")[0]
        print(f"drain over {kind}: {count / seconds:,.0f} events/s; all delivered: {whole}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--fsync", choices=("never", "interval", "always"), default="never")
    parser.add_argument("--destinations", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--amqp", help="the address of a broker, to drain into it too")
    given = parser.parse_args()
    logging.getLogger("headwater").setLevel(logging.ERROR)

    emit(given.events, given.fsync, given.destinations)
    spaced(2000)
    write(given.events, given.fsync)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    drain(given.events, f"http://127.0.0.1:{ours.recv()}")
    server.kill()
    if given.amqp:
        drain(given.events, given.amqp)


if __name__ == "__main__":
    main()
