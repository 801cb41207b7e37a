"""Graphs of a known size, as one COMPLETE event for each job.

A graph is made of pipelines that share nothing, each with one last table that everything in it leads to; so the size of every answer is known
beforehand: a pipeline of n jobs has n + 2 tables and 3 n edges. No way from its end to its beginning has more than 18 jobs.
"""

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from catalogue import BEGAN, PRODUCER, STORE, Event, bare, facet, schema

LEVELS = 18
NAMESPACE = "graph"


@dataclass(frozen=True)
class Pipeline:
    name: str
    jobs: int

    @property
    def end(self) -> str:
        """The table that everything leads to."""
        return self.table(0, 0)

    @property
    def nodes(self) -> int:
        return 2 * self.jobs + 2

    def table(self, level: int, place: int) -> str:
        return f"{self.name}/level_{level:02}/table_{place:05}"

    def widths(self) -> list[int]:
        """Jobs at each level from the end: 1, 2, 4 … up to a width that makes `jobs` of them in LEVELS levels."""
        width = 1
        while sum(min(1 << level, width) for level in range(LEVELS)) < self.jobs:
            width += 1
        widths, left = [], self.jobs
        for level in range(LEVELS):
            widths.append(min(1 << level, width, left))
            left -= widths[-1]
        return [width for width in widths if width]

    def links(self) -> Iterator[tuple[str, list[str]]]:
        """Each job's output and its two inputs."""
        widths = self.widths()
        for level, width in enumerate(widths):
            for place in range(width):
                if level + 1 == len(widths):
                    yield self.table(level, place), [f"{self.name}/source_a", f"{self.name}/source_b"]
                    continue
                below = widths[level + 1]
                inputs = {2 * place % below, (2 * place + 1) % below}
                yield self.table(level, place), [self.table(level + 1, n) for n in sorted(inputs)]


def completed(job: str, inputs: list[Event], outputs: list[Event], number: int = 0) -> Event:
    at = BEGAN + dt.timedelta(seconds=number % 1_000_000)
    return {
        "eventType": "COMPLETE", "eventTime": at.isoformat().replace("+00:00", "Z"), "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job}/{number}")), "facets": {}},
        "job": {"namespace": NAMESPACE, "name": job, "facets": {}},
        "inputs": inputs, "outputs": outputs,
    }  # fmt: skip


def plain(pipeline: Pipeline) -> Iterator[Event]:
    for number, (output, inputs) in enumerate(pipeline.links()):
        yield completed(f"make.{output}", [bare(name) for name in inputs], [bare(output)], number)


def pipelines(jobs: int, *, medium: int = 0) -> list[Pipeline]:
    """A graph of so many jobs: the largest pipeline with 40,000 edges where it fits, some of 1,000 nodes, the rest of 100 nodes."""
    found, left = [], jobs
    if jobs >= 20_000:
        found.append(Pipeline("large_0", 13_334))
        left -= 13_334
    for number in range(medium or min(20, max(1, jobs // 2000))):
        found.append(Pipeline(f"medium_{number}", 499))
        left -= 499
    number = 0
    while left > 0:
        found.append(Pipeline(f"small_{number}", min(49, left)))
        left -= found[-1].jobs
        number += 1
    return found


def hub(readers: int) -> Iterator[Event]:
    """One table read by so many jobs, each with a table of its own."""
    for number in range(readers):
        yield completed(f"read.{number:04}", [bare("hub/dimension")], [bare(f"hub/fact_{number:04}")], number)


def columned(pipeline: Pipeline, columns: int = 10) -> Iterator[Event]:
    """Every column of a table is made of the same column of the two tables before it: 2 × `columns` column edges a job."""
    names = [f"column_{number}" for number in range(columns)]
    fields = schema([(name, "bigint") for name in names])
    for number, (output, inputs) in enumerate(pipeline.links()):
        lineage = {
            name: {"inputFields": [{"namespace": STORE, "name": table, "field": name} for table in inputs]}
            for name in names
        }
        written = {
            **bare(output),
            "facets": {"schema": fields, "columnLineage": facet("ColumnLineageDatasetFacet", fields=lineage)},
        }
        read = [{**bare(table), "facets": {"schema": fields}} for table in inputs]
        yield completed(f"make.{output}", read, [written], number)


def dataset_id(name: str) -> str:
    return quote(f"dataset:{STORE}:{name}", safe="")


def field_id(name: str, column: str) -> str:
    return quote(f"datasetField:{STORE}:{name}:{column}", safe="")
