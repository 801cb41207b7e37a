"""One event with tens of thousands of inputs, and what other requests notice while it is accepted.

    python benchmarks/cases/server/wide.py [--inputs 50000] [--bodies 10]

One client each asks for health, readiness and a page of datasets, and posts small events, all the time. Then so many bodies of 60 MB at once:
the memory that the server keeps. The floor for the event is a copy of its bytes to another process.
"""

import argparse
import http.client
import threading
import time
from collections import Counter, defaultdict
from contextlib import closing, suppress

from catalogue import encoded
from fresh import Server, fresh
from table import HOME, Row, said

PATHS = ("/healthz", "/readyz", "/api/v2/datasets?limit=1")


def event(number: int, inputs: int, job: str, padding: int = 0) -> bytes:
    run = {"runId": f"0199d000-0000-7000-8000-{number:012x}"}
    return encoded(
        [
            {
                "eventTime": "2026-11-01T00:00:00Z", "eventType": "COMPLETE", "producer": "benchmark", "run": run,
                "job": {"namespace": job, "name": job, "facets": {"padding": {"text": "x" * padding}} if padding else {}},
                "inputs": [{"namespace": f"s3://{job}", "name": f"path/to/file-{each:06}"} for each in range(inputs)],
                "outputs": [{"namespace": f"s3://{job}", "name": "out"}],
            }
        ]
    )[0]  # fmt: skip


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, float]:
    """Status (0: none) and milliseconds."""
    began, status = time.perf_counter(), 0
    with (
        suppress(OSError, http.client.HTTPException),
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as link,
    ):
        link.request(method, path, body, {"Content-Type": "application/json"})
        reply = link.getresponse()
        reply.read()
        status = reply.status
    return status, 1000 * (time.perf_counter() - began)


def beside(server: Server, inputs: int) -> list[Row]:
    times: dict[str, list[float]] = defaultdict(list)
    statuses: Counter[int] = Counter()
    over = threading.Event()

    def repeat(path: str) -> None:
        number = 0
        while not over.is_set():
            number += 1
            small = event(number, 1, "small") if path == "small events" else None
            status, took = ask(server.port, "POST" if small else "GET", "/api/v1/lineage" if small else path, small)
            times[path].append(took)
            statuses[status] += 1
            time.sleep(0.02)

    clients = [threading.Thread(target=repeat, args=(path,)) for path in (*PATHS, "small events")]
    for client in clients:
        client.start()
    time.sleep(1)
    status, took = ask(server.port, "POST", "/api/v1/lineage", event(0, inputs, "wide"))
    over.set()
    for client in clients:
        client.join()
    rows = [Row(f"an event of {inputs:,} inputs, stored", took / 1000, "s", target=5.0, note=f"HTTP {status}")]
    for path, found in times.items():
        p99 = sorted(found)[int(len(found) * 0.99)]
        rows.append(
            Row(
                f"meanwhile, {path}: p99",
                p99,
                "ms",
                target=100 if path == "/healthz" else 250,
                note=f"{len(found)} requests",
            )
        )
    return [
        *rows,
        Row(
            "others than 2xx",
            float(sum(count for code, count in statuses.items() if not 200 <= code < 300)),
            "requests",
            target=0,
        ),
    ]


def large(server: Server, bodies: int) -> list[Row]:
    before = server.memory()
    most, over = [before], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            most.append(server.memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    statuses: Counter[int] = Counter()

    def post(number: int) -> None:
        statuses[ask(server.port, "POST", "/api/v1/lineage", event(number, 1, "large", 60_000_000))[0]] += 1

    senders = [threading.Thread(target=post, args=(10_000 + number,)) for number in range(bodies)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    time.sleep(3)
    over.set()
    watcher.join()
    note = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    return [
        Row(f"memory before {bodies} bodies of 60 MB at once", before / 2**20, "MiB"),
        Row("at most", max(most) / 2**20, "MiB", note=note),
        Row("three seconds after them", server.memory() / 2**20, "MiB", target=400),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--bodies", type=int, default=10)
    asked = parser.parse_args()
    with fresh(HEADWATER_SERVER__MAX_DATASETS_PER_EVENT=str(max(asked.inputs, 50_000))) as server:
        said([*beside(server, asked.inputs), *large(server, asked.bodies)], HOME / "wide.json")


if __name__ == "__main__":
    main()
