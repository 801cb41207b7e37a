"""The cost of search over many names and columns: questions, documents of new datasets, names resolved.

    python benchmarks/micro/search.py [--datasets 60000] [--columns 15] [--jobs 40000] [--questions 300] [--folder DIR]

Datasets, jobs and facets are made by a fixed rule and put into an embedded PostgreSQL with COPY; the documents are made by the same
function that events call. With --folder the database is kept and used again. Questions are of eight kinds (below), taken in turn, answered by
the function behind `GET /api/v2/search`, in this process, one at a time; the first 40 are not counted.
"""

import argparse
import asyncio
import datetime as dt
import itertools
import json
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headwater.answer.lineage.find import resolve
from headwater.answer.search.search import search
from headwater.intake.events.accept import Intake
from headwater.model import version
from headwater.model.names import DatasetName, JobName
from headwater.store import search as store
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.migrate import migrate

COMMON = """account address agent alert amount asset audit balance batch billing booking branch budget campaign cart catalog channel charge
claim click client contact contract cost country coupon credit currency customer delivery demand deposit device discount driver email
employee event exchange expense facility feature feed fee flight forecast fraud hotel image index inventory invoice item journey key label
lead ledger license listing loan location login loyalty margin market media member merchant message metric model network note offer order
organization outcome package page parcel partner passenger patient payment payroll penalty phone plan point policy portfolio position
price product profile profit project promotion provider purchase quality quantity query queue quote rate rating reading recommendation
refund region registry request reservation response return revenue review reward risk role route rule salary sale schedule score search
segment sensor service session shipment signal site snapshot source staff status stock store stream subscription supplier survey
target tariff task tax team ticket token tracking trade traffic transaction transfer trip usage user vehicle vendor visit voucher
warehouse weather website wishlist""".split()
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za bri cla dre flo gri ple sta tra".split()
LAYERS = "raw stg int dim fct mart agg rpt tmp ods".split()
SUFFIXES = "id key code name type at date count total amount flag status ref hash".split()
USUAL = "id created_at updated_at deleted_at tenant_id source_system load_date batch_id is_active version".split()
TAGS = "pii finance gold silver bronze deprecated gdpr sensitive certified internal".split()
PLATFORMS = (
    "s3://lake-{}",
    "snowflake://org-acc{}",
    "postgres://db{}:5432",
    "kafka://broker{}:9092",
    "bigquery",
    "file",
)
AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Making:
    """Names and texts by a fixed rule; common words are more frequent than the rest, as in life."""

    def __init__(self) -> None:
        self.random = random.Random(11)
        self.rare = sorted({"".join(self.random.choices(SYLLABLES, k=3)) for _ in range(12_000)})

    def word(self) -> str:
        if self.random.random() < 0.75:
            return COMMON[int(len(COMMON) * self.random.random() ** 2)]
        return self.random.choice(self.rare)

    def name(self, number: int) -> tuple[str, str]:
        pick = self.random
        namespace = pick.choice(PLATFORMS).format(pick.randrange(20))
        words = [self.word() for _ in range(pick.randint(1, 3))]
        table = "_".join([pick.choice(LAYERS), *words]) + (
            f"_{number}" if pick.random() < 0.5 else f"_{self.word()}{number}"
        )
        if namespace.startswith(("s3", "file")):
            return namespace, f"{'/' if namespace == 'file' else ''}{self.word()}/{pick.choice(LAYERS)}/{table}"
        if pick.random() < 0.2:
            table = "".join(part.title() for part in table.split("_"))
        return namespace, f"{self.word()}.{pick.choice(LAYERS)}.{table}"

    def columns(self, count: int) -> list[dict[str, str]]:
        pick = self.random
        names = set(pick.sample(USUAL, min(5, count)))
        while len(names) < count:
            names.add(f"{self.word()}_{pick.choice(SUFFIXES)}")
        return [
            {"name": name, "type": "string"} | ({"description": self.text(6)} if pick.random() < 0.2 else {})
            for name in sorted(names)
        ]

    def text(self, count: int) -> str:
        return " ".join(["The", *(self.word() for _ in range(count)), "of each day."])

    def facets(self, columns: int, sql: str | None = None) -> dict[str, dict[str, Any]]:
        pick, found = self.random, dict[str, dict[str, Any]]()
        if columns:
            found["schema"] = {"fields": self.columns(columns)}
        if sql:
            found["sql"] = {"query": sql}
        if pick.random() < 0.3:
            found["documentation"] = {"description": self.text(20)}
        if pick.random() < 0.2:
            found["tags"] = {"tags": [{"key": pick.choice(TAGS)}]}
        if pick.random() < 0.5:
            found["ownership"] = {"owners": [{"name": f"team:{COMMON[pick.randrange(60)]}", "type": "MAINTAINER"}]}
        return found


