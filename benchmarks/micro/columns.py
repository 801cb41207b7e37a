"""The cost of the column engine: TPC-DS and TPC-H, two big statements, and the growth of time with size.

    python benchmarks/micro/columns.py [--rounds 5] [--pure PYTHON] [--only speed big growth memory] [--json FILE]

CPU time, the best of --rounds. The texts come from scripts/corpus. `--pure` is a Python whose environment has headwater's requirements without
sqlglotc: the same figures are then taken there too, in turn. Every ratio is of one run.
"""

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlglot
import sqlglot.parser
from sqlglot.dialects.dialect import Dialect

from headwater.columns import Catalog, Session, analyse, resolve
from headwater.columns.dialect import rules
from headwater.columns.lowering.statement import lower_statement
from headwater.columns.resolving.flows import outcome

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / ".tools" / "corpus"
DIALECT = os.environ.get("COLUMNS_DIALECT", "spark")
PARSER = Dialect.get_or_raise(DIALECT or None)


def texts(suite: str) -> list[str]:
    found = [path.read_text(encoding="utf-8") for path in sorted((CORPUS / suite).glob("*.sql"))]
    if not found:
        sys.exit("the TPC texts are missing: run scripts/corpus")
    return found


def catalog(suite: str) -> Catalog:
    return Catalog(json.loads((CORPUS / suite / "schema.json").read_text(encoding="utf-8")), DIALECT)


def seconds(work: Callable[[], object], rounds: int) -> float:
    """CPU time of the best of `rounds`, after one that is not counted. What this script holds is no part of what is collected."""
    work()
    gc.collect()
    gc.freeze()
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def parsed(text: str) -> Any:
    return PARSER.parser().parse(PARSER.tokenize(text), text)[0]


# --- speed on the TPC queries


def speed(rounds: int) -> dict[str, float]:
    queries, schemas = texts("tpc-ds"), catalog("tpc-ds")
    rule = rules(DIALECT)
    trees = [parsed(text) for text in queries]
    forms = [lower_statement(tree, rule) for tree in trees]
    statements = [statement for text in queries for statement in analyse(text, DIALECT)]
    count = len(queries)
    found = {
        name: count / seconds(work, rounds)
        for name, work in {
            "tokenise, statements/s": lambda: [PARSER.tokenize(text) for text in queries],
            "tokenise and parse, statements/s": lambda: [parsed(text) for text in queries],
            "analyse with schemas, statements/s": lambda: [analyse(text, DIALECT, schemas) for text in queries],
            "analyse without schemas, statements/s": lambda: [analyse(text, DIALECT) for text in queries],
            "resolve again from the form, statements/s": lambda: [resolve(one, schemas) for one in statements],
        }.items()
    }
    found |= {
        name: 1000 * seconds(work, rounds)
        for name, work in {
            "all 99: parse, ms": lambda: [parsed(text) for text in queries],
            "all 99: lower, ms": lambda: [lower_statement(tree, rule) for tree in trees],
            "all 99: resolve, ms": lambda: [outcome(one, schemas, Session()) for one in forms],
        }.items()
    }
    found["analyse TPC-H with schemas, statements/s"] = speed_of("tpc-h", rounds)
    return found | repeated(queries, schemas, rounds)


def speed_of(suite: str, rounds: int) -> float:
    queries, schemas = texts(suite), catalog(suite)
    return len(queries) / seconds(lambda: [analyse(text, DIALECT, schemas) for text in queries], rounds)


def changed(text: str, turn: int) -> str:
    """The query with other numbers where two or more digits stand alone."""
    return re.sub(r"(?<![\w.'])\d{2,}(?![\w.'])", lambda found: str(int(found[0]) + turn), text)


