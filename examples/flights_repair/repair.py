"""Ten hours of weather were wrong. Find what was made from them, make only that again, and prove that no other instance was needed.

    python examples/flights_repair/repair.py FOLDER
    python examples/flights_repair/repair.py FOLDER --months 2 3 4 10 11 12   # those in which something is wrong, and the month before

Needs a server (`headwater up`) and talks to it over HTTP. The file also shows how small a worker for plans can be.
"""

import argparse
import json
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tables import ENTITIES, Tables

from headwater.client.ask import ask

HERE = Path(__file__).parent
STUCK = {
    "the night of 10 March, in which clocks go forward": ("2013-03-09T19-05:00", "2013-03-10T05-04:00"),
    "the night of 3 November, in which they go back": ("2013-11-03T01-04:00", "2013-11-03T09-05:00"),
}


class Server:
    """The questions and reports of this story."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: Any) -> Any:
        return json.loads(ask(self.url, f"/api/v2/{path}", method="POST", body=json.dumps(body).encode(), timeout=120))

    def get(self, path: str, **params: Any) -> Any:
        return json.loads(ask(self.url, f"/api/v2/{path}", params, timeout=120))

    def produced(self, entity: str, made: dict[str, str], code: str) -> None:
        """Say what was made, and what it holds."""
        reports = [
            {"entity": entity, "what": "produced", "instances": [key], "fingerprint": content, "code": code}
            for key, content in sorted(made.items())
        ]
        for start in range(0, len(reports), 2000):
            answer = self.post("instances", {"reports": reports[start : start + 2000]})
            refused = [one["refused"] for one in answer["results"] if one.get("refused")]
            assert not refused, refused[:3]


def build(tables: Tables) -> dict[str, dict[str, str]]:
    """Every instance of every entity."""
    return {entity: tables.make(entity) for entity in ENTITIES}


def one_by_one(server: Server, entity: str, instances: list[str]) -> list[str]:
    """The instances of these texts, one by one, as the server counts them: `2013-03-09..2013-03-10` are two days."""
    told = server.get(f"entities/{entity}/periods", instances=instances, limit=10_000)
    return [one["instance"] for one in told["periods"]]


def worked_off(server: Server, plan: str, tables: Tables) -> tuple[dict[str, list[str]], int]:
    """Do what a plan asks for until there is nothing left; what was made, by entity, and how many items turned out not to be needed."""
    server.post(f"plans/{plan}/apply", {})
    made: dict[str, list[str]] = {}
    skipped = 0
    while True:
        work = server.post(f"plans/{plan}/take", {"worker": "repair.py", "limit": 1000})
        skipped += work["skipped"]
        if not work["items"]:
            assert work["state"] == "done", work["state"]
            return made, skipped
        by_entity: dict[str, list[str]] = {}
        for item in work["items"]:
            for one in item["makes"]:
                by_entity.setdefault(one["entity"], []).extend(one["instances"])
        for entity, texts in by_entity.items():
            keys = one_by_one(server, entity, texts)
            server.produced(entity, tables.make(entity, keys), "right")
            made.setdefault(entity, []).extend(keys)
        for item in work["items"]:
            ended = server.post(f"plans/{plan}/items/{item['number']}/end", {"attempt": item["attempt"]})
            assert ended["item"] == "done", ended


def written(root: Path) -> dict[str, int]:
    """Return the time at which each file of the tables was written."""
    return {
        str(path.relative_to(root)): path.stat().st_mtime_ns
        for path in root.rglob("*.parquet")
        if "raw" not in path.parts
    }


def main(root: Path, url: str, months: Collection[int]) -> None:
    server = Server(url)
    spark = (
        SparkSession.builder.appName("flights_repair")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "4")
        .getOrCreate()
    )
    files = [{"name": "entities.yaml", "text": (HERE / "entities.yaml").read_text(encoding="utf-8")}]
    print(f"{server.post('entities', {'files': files})['entities']} entities declared")
    stuck = {why: one_by_one(server, "weather", ["..".join(ends)]) for why, ends in STUCK.items()}

    began = time.monotonic()
    broken = Tables(spark, root / "tables", months, [hour for some in stuck.values() for hour in some])
    before = build(broken)
    for entity, made in before.items():
        server.produced(entity, made, "stuck")
    count = sum(len(made) for made in before.values())
    print(
        f"{count:,} instances made in {time.monotonic() - began:.0f} s, with {sum(map(len, stuck.values()))} hours of weather wrong"
    )

    right = Tables(spark, root / "tables", months)
    for why, some in stuck.items():
        files_before = written(root / "tables")
        opened = server.post(
            "incidents", {"wrong": [{"entity": "weather", "instances": some}], "reason": f"stuck sensor, {why}"}
        )
        print(f"\n{why}: {len(some)} hours")
        for hit in opened["hits"]:
            print(f"  {hit['entity']:15} {hit['count']:3}  {', '.join(hit['instances'])}")
        server.post(f"incidents/{opened['id']}/fix", {"note": "the sensor was replaced, the reports were loaded again"})
        plan = server.post("plans", {"incident": opened["id"], "reason": why})
        began = time.monotonic()
        made, skipped = worked_off(server, plan["id"], right)
        left = server.get(f"incidents/{opened['id']}")["incident"]["wrong"]
        runs = sum(map(len, made.values()))
        print(
            f"  {runs} instances made again in {time.monotonic() - began:.0f} s, {skipped} items not needed, {left} wrong still"
        )
        touched = {path for path, at in written(root / "tables").items() if files_before.get(path) != at}
        allowed = {
            f"{entity}/part={key[:10] if entity == 'weather' else key}" for entity, keys in made.items() for key in keys
        }
        assert not left
        assert {str(Path(path).parent) for path in touched} <= allowed, "something else was written"

    whole = build(Tables(spark, root / "rebuilt", months))
    after = {entity: right.fingerprints(entity) for entity in ENTITIES}
    assert after == whole, "the repaired tables differ from those made anew"
    changed = {
        entity: sum(before[entity][key] != content for key, content in made.items()) for entity, made in whole.items()
    }
    print(f"\nequal to a full rebuild, instance by instance ({count:,}); what had been wrong: {changed}")
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(".flights_repair"))
    parser.add_argument("--months", nargs="+", type=int, default=range(1, 13), help="of 2013; default: all")
    given = parser.parse_args()
    main(given.folder, os.environ.get("HEADWATER_URL", "http://127.0.0.1:5000"), given.months)