async def load(database: Database, asked: argparse.Namespace) -> None:
    """The tables search reads, as events would have left them."""
    making, bodies, nodes, sets, owners = Making(), {}, {"datasets": [], "jobs": []}, {}, []
    made: list[tuple[str, str]] = []
    for number in range(asked.datasets + asked.jobs):
        if number < asked.datasets:
            kind, (namespace, name) = "datasets", making.name(number)
            made.append((namespace, name))
            id_, facets = version.dataset_id(DatasetName(namespace, name)), making.facets(asked.columns)
        else:
            kind, namespace = "jobs", f"airflow-{number % 7}"
            one, other = making.random.choice(made)[1], making.random.choice(made)[1]
            name = f"load_{making.word()}_{making.word()}.{one.rsplit('/', 1)[-1]}_{number}"
            sql = f"insert into {one} select a.{making.word()}_id, b.{making.word()}_amount from {other} a join b on a.id = b.id"
            id_, facets = version.job_id(JobName(namespace, name)), making.facets(0, sql)
        nodes[kind].append((id_, namespace, name, AT, AT + dt.timedelta(minutes=number % 50_000)))
        told = []
        for facet, body in sorted(facets.items()):
            raw = json.dumps(body).encode()
            bodies[version.content_id(raw)] = raw
            told.append((facet, version.content_id(raw)))
        set_id = uuid.uuid5(uuid.NAMESPACE_OID, repr(told))
        sets[set_id] = told
        owners.append((id_, set_id, AT, AT, b"x"))
    async with database.transaction() as connection, connection.cursor() as cursor:
        for table, columns, rows in (
            ("datasets", "id, namespace, name, first_seen, last_seen", nodes["datasets"]),
            ("jobs", "id, namespace, name, first_seen, last_seen", nodes["jobs"]),
            ("facet_bodies", "id, body", list(bodies.items())),
            (
                "facet_sets",
                "id, name, body_id, deleted",
                [(s, *one, False) for s, told in sets.items() for one in told],
            ),
            ("owner_facets", "owner, set_id, first_at, last_at, last_digest", owners),
        ):
            async with cursor.copy(f"copy {table} ({columns}) from stdin") as copy:
                for row in rows:
                    await copy.write_row(row)
    async with database.connection() as connection:
        await connection.execute("analyze")