def repeated(queries: list[str], schemas: Catalog, rounds: int) -> dict[str, float]:
    """Fingerprints, and shapes that come again, as far as this version has them."""
    found: dict[str, float] = {}
    try:
        from headwater.columns.shape.fingerprint import fingerprint
    except ImportError:
        return found
    found["fingerprint, statements/s"] = len(queries) / seconds(
        lambda: [fingerprint(text, DIALECT) for text in queries], rounds
    )
    try:
        from headwater.columns.cache import Cache
    except ImportError:
        return found
    many = [changed(text, turn) for turn in range(40) for text in queries]

    def cached() -> None:
        cache = Cache()
        for text in many:
            cache.analyse(text, DIALECT, schemas)

    found["the same shapes 40 times, cached, statements/s"] = len(many) / seconds(cached, max(1, rounds // 3))
    return found


# --- big statements


def statement_a() -> str:
    """CREATE TABLE AS with the first 60 TPC-DS queries that can stand as CTEs, joined on nothing."""
    chosen = texts("tpc-ds")[:60]
    ctes = ",\n".join(f"q{place} AS (\n{text.strip()}\n)" for place, text in enumerate(chosen))
    stars = ", ".join(f"q{place}.*" for place in range(len(chosen)))
    return f"CREATE TABLE big AS WITH {ctes}\nSELECT {stars} FROM " + " CROSS JOIN ".join(
        f"q{place}" for place in range(len(chosen))
    )


def statement_b(depth: int = 60, width: int = 20) -> str:
    """Chained CTEs, every column of which is made of two of the CTE before."""
    ctes = ["c0 AS (SELECT " + ", ".join(f"t.a{place}" for place in range(width)) + " FROM t WHERE t.a0 > 1)"]
    for number in range(1, depth):
        columns = ",\n  ".join(f"a{place} + a{(place + 1) % width} AS a{place}" for place in range(width))
        ctes.append(f"c{number} AS (\n SELECT {columns}\n FROM c{number - 1}\n WHERE a{number % width} > {number})")
    return "CREATE TABLE big AS WITH " + ",\n".join(ctes) + f"\nSELECT * FROM c{depth - 1}"


def big(rounds: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, text, known in (
        ("A", statement_a(), catalog("tpc-ds")),
        ("B", statement_b(), Catalog({"t": [f"a{place}" for place in range(20)]}, DIALECT)),
    ):
        (statement,) = analyse(text, DIALECT, known)
        parsing = seconds(lambda text=text: parsed(text), rounds)  # type: ignore[misc]
        whole = seconds(lambda text=text, known=known: analyse(text, DIALECT, known), rounds)  # type: ignore[misc]
        found[name] = {
            "lines": text.count("\n") + 1,
            "kilobytes": round(len(text) / 1024),
            "outputs": len(statement.flows[0].columns),
            "full": float(statement.level.value == "full"),
            "parse_ms": parsing * 1000,
            "analyse_ms": whole * 1000,
            "ratio": whole / parsing,
        }
    return found


# --- growth


def lines(count: int) -> str:
    return "SELECT " + ",\n".join(f"t.a{place % 50} + {place} AS x{place}" for place in range(count)) + "\nFROM t"


def depth(count: int) -> str:
    parts = ["c0 AS (SELECT a0, a1 FROM t)"]
    parts += [f"c{n} AS (SELECT a0 + a1 AS a0, a1 FROM c{n - 1} WHERE a0 > {n})" for n in range(1, count)]
    return "WITH " + ",\n".join(parts) + f"\nSELECT * FROM c{count - 1}"


def union(count: int) -> str:
    return "\nUNION ALL ".join(f"SELECT a{place % 50} AS x, a1 AS y FROM t" for place in range(count))


def terms(operator: str) -> Callable[[int], str]:
    def made(count: int) -> str:
        return "SELECT a0 FROM t WHERE " + f"\n{operator} ".join(f"a{place % 50} = {place}" for place in range(count))

    return made


def members(count: int) -> str:
    return "SELECT a0 FROM t WHERE a1 IN (" + ", ".join(str(place) for place in range(count)) + ")"


def joins(count: int) -> str:
    joined = "\n".join(f"JOIN t AS t{place} ON t{place}.a0 = t{place - 1}.a1" for place in range(1, count))
    return f"SELECT t0.a0, t{count - 1}.a1 AS b FROM t AS t0\n{joined}"


def branches(count: int) -> str:
    whens = "\n".join(f"WHEN a{place % 50} = {place} THEN a{(place + 1) % 50}" for place in range(count))
    return f"SELECT CASE {whens} END AS x FROM t"


def nested(count: int) -> str:
    return "SELECT " + "abs(" * count + "a0" + ")" * count + " AS x FROM t"


def statements(count: int) -> str:
    return ";\n".join(f"INSERT INTO u{place % 10} SELECT a0, a1 FROM t WHERE a2 = {place}" for place in range(count))


GROWTH: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "lines and outputs": (lines, (10, 100, 1_000, 10_000)),
    "CTE depth": (depth, (10, 100, 300)),
    "UNION branches": (union, (10, 100, 1_000)),
    "AND terms": (terms("AND"), (10, 100, 1_000, 10_000)),
    "OR terms": (terms("OR"), (10, 100, 1_000, 10_000)),
    "IN list": (members, (10, 100, 1_000, 10_000)),
    "JOINs": (joins, (10, 50, 100, 200)),
    "CASE branches": (branches, (10, 100, 1_000)),
    "function depth": (nested, (10, 50, 100, 200)),
    "statements": (statements, (10, 100, 1_000)),
}


def growth(rounds: int) -> dict[str, list[dict[str, float | str]]]:
    known = Catalog({"t": [f"a{place}" for place in range(50)]}, DIALECT)
    found = {}
    for name, (make, sizes) in GROWTH.items():
        rows: list[dict[str, float | str]] = []
        for size in sizes:
            text = make(size)
            statement = analyse(text, DIALECT, known)[-1]
            took = seconds(lambda text=text: analyse(text, DIALECT, known), min(rounds, 3))  # type: ignore[misc]
            said = "; ".join(statement.warnings)[:60]
            row: dict[str, float | str] = {
                "size": size,
                "milliseconds": took * 1000,
                "level": statement.level.value,
                "said": said,
            }
            row["each_µs"] = took / size * 1e6
            rows.append(row)
        found[name] = rows
    return found


# --- memory


def memory() -> dict[str, float]:
    known = catalog("tpc-ds")
    found = {}
    for name, text in (("A", statement_a()), ("10,000 lines", lines(10_000))):
        analyse("SELECT 1", DIALECT, known)
        tracemalloc.start()
        analyse(text, DIALECT, known)
        found[f"{name}, peak MiB of Python objects"] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return found


def taken(only: list[str], rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "parser": "compiled" if sqlglot.parser.__file__.endswith(".so") else "pure",
        "version": sqlglot.__version__,
    }
    for name, take in {"speed": speed, "big": big, "growth": growth}.items():
        if name in only:
            found[name] = take(rounds)
    if "memory" in only:
        found["memory"] = memory()
    return found


def said(found: dict[str, Any]) -> None:
    print(f"== sqlglot {found['version']}, {found['parser']}")
    for name, value in found.get("speed", {}).items():
        print(f"{name}: {value:,.1f}")
    for name, row in found.get("big", {}).items():
        print(
            f"statement {name}, {row['lines']:.0f} lines, {row['kilobytes']:.0f} KB, {row['outputs']:.0f} outputs: parse {row['parse_ms']:.1f} ms, "
            f"analyse {row['analyse_ms']:.1f} ms, {row['ratio']:.2f} times the parse{'' if row['full'] else ', NOT FULL'}"
        )
    for name, rows in found.get("growth", {}).items():
        print(f"{name}:")
        for row in rows:
            note = "" if row["level"] == "full" else f"  {row['level']}: {row['said']}"
            print(f"  {row['size']:>6}  {row['milliseconds']:9.2f} ms  {row['each_µs']:8.1f} µs each{note}")
    for name, value in found.get("memory", {}).items():
        print(f"{name}: {value:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["speed", "big", "growth", "memory"])
    parser.add_argument("--pure", help="a Python without sqlglotc")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    every = [taken(args.only, args.rounds)]
    said(every[0])
    if args.pure:
        command = [args.pure, __file__, "--rounds", str(args.rounds), "--json", "/dev/stdout", "--only", *args.only]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        every += json.loads(done.stdout[done.stdout.index("[\n") :])
        said(every[-1])
    if args.json:
        args.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
