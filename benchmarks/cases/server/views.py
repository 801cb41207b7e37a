"""Time the schema `lineage` at 100,000 edges: one question in SQL and through the API, and the export to Parquet.

python benchmarks/cases/server/views.py [--jobs 34000]
"""

import argparse
import http.client
import json
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psycopg
from fresh import Server, fresh
from table import HOME, Row, said

_SAME = [{"type": "DIRECT", "subtype": "IDENTITY"}]
_ONE = "select count(*) from lineage.edges where dataset_namespace = 'file' and dataset_name = '/t/7'"
_WALK = "/api/v2/lineage?node=dataset:file:/t/0&depth=50&direction=downstream&max_nodes=100000"
_DOWN = """
with recursive down (name) as (
  select target_name from lineage.dependencies where source_namespace = 'file' and source_name = '/t/0'
  union
  select d.target_name from lineage.dependencies d join down on d.source_namespace = 'file' and d.source_name = down.name
)
select count(*) from down
"""


def events(jobs: int) -> list[bytes]:
    """Each job reads two datasets and writes one; dataset n is made from n/3 and (n - 1)/2, two columns each."""
    found = []
    for number in range(1, jobs + 1):
        inputs = [{"namespace": "file", "name": f"/t/{source}"} for source in sorted({number // 3, (number - 1) // 2})]
        fields = {
            column: {"inputFields": [{**source, "field": column, "transformations": _SAME} for source in inputs]}
            for column in ("a", "b")
        }  # fmt: skip
        facets = {"columnLineage": {"_producer": "p", "_schemaURL": "s", "fields": fields}}
        event = {
            "eventTime": "2026-11-01T00:00:00Z", "eventType": "COMPLETE", "producer": "benchmark",
            "run": {"runId": f"0199d000-0000-7000-8000-{number:012x}"}, "job": {"namespace": "views", "name": f"job {number}"},
            "inputs": inputs, "outputs": [{"namespace": "file", "name": f"/t/{number}", "facets": facets}],
        }  # fmt: skip
        found.append(json.dumps(event).encode())
    return found


def asked(port: int, path: str) -> tuple[float, bytes]:
    """Seconds, and the answer."""
    began = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as link:
        link.request("GET", path)
        reply = link.getresponse()
        answer = reply.read()
        assert reply.status == 200, answer[:500]
    return time.perf_counter() - began, answer


def measured(server: Server, jobs: int) -> list[Row]:
    server.batches(events(jobs))
    server.settle()
    found = []
    with psycopg.connect(server.database_url) as connection:

        def counted(query: str) -> tuple[float, int]:
            began = time.perf_counter()
            row = connection.execute(query.encode()).fetchone()
            assert row is not None
            return time.perf_counter() - began, int(row[0])

        for view in (
            "datasets",
            "jobs",
            "runs",
            "versions",
            "edges",
            "columns",
            "column_edges",
            "dependencies",
            "ancestors",
        ):
            took, rows = min(counted(f"select count(*) from lineage.{view}") for _ in range(3))
            found.append(Row(f"lineage.{view}, {rows:,} rows, whole", took, "s"))
        one, _ = min(counted(_ONE) for _ in range(3))
        found.append(Row("the edges of one dataset", one * 1000, "ms"))
        below, reached = min(counted(_DOWN) for _ in range(3))
    walks = [asked(server.port, _WALK) for _ in range(3)]
    took, answer = min(walks)
    found.append(Row(f"all {reached:,} datasets below one, in SQL", below, "s"))
    found.append(Row("the same of the API", took, "s", note=f"{len(answer):,} bytes"))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        exported(server, Path(folder))
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        found.append(
            Row("headwater export --parquet, all views", time.perf_counter() - began, "s", note=f"{size:,} bytes")
        )
    return found


def exported(server: Server, folder: Path) -> None:
    import subprocess
    import sys

    subprocess.run(
        [sys.executable, "-m", "headwater", "export", "--parquet", str(folder), "--json"],
        env={**server.env, "HEADWATER_DATABASE__URL": server.database_url},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=34_000)
    jobs = parser.parse_args().jobs
    with fresh() as server:
        said(measured(server, jobs), HOME / "views.json")


if __name__ == "__main__":
    main()