def questions(names: list[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(kind, words, what narrows it), without end, in turn."""
    making = Making()
    making.random.seed(5)
    pick = making.random
    while True:
        name = pick.choice(names)
        last = name.replace("/", ".").rsplit(".", 1)[-1]
        word = making.word()
        slip = pick.randrange(1, len(word) - 1)
        yield from (
            ("a whole name", name, {}),
            ("a last segment", last, {}),
            ("the beginning of one", last[: pick.randint(3, 9)], {}),
            ("a word", word, {}),
            ("two words", f"{word} {making.word()}", {}),
            ("a misspelt word", word[:slip] + word[slip + 1 :], {}),
            ("a column", f"{word}_{pick.choice(SUFFIXES)}", {}),
            ("a frequent word", pick.choice(["id", "created_at", "customer", "a", "date", "raw"]), {}),
            ("narrowed", word, {"type": pick.choice(["dataset", "job"]), "tag": pick.choice(TAGS)}),
        )


def figures(label: str, times: list[float]) -> None:
    if len(times) > 1:
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        print(f"{label:34} {len(times):5}  median {cuts[49]:7.1f}  p95 {cuts[94]:7.1f}  max {max(times):7.1f} ms")


async def measure(database: Database, asked: argparse.Namespace) -> None:
    async with database.connection() as connection:
        rows = await (await connection.execute("select name from datasets order by md5(name) limit 5000")).fetchall()
        names = [row[0] for row in rows]
        sizes = await connection.execute(
            "select c.relname, pg_total_relation_size(c.oid) >> 20 from pg_class c where relname in ('search_documents', 'search_words')"
        )
        print("MiB with indexes:", dict(await sizes.fetchall()))
    times: dict[str, list[float]] = {}
    for number, (kind, words, narrow) in enumerate(itertools.islice(questions(names), asked.questions * 9)):
        began = time.perf_counter()
        await search(database, words, **narrow)
        if number >= 40:
            times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
    for kind, one in times.items():
        figures(kind, one)
    figures("search, all kinds", [one for many in times.values() for one in many])
    for label, ask in (
        ("resolve, the end of a name", lambda name: resolve(database, name.replace("/", ".").rsplit(".", 1)[-1])),
        ("resolve, misspelt", lambda name: resolve(database, name[:-8] + "x" + name[-8:])),
    ):
        found = []
        for name in names[: asked.questions]:
            began = time.perf_counter()
            await ask(name)
            found.append((time.perf_counter() - began) * 1000)
        figures(label, found[5:])


async def ingest(database: Database, columns: int) -> None:
    """Batches of 500 events, each of a dataset never heard of: whole, and the part that is documents."""
    making, whole, part, refresh = Making(), [], [], store.refresh
    making.random.seed(time.time_ns())

    async def timed(connection: Any, ids: Any, **how: Any) -> None:
        began = time.perf_counter()
        await refresh(connection, ids, **how)
        part.append((time.perf_counter() - began) * 1000)

    store.refresh = timed
    intake = Intake(database)
    for batch in range(6):
        events = []
        for number in range(500):
            namespace, name = making.name(10_000_000 + batch * 1000 + number + making.random.randrange(10**9))
            about = {"namespace": namespace, "name": name, "facets": making.facets(columns)}
            events.append({"eventTime": "2026-01-02T00:00:00Z", "producer": "p", "dataset": about})
        began = time.perf_counter()
        await intake.accept_batch(json.dumps(events).encode())
        whole.append((time.perf_counter() - began) * 1000)
    store.refresh = refresh
    figures("500 new datasets, the transaction", whole[1:])
    figures("  of it, search documents", part[1:])


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--datasets", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=40_000)
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-search-") as temporary:
        server = EmbeddedPostgres((asked.folder or Path(temporary)) / "postgres")
        database = await Database(server.url, statement_timeout_seconds=600).open()
        try:
            await migrate(database)
            async with database.connection() as connection:
                (there,) = await (await connection.execute("select count(*) from search_documents")).fetchone()  # type: ignore[misc]
            if not there:
                await load(database, asked)
                began = time.perf_counter()
                async with database.transaction() as connection:
                    await store.refresh_all(connection)
                took = time.perf_counter() - began
                print(f"documents made: {took:.1f} s, {(asked.datasets + asked.jobs) / took:,.0f} a second")
                async with database.connection() as connection:
                    await connection.execute("vacuum analyze")
            await measure(database, asked)
            await ingest(database, asked.columns)
        finally:
            await database.close()
            server.stop()


if __name__ == "__main__":
    asyncio.run(main())
