"""Correlation as it is answered: events, details and lineage of so many nodes in one request, and whether a content was imported.

    python benchmarks/cases/correlation/trace.py [--nodes 100 1000 10000]

A PostgreSQL of its own. The graph: a file split into series, each loaded by a run of its own; START and COMPLETE of every run are in the log, and
their details are read from there.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from headwater.answer import zoom
from headwater.answer.lineage import correlation, imports, lineage, view
from headwater.intake.events.accept import Intake
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.migrate import migrate

_ROUNDS = 30


def _id(kind: int, number: int) -> str:
    return str(uuid.UUID(int=0x0199C0DE_0000_7000_8000_000000000000 + (kind << 96) + number))


def _content(number: int) -> str:
    return f"xxh3-128:{number:032x}"


def events(series: int, first: int) -> list[bytes]:
    """A split into so many series and their loads; ids begin at `first`."""

    def item(number: int, side: str) -> dict[str, Any]:
        told = {"id": _id(1, first + number), "fingerprint": _content(first + number), "bytes": 12_000_000}
        return {"namespace": "timeseries", "name": f"TS{number:05}", "facets": {}, side: {"headwater_item": told}}

    def step(number: int, job: str, inputs: list[Any], outputs: list[Any]) -> list[bytes]:
        facet = {"version": "1.4.0", "details": {"rows": number, "by": {"key": "meter"}}}
        return [
            json.dumps(
                {
                    "eventType": kind,
                    "eventTime": f"2026-01-01T00:00:0{second}Z",
                    "producer": "https://example.test",
                    "run": {"runId": _id(2, first + number), "facets": {"headwater_step": facet}},
                    "job": {"namespace": "bench", "name": job},
                    "inputs": inputs,
                    "outputs": outputs if second else [],
                }
            ).encode()
            for second, kind in enumerate(("START", "COMPLETE"))
        ]

    file = {"namespace": "file", "name": "/in.csv.gz", "facets": {}, "inputFacets": {"headwater_item": {"fingerprint": _content(first)}}}  # fmt: skip
    made = step(0, "split", [file], [item(number, "outputFacets") for number in range(1, series + 1)])
    for number in range(1, series + 1):
        made += step(number, "load", [item(number, "inputFacets")], [])
    return made


async def _timed(ask: Callable[[], Awaitable[Any]]) -> tuple[float, float, Any]:
    """The least and the median of the rounds in ms, and the last answer. On a machine with other work the least says what it costs."""
    taken = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        answer = await ask()
        msgspec.json.encode(answer)
        taken.append((time.perf_counter() - began) * 1000)
    return min(taken), statistics.median(taken), answer


async def measure(url: str, sizes: list[int]) -> None:
    async with Database(url, pool_size=4) as database:
        await migrate(database)
        intake = Intake(database)
        print(f"{'question':<44}{'least ms':>12}{'median ms':>12}")
        for place, nodes in enumerate(sizes):
            first = (place + 1) * 1_000_000
            told = events(nodes // 3, first)
            for begin in range(0, len(told), 500):
                await intake.accept_each(told[begin : begin + 500])
            async with database.connection() as connection:
                await connection.execute("vacuum analyze")
            question = correlation.Question(_content(first), max_nodes=100_000)
            least, median, answer = await _timed(lambda: correlation.correlation(database, question))  # noqa: B023
            print(f"{f'{len(answer.nodes):,} nodes with details':<44}{least:>12.1f}{median:>12.1f}")
            walk = lineage.Question(_content(first), depth=100, max_nodes=100_000)
            least, median, seen = await _timed(
                lambda: zoom.lineage_of(database, walk, view.Shape(), zoom.Zoom())  # noqa: B023
            )
            print(f"{f'  {len(seen.nodes):,} of the one walk':<44}{least:>12.1f}{median:>12.1f}")
            least, median, found = await _timed(lambda: imports.imports(database, _content(first), "bench", "split"))  # noqa: B023
            assert found.imported
            print(f"{'  was the file imported':<44}{least:>12.1f}{median:>12.1f}")


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 10_000])
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        try:
            asyncio.run(measure(server.url, asked.parse_args().nodes))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
