"""The users of a wrong run: a run, and 10,000 versions that were made from it in two steps.

    python benchmarks/cases/server/taint.py [--width 100]

A dry run of `POST /api/v2/incidents`, with the jobs to repeat in order. Beside it, in turn, the lineage of the same run downstream: the same walk
without a verdict.
"""

import argparse
import http.client
import json
import time
from contextlib import closing

from fresh import Server, fresh
from table import HOME, Row, said

ROOT = "0199d000-0000-7000-8000-000000000001"


def events(width: int) -> list[dict[str, object]]:
    """One run, read by `width` jobs, each of which is read by `width` others."""
    found: list[dict[str, object]] = []

    def add(job: str, read: str, written: str, minute: int) -> None:
        found.append(
            {
                "eventTime": f"2026-11-01T00:{minute:02}:00Z", "eventType": "COMPLETE", "producer": "benchmark",
                "run": {"runId": f"0199d000-0000-7000-8000-{len(found) + 1:012x}"}, "job": {"namespace": "taint", "name": job},
                "inputs": [{"namespace": "file", "name": read}], "outputs": [{"namespace": "file", "name": written}],
            }
        )  # fmt: skip

    add("root", "/source", "/root", 1)
    for one in range(width):
        add(f"middle {one}", "/root", f"/middle/{one}", 2)
        for other in range(width):
            add(f"leaf {one} {other}", f"/middle/{one}", f"/leaf/{one}/{other}", 3)
    return found


def ask(port: int, method: str, path: str, body: object = None) -> tuple[float, bytes]:
    """Seconds, and the answer."""
    began = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as link:
        link.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        reply = link.getresponse()
        answer = reply.read()
        assert reply.status < 300, answer[:500]
    return time.perf_counter() - began, answer


def measured(server: Server, width: int) -> list[Row]:
    told = events(width)
    for start in range(0, len(told), 1000):
        ask(server.port, "POST", "/api/v1/lineage/batch", told[start : start + 1000])
    server.settle()
    taint = {"origins": [{"kind": "RUN", "ref": ROOT}], "reason": "benchmark", "dry_run": True}
    walk = f"/api/v2/runs/{ROOT}/lineage?direction=downstream&depth=10&max_nodes=100000"
    taints, walks = [], []
    for _ in range(5):
        took, answer = ask(server.port, "POST", "/api/v2/incidents", taint)
        taints.append(took)
        walks.append(ask(server.port, "GET", walk)[0])
    versions = len(json.loads(answer)["reads"]["versions"])
    return [
        Row(
            f"taint of a run with {versions:,} versions below",
            sorted(taints)[2],
            "s",
            target=0.5,
            note=f"{len(answer):,} bytes",
        ),
        Row("the same lineage without a verdict", sorted(walks)[2], "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=100)
    width = parser.parse_args().width
    with fresh() as server:
        said(measured(server, width), HOME / "taint.json")


if __name__ == "__main__":
    main()
