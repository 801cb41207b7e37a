"""Search over a million names: 500 questions of seven kinds, over HTTP.

    python benchmarks/cases/server/search.py [--only exact …] [--datasets 60000] [--jobs 40000] [--questions 500]

60,000 tables of 15 columns and 40,000 jobs, with names and descriptions from one vocabulary, so that no word is rare. Times are of one connection.
The physical limit is the same words (a mistyped one as it was meant) sought in one text column of a million names under a trigram index, in another
database of the same PostgreSQL, first 20 hits. `found`: how often an answer has the very thing that the question was made from, in its first 20;
of a column or a description, many others are as good.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import msgspec
import psycopg
from catalogue import AREAS, BEGAN, COLUMNS, GRAINS, PRODUCER, STORE, THINGS, Event, bare, encoded, facet, schema
from fresh import Server, fresh
from load import Outcome, drive, get
from table import HOME, Row, said

KINDS = ("exact", "prefix", "two words", "typo", "column", "description", "job")
TARGET = 50.0
NAMESPACE = "search"
QUALIFIERS = [
    "billing", "shipping", "gross", "net", "daily", "first", "last", "expected", "actual", "planned", "legacy", "external", "monthly",
    "average", "maximum", "previous", "current", "original", "local", "foreign", "partner", "internal", "raw", "estimated", "adjusted",
]  # fmt: skip
ATTRIBUTES = [
    "amount", "price", "date", "code", "name", "status", "quantity", "rate", "country", "address", "reason", "owner", "score", "weight",
    "margin", "channel", "currency", "timestamp", "flag", "ratio", "version", "category", "balance", "duration", "priority", "identifier",
]  # fmt: skip
WORDS = [
    "curated", "certified", "deprecated", "reconciled", "forecast", "snapshot", "audited", "anonymised", "deduplicated", "warehouse",
    "quarterly", "regulatory", "churn", "cohort", "attribution", "seasonal", "provisional", "benchmark", "settlement", "onboarding",
]  # fmt: skip


@dataclass(frozen=True)
class Question:
    kind: str
    text: str
    meant: str
    wanted: str


class Names:
    """The names to search: table n and its columns and description, job n; all from a seed."""

    def __init__(self, datasets: int, jobs: int) -> None:
        chosen = random.Random(7)
        columns = [f"{one}_{two}" for one in QUALIFIERS for two in ATTRIBUTES] + [name for name, _ in COLUMNS]
        self.tables = [self._table(n) for n in range(datasets)]
        self.columns = [chosen.sample(columns, 15) for _ in range(datasets)]
        self.descriptions = [
            " ".join(chosen.choices([*WORDS, *ATTRIBUTES, *THINGS], k=7)).capitalize() for _ in range(datasets)
        ]
        self.jobs = [
            f"{AREAS[n % len(AREAS)]}.{QUALIFIERS[n % len(QUALIFIERS)]}_{self._table(n).split('/')[-1]}.step_{n}"
            for n in range(jobs)
        ]

    def _table(self, n: int) -> str:
        area, rest = AREAS[n % len(AREAS)], n // len(AREAS)
        thing, rest = THINGS[rest % len(THINGS)], rest // len(THINGS)
        grain, rest = GRAINS[rest % len(GRAINS)], rest // len(GRAINS)
        word, rest = WORDS[rest % len(WORDS)], rest // len(WORDS)
        return f"{area}/{word}/{thing}{grain}" + (f"_{rest}" if rest else "")

    def events(self) -> Iterator[Event]:
        at = BEGAN.isoformat().replace("+00:00", "Z")
        for name, columns, description in zip(self.tables, self.columns, self.descriptions, strict=True):
            facets = {
                "schema": schema([(column, "string") for column in columns]),
                "documentation": facet("DocumentationDatasetFacet", description=description),
            }
            yield {
                "eventTime": at, "producer": PRODUCER, "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
                "dataset": {"namespace": STORE, "name": name, "facets": facets},
            }  # fmt: skip
        for n, name in enumerate(self.jobs):
            yield {
                "eventTime": at, "producer": PRODUCER, "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent",
                "job": {"namespace": NAMESPACE, "name": name, "facets": {}}, "inputs": [], "outputs": [bare(self.tables[n % len(self.tables)])],
            }  # fmt: skip

    def lines(self) -> Iterator[str]:
        yield from self.tables
        yield from self.jobs
        for columns, description in zip(self.columns, self.descriptions, strict=True):
            yield from columns
            yield description

    def questions(self, count: int, kinds: list[str]) -> list[Question]:
        chosen = random.Random(11)
        found = []
        for number in range(count):
            kind = kinds[number % len(kinds)]
            n = chosen.randrange(len(self.tables))
            name, wanted = self.tables[n], f"dataset:{STORE}:{self.tables[n]}"
            last = name.split("/")[-1]
            if kind == "exact":
                text = meant = name
            elif kind == "prefix":
                text = meant = name[: max(len(name) * 2 // 3, 6)]
            elif kind == "two words":
                text, meant = f"{name.split('/')[1]} {last}", name.split("/", 1)[1]
            elif kind == "typo":
                place = chosen.randrange(1, len(last) - 2)
                text, meant = last[:place] + last[place + 1] + last[place] + last[place + 2 :], last
            elif kind == "column":
                text = meant = chosen.choice(self.columns[n])
            elif kind == "description":
                text = meant = " ".join(self.descriptions[n].split()[2:4])
            else:
                job = self.jobs[chosen.randrange(len(self.jobs))]
                text = meant = job
                wanted = f"job:{NAMESPACE}:{job}"
            found.append(Question(kind, text, meant, wanted))
        return found


def limit(server: Server, names: Names, questions: list[Question]) -> dict[Question, float]:
    """Milliseconds of each question's words in one text column of all names, PostgreSQL's client included, HTTP not."""
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("create database physical_limit")
    url = psycopg.conninfo.make_conninfo(server.database_url, dbname="physical_limit")
    times = {}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create extension if not exists pg_trgm")
        connection.execute("create table names (name text not null)")
        with connection.cursor().copy("copy names from stdin") as copy:
            for line in names.lines():
                copy.write_row((line,))
        connection.execute("create index on names using gin (name gin_trgm_ops)")
        connection.execute("vacuum (analyze) names")
        for question in questions:
            began = time.perf_counter()
            pattern = f"%{question.meant}%".replace("_", r"\_")
            connection.execute("select name from names where name ilike %s limit 20", (pattern,)).fetchall()
            times[question] = (time.perf_counter() - began) * 1000
        connection.execute("drop table names")
    return times


def measure(datasets: int, jobs: int, count: int, kinds: list[str]) -> list[Row]:
    names = Names(datasets, jobs)
    questions = names.questions(count, kinds)
    with fresh() as server:
        began, waiting = time.perf_counter(), names.events()
        while part := list(islice(waiting, 10_000)):
            server.batches(encoded(part), 250)
        filled = (datasets + jobs) / (time.perf_counter() - began)
        server.settle()
        bound = limit(server, names, questions)
        paths = {question: f"/api/v2/search?q={quote(question.text, safe='')}" for question in questions}
        drive(server.port, [get(path) for path in islice(paths.values(), 20)])
        whole = drive(server.port, [get(paths[question]) for question in questions], keep=True)
    if whole.failed:
        sys.exit(f"search: {whole.statuses} {whole.last!r:.300}")
    outcomes = {kind: Outcome() for kind in kinds}
    found = dict.fromkeys(kinds, 0)
    for question, milliseconds, body in zip(questions, whole.milliseconds, whole.bodies, strict=True):
        outcomes[question.kind].milliseconds.append(milliseconds)
        found[question.kind] += any(hit["id"] == question.wanted for hit in msgspec.json.decode(body)["results"])
    slow = sorted(bound.values())
    of = f"{datasets:,} tables of 15 columns, {jobs:,} jobs"
    rows = [
        Row("filled", filled, "events/s", note=of),
        Row("search: median", whole.at(0.5), "ms", statistics.median(slow), note=f"{len(questions)} questions"),
        Row("search: p95", whole.at(0.95), "ms", slow[int(0.95 * (len(slow) - 1))], TARGET),
    ]
    for kind in kinds:
        mine = sorted(time_ for question, time_ in bound.items() if question.kind == kind)
        asked = sum(question.kind == kind for question in questions)
        note = f"median {outcomes[kind].at(0.5):.1f} ms; found {found[kind]} of {asked}"
        rows.append(
            Row(f"{kind}: p95", outcomes[kind].at(0.95), "ms", mine[int(0.95 * (len(mine) - 1))], TARGET, note=note)
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--datasets", type=int, default=60_000)
    parser.add_argument("--jobs", type=int, default=40_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--json", type=Path, default=HOME / "search.json", help="where the figures are written too")
    args = parser.parse_args()
    said(measure(args.datasets, args.jobs, args.questions, args.only or list(KINDS)), args.json)


if __name__ == "__main__":
    main()
