"""Statements a second through the cache, on one core: shapes that come again with other literals, and texts that come again.

    python benchmarks/micro/cache.py --tpcds tpc-ds [--dialect spark] [--times 40]

The folder holds one statement in each *.sql, and schema.json if schemas are to be used (scripts/corpus makes it). Literals after a comparison
or BETWEEN change each time. Figures are CPU time: the median and the best of all times.
"""

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from headwater.columns.analysis import analyse
from headwater.columns.cache import Cache
from headwater.columns.catalog import Catalog
from headwater.columns.shape.key import cache_key

LITERAL = re.compile(r"(?P<before>[=<>]\s*|\bbetween\s+)(?:'[^'\n]*'|\d+\b)", re.IGNORECASE)


def changed(text: str, chance: random.Random) -> str:
    def other(found: re.Match[str]) -> str:
        value = chance.randrange(1, 10**6)
        return f"{found['before']}'{value}'" if found[0].endswith("'") else f"{found['before']}{value}"

    return LITERAL.sub(other, text)


def took(call: Callable[[str], object], texts: list[str]) -> float:
    began = time.process_time()
    for text in texts:
        call(text)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tpcds", type=Path, required=True)
    parser.add_argument("--dialect", default="spark")
    parser.add_argument("--times", type=int, default=40)
    asked = parser.parse_args()
    texts = [path.read_text(encoding="utf-8") for path in sorted(asked.tpcds.glob("*.sql"))]
    schemas = asked.tpcds / "schema.json"
    catalog = Catalog(json.loads(schemas.read_text(encoding="utf-8")) if schemas.exists() else {}, asked.dialect)
    chance = random.Random(0)
    cache = Cache()

    def cached(text: str) -> object:
        return cache.analyse(text, asked.dialect, catalog)

    rounds = [[changed(text, chance) for text in texts] for _ in range(asked.times)]
    figures = {
        "not cached": [took(lambda text: analyse(text, asked.dialect, catalog), texts) for _ in range(3)],
        "key alone": [took(lambda text: cache_key(text, asked.dialect), one) for one in rounds],
        "first time": [took(cached, texts)],
        "other literals": [took(cached, one) for one in rounds],
    }
    took(cached, texts)
    figures["same text"] = [took(cached, texts) for _ in range(asked.times)]
    for name, found in figures.items():
        median, best = len(texts) / statistics.median(found), len(texts) / min(found)
        print(f"{name}: {median:,.0f} statements/s, at best {best:,.0f}")


if __name__ == "__main__":
    main()
