"""A company's pipelines as OpenLineage events: names, schemas and statements that repeat from run to run, as they do in life.

Everything is made from a seed, so two runs of a benchmark send the same bodies. An event is about 2 KB.
"""

import datetime as dt
import random
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

PRODUCER = "https://etl.example/2"
SPEC = "https://openlineage.io/spec/facets"
NAMESPACE = "nightly"
STORE = "s3://lake"
BEGAN = dt.datetime(2026, 9, 1, tzinfo=dt.UTC)

AREAS = ["sales", "finance", "logistics", "marketing", "support", "product", "risk", "hr", "web", "stores"]
THINGS = [
    "orders", "customers", "payments", "refunds", "shipments", "invoices", "sessions", "clicks", "products", "prices",
    "suppliers", "stock", "returns", "tickets", "campaigns", "employees", "contracts", "carriers", "routes", "baskets",
    "accounts", "balances", "claims", "policies", "visits", "leads", "coupons", "reviews", "devices", "subscriptions",
]  # fmt: skip
GRAINS = [
    "",
    "_daily",
    "_hourly",
    "_by_region",
    "_by_channel",
    "_history",
    "_current",
    "_enriched",
    "_totals",
    "_errors",
]
COLUMNS = [
    ("id", "bigint"), ("customer_id", "bigint"), ("order_id", "bigint"), ("product_id", "bigint"), ("store_id", "int"),
    ("amount", "decimal(18,2)"), ("currency", "string"), ("quantity", "int"), ("status", "string"), ("country", "string"),
    ("region", "string"), ("channel", "string"), ("created_at", "timestamp"), ("updated_at", "timestamp"), ("day", "date"),
    ("email", "string"), ("discount", "decimal(9,4)"), ("tax", "decimal(18,2)"), ("is_active", "boolean"), ("source", "string"),
    ("first_name", "string"), ("last_name", "string"), ("postcode", "string"), ("weight", "double"), ("score", "double"),
]  # fmt: skip

Event = dict[str, Any]


def facet(kind: str, /, **fields: Any) -> Event:
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/1-0-0/{kind}.json", **fields}


def schema(columns: list[tuple[str, str]]) -> Event:
    return facet("SchemaDatasetFacet", fields=[{"name": name, "type": type_} for name, type_ in columns])


def dataset(name: str, **facets: Event) -> Event:
    return {"namespace": STORE, "name": name, "facets": facets}


def bare(name: str) -> Event:
    return {"namespace": STORE, "name": name, "facets": {}}


def encoded(events: list[Event]) -> list[bytes]:
    return [msgspec.json.encode(event) for event in events]


class Catalogue:
    """`jobs` jobs over about as many tables in three layers; job n reads two tables of its layer and writes one of the next."""

    def __init__(self, jobs: int, seed: int = 4) -> None:
        self.random = random.Random(seed)
        self.tables = [self._table(number) for number in range(jobs + 40)]
        # A table is made of earlier ones: the first forty come from outside, job n makes table n + 40.
        self.inputs = [self.random.sample(range(max(0, n - 60), n + 40), 2) for n in range(jobs)]
        self.jobs = [f"{self.tables[n + 40][0].replace('/', '.')}.load" for n in range(jobs)]

    def _table(self, number: int) -> tuple[str, list[tuple[str, str]]]:
        area, rest = AREAS[number % len(AREAS)], number // len(AREAS)
        thing, rest = THINGS[rest % len(THINGS)], rest // len(THINGS)
        grain, rest = GRAINS[rest % len(GRAINS)], rest // len(GRAINS)
        layer = ("raw", "clean", "marts")[number % 3]
        columns = sorted(self.random.sample(COLUMNS, self.random.randint(8, 10)), key=COLUMNS.index)
        return f"{layer}/{area}/{thing}{grain}" + (f"_{rest}" if rest else ""), columns

    def start(self, job: int, run: str, at: dt.datetime) -> Event:
        """Return the event a scheduler sends when a run begins: its reasons, its statement, what it will read and write."""
        target, columns = self.tables[job + 40]
        names = ", ".join(name for name, _ in columns)
        one, two = (self.tables[n][0] for n in self.inputs[job])
        into, left, right = (name.replace("/", ".") for name in (target, one, two))
        day = at.replace(hour=0, minute=0, second=0, microsecond=0)
        parent = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job % 50}/{day}"))
        return {
            "eventType": "START", "eventTime": _time(at), "producer": PRODUCER,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": run, "facets": {
                "nominalTime": facet("NominalTimeRunFacet", nominalStartTime=_time(day), nominalEndTime=_time(day + dt.timedelta(days=1))),
                "parent": facet("ParentRunFacet", run={"runId": parent}, job={"namespace": NAMESPACE, "name": f"dag_{job % 50}"}),
                "processing_engine": facet("ProcessingEngineRunFacet", name="spark", version="3.5.1", openlineageAdapterVersion="1.23.0"),
            }},
            "job": {"namespace": NAMESPACE, "name": self.jobs[job], "facets": {
                "sql": facet("SQLJobFacet", query=f"insert into {into} select {names} from {left} a join {right} b using (id)"),
                "jobType": facet("JobTypeJobFacet", processingType="BATCH", integration="SPARK", jobType="JOB"),
                "sourceCodeLocation": facet("SourceCodeLocationJobFacet", type="git", url=f"https://git.example.com/etl/blob/main/{target}.sql"),
            }},
            "inputs": [dataset(one), dataset(two)],
            "outputs": [dataset(target)],
        }  # fmt: skip

    def complete(self, job: int, run: str, at: dt.datetime) -> Event:
        """Return the event an engine sends when a run is over: schemas, rows written, for every third job the columns."""
        target, columns = self.tables[job + 40]
        inputs = [self.tables[n] for n in self.inputs[job]]
        facets = {"schema": schema(columns)}
        if job % 3 == 0:
            facets["columnLineage"] = facet("ColumnLineageDatasetFacet", fields={
                name: {"inputFields": [{"namespace": STORE, "name": table, "field": name} for table, theirs in inputs if (name, type_) in theirs][:1]}
                for name, type_ in columns[:4]
            })  # fmt: skip
        written = dataset(target, **facets)
        written["outputFacets"] = {
            "outputStatistics": facet(
                "OutputStatisticsOutputDatasetFacet", rowCount=at.second * 1009 + job, size=at.minute * 65_537
            )
        }
        return {
            "eventType": "COMPLETE", "eventTime": _time(at), "producer": PRODUCER,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": run, "facets": {}},
            "job": {"namespace": NAMESPACE, "name": self.jobs[job], "facets": {}},
            "inputs": [dataset(name, schema=schema(theirs)) for name, theirs in inputs],
            "outputs": [written],
        }  # fmt: skip

    def events(self, count: int) -> Iterator[Event]:
        """`count` events: pairs of START and COMPLETE, about forty runs going on at a time."""
        going: list[tuple[int, str]] = []
        made, number = 0, 0
        while made < count:
            at = BEGAN + dt.timedelta(seconds=37 * number, milliseconds=number % 1000)
            job = number % len(self.jobs)
            run = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
            going.append((job, run))
            yield self.start(job, run, at)
            made += 1
            if len(going) > 40 and made < count:
                yield self.complete(*going.pop(0), at + dt.timedelta(milliseconds=500))
                made += 1
            number += 1


def _time(at: dt.datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
