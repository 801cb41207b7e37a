"""The cost of a dbt project: `headwater sql` of one of many models, cold, and again after one model changed.

    python benchmarks/cases/sql-project/run.py [--models 1000] [--rounds 3]

The project is made: models of 20 columns that join two earlier ones, with common tables, stars and windows. Cold is a whole process; again is what
`--watch` does after a change: read the manifest, parse one model, resolve all.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from headwater.cli.sql.reading import Options, Reading

COLUMNS = [f"c{place}" for place in range(20)]


def body(place: int, drawn: random.Random) -> tuple[str, list[str]]:
    """Return the SQL of a model and the unique ids of what it reads."""
    if place < 100:
        listed = ", ".join(f"{name} as {name}" for name in COLUMNS)
        source = f"s{place % 20}"
        text = f'with source as (select * from "db"."raw"."{source}"),\nrenamed as (select {listed} from source)\nselect * from renamed'
        return text, [f"source.big.raw.{source}"]
    first, second = (drawn.randrange(max(0, place - 300), place) for _ in range(2))
    values = ", ".join(f"coalesce(a.{name}, b.{name}) as {name}" for name in COLUMNS[1:10])
    sums = ", ".join(f"sum(b.{name}) over (partition by a.c0 order by b.c1) as {name}" for name in COLUMNS[10:])
    text = (
        f'with a as (select * from "db"."m"."m{first}"),\nb as (select * from "db"."m"."m{second}"),\n'
        f"joined as (\n  select a.c0, {values}, {sums}\n  from a left join b on a.c0 = b.c0 and a.c1 > b.c1 where a.c2 is not null\n)\n"
        f"select * from joined where c{place % 20} > {place}"
    )
    return text, [f"model.big.m{first}", f"model.big.m{second}"]


def manifest(count: int) -> dict[str, Any]:
    drawn = random.Random(1)

    def named(schema: str, name: str) -> dict[str, Any]:
        relation = f'"db"."{schema}"."{name}"'
        return {"name": name, "schema": schema, "database": "db", "relation_name": relation, "package_name": "big"}

    sources = {
        f"source.big.raw.s{place}": named("raw", f"s{place}")
        | {
            "resource_type": "source",
            "source_name": "raw",
            "identifier": f"s{place}",
            "original_file_path": "models/s.yml",
        }
        for place in range(20)
    }
    nodes: dict[str, Any] = {}
    for place in range(count):
        text, reads = body(place, drawn)
        nodes[f"model.big.m{place}"] = named("m", f"m{place}") | {
            "resource_type": "model",
            "alias": f"m{place}",
            "original_file_path": f"models/m{place}.sql",
            "config": {"materialized": "table"},
            "language": "sql",
            "raw_code": text,
            "compiled_code": text,
            "depends_on": {"nodes": reads},
        }
    version = "https://schemas.getdbt.com/dbt/manifest/v12.json"
    metadata = {"dbt_schema_version": version, "project_name": "big", "adapter_type": "postgres"}
    return {"metadata": metadata, "nodes": nodes, "sources": sources}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.json"
        content = manifest(args.models)
        path.write_text(json.dumps(content))
        cold = []
        for _ in range(args.rounds):
            began = time.perf_counter()
            command = [sys.executable, "-m", "headwater", "sql", folder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            cold.append(time.perf_counter() - began)
        print(done.stdout.splitlines()[-1])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"cold, a whole process: {min(cold):.2f} s (best of {args.rounds}), peak {peak:,.0f} MiB")
        reading = Reading([folder], Options())
        list(reading.statements())
        again = []
        for turn in range(args.rounds):
            model = content["nodes"]["model.big.m5"]
            model["compiled_code"] = model["raw_code"] + f" where c1 > {turn}"
            path.write_text(json.dumps(content))
            began = time.perf_counter()
            reading.read_again([folder])
            list(reading.statements())
            again.append(time.perf_counter() - began)
        print(f"after one model changed: {min(again):.2f} s (best of {args.rounds})")


if __name__ == "__main__":
    main()
