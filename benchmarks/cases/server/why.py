"""The cause of a job's failure among its many runs, and what many failing jobs share.

    python benchmarks/cases/server/why.py [--runs 10000] [--jobs 25000] [--attributes 200]

`GET /api/v2/why` of a job that failed last, and `GET /api/v2/why/failing` over two runs of each job, of which a tenth failed. Beside them, in turn, a
page of 100 runs.
"""

import argparse
import json
import time

from fresh import Server, fresh
from table import HOME, Row, said
from taint import ask

BEGAN = time.time() - 40 * 86_400


def event(number: int, job: str, at: float, bad: bool, attributes: int) -> dict[str, object]:
    """One run that reports so many attributes of its environment."""
    variables = [{"name": f"VAR{n}", "value": f"v{number % (2 + n % 5)}"} for n in range(attributes)]
    return {
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)), "eventType": "FAIL" if bad else "COMPLETE", "producer": "benchmark",
        "run": {
            "runId": f"0199d000-0000-7000-8000-{number:012x}",
            "facets": {
                "environmentVariables": {"environmentVariables": variables},
                "processing_engine": {"name": "spark", "version": "4.0.1" if bad else "3.5.6"},
            },
        },
        "job": {"namespace": "why", "name": job}, "inputs": [{"namespace": "file", "name": "/source"}],
        "outputs": [{"namespace": "file", "name": f"/out/{job}"}],
    }  # fmt: skip


def send(server: Server, events: list[dict[str, object]]) -> None:
    for start in range(0, len(events), 500):
        ask(server.port, "POST", "/api/v1/lineage/batch", events[start : start + 500])


def measured(server: Server, runs: int, jobs: int, attributes: int) -> list[Row]:
    send(server, [event(n, "daily", BEGAN + 60 * n, n >= runs - 4, 20) for n in range(runs)])
    now = time.time()
    for first in range(0, jobs, 500):
        chunk = range(first, min(jobs, first + 500))
        send(server, [event(runs + n, f"job{n}", now - 90_000, False, attributes) for n in chunk])
        send(server, [event(runs + jobs + n, f"job{n}", now - 3_600, n % 10 == 0, attributes) for n in chunk])
    server.settle()
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 6 * 3_600))
    questions = {
        "why": "/api/v2/why?job=job:why:daily", "failing": f"/api/v2/why/failing?since={since}", "page": "/api/v2/runs?limit=100",
    }  # fmt: skip
    took: dict[str, list[float]] = {name: [] for name in questions}
    answers = {}
    for _ in range(5):
        for name, path in questions.items():
            seconds, answers[name] = ask(server.port, "GET", path)
            took[name].append(seconds)
    why, failing = json.loads(answers["why"]), json.loads(answers["failing"])
    assert why["suspects"][0]["causes"][0]["name"] == "spark", why["suspects"][:2]
    assert failing["findings"][0]["traits"][0]["name"] == "spark", failing["findings"][:2]
    median = {name: sorted(some)[2] for name, some in took.items()}
    compared = f"{failing['examined_bad']} and {failing['examined_good']} compared"
    return [
        Row(f"why, a job of {runs:,} runs", median["why"], "s", target=1.0, note=f"{why['runs']} compared"),
        Row(
            f"why --failing, {2 * jobs:,} runs, {attributes} attributes",
            median["failing"],
            "s",
            target=2.0,
            note=compared,
        ),
        Row("a page of 100 runs", median["page"], "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=25_000)
    parser.add_argument("--attributes", type=int, default=200)
    given = parser.parse_args()
    with fresh() as server:
        said(measured(server, given.runs, given.jobs, given.attributes), HOME / "why.json")


if __name__ == "__main__":
    main()
