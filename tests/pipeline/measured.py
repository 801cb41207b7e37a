"""Cases of the query log's measures: statements and daily rows written short, and the rows of a table that are expected of them."""

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StructField, StructType
from tests.fixtures.pipeline import rows_of

from headwater.pipeline.query_log import schema as S

CASES = Path(__file__).parents[1] / "cases" / "query_log" / "measures"
WAREHOUSE = "w"
# DAILY with the starts of its executions, whether or not it is declared so.
DAILY = StructType(
    [
        *(field for field in S.DAILY.schema.fields if field.name != "starts"),
        StructField("starts", ArrayType(LongType()), True),
    ]
)


def case(name: str) -> dict[str, Any]:
    return yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))


def named(text: str) -> tuple[str, str]:
    """`name`, or `namespace|name`."""
    namespace, _, name = text.rpartition("|")
    return namespace or WAREHOUSE, name


def statements(spark: SparkSession, told: dict[str, dict[str, Any]]) -> DataFrame:
    rows = [
        {
            "namespace": WAREHOUSE,
            "shape_id": shape,
            "place": "{}",
            "dialect": "postgres",
            "level": "full",
            "kind": "SELECT",
            "unresolved": 0,
            "temporary": False,
            **one,
            "reads": [named(name) for name in one.get("reads", [])],
            "writes": [named(name) for name in one.get("writes", [])],
        }
        for shape, one in told.items()
    ]
    return rows_of(spark, rows, S.STATEMENTS.schema)


def time(day: str, clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"{day}T{clock}:00+00:00")


def runs(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Daily rows. `run`: "shape kind actor"; `days`: one or several; `at`: "08:00" or "08:00-09:30"."""
    rows = []
    for one in told:
        given = dict(one)
        shape, kind, actor = given.pop("run").split()
        days = given.pop("days")
        first, _, last = given.pop("at", "08:00").partition("-")
        for day in days if isinstance(days, list) else [days]:
            rows.append(
                {
                    "source": "postgres",
                    "namespace": WAREHOUSE,
                    "dialect": "postgres",
                    "place": "{}",
                    "shape_id": None if shape == "-" else shape,
                    "actor": None if actor == "-" else actor,
                    "actor_kind": kind,
                    "executions": 1,
                    "failures": 0,
                    "last_query_id": "q",
                    **{name: measure(name, value) for name, value in given.items()},
                    "day": dt.date.fromisoformat(str(day)),
                    "first_at": time(str(day), first),
                    "last_at": time(str(day), last or first),
                }
            )
    return rows


def measure(name: str, value: Any) -> Any:
    """A value as the type that its column has."""
    if value is None or not name.endswith("_ms"):
        return float(value) if value is not None and name in {"money", "credits"} else value
    return Decimal(str(value))


def daily(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return rows_of(spark, rows, DAILY)


def cut(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The same executions in other rows: each row in up to three, in another order. Sums stay the same."""
    chance = random.Random(seed)
    pieces: list[dict[str, Any]] = []
    for row in rows:
        count = chance.randint(1, min(3, row["executions"]))
        parts = [dict(row, executions=row["executions"] // count, failures=0) for _ in range(count)]
        parts[0]["executions"] += row["executions"] % count
        left = row["failures"]
        for part in parts:
            part["failures"] = min(left, part["executions"])
            left -= part["failures"]
            part["first_at"] = part["last_at"] = chance.choice([row["first_at"], row["last_at"]])
        # First and last are of those that did something, if any did.
        working = next((part for part in parts if part["failures"] < part["executions"]), parts[0])
        working["first_at"], working["last_at"] = row["first_at"], row["last_at"]
        for name in ("money", "credits", "bytes_billed", "slot_ms", "duration_ms"):
            if row.get(name) is not None:
                whole = Decimal(str(row[name]))
                exact = name in {"money", "credits"} or name.endswith("_ms")
                shares = [whole / 4 if exact else Decimal(int(whole) // 4) for _ in parts[1:]]
                for part, share in zip(parts, [whole - sum(shares), *shares], strict=True):
                    part[name] = measure(
                        name, share if name in {"money", "credits"} or name.endswith("_ms") else int(share)
                    )
        pieces += parts
    chance.shuffle(pieces)
    return pieces


def seen(table: DataFrame, wanted: list[dict[str, Any]], keys: tuple[str, ...]) -> dict[Any, dict[str, Any]]:
    """The rows by key, of the columns that any of the `wanted` names, as they would be written in a case."""
    columns = sorted({name for row in wanted for name in row})
    return {
        tuple(row[key] for key in keys): {name: plain(row[name]) for name in columns}
        for row in table.select(*{*columns, *keys}).collect()
    }


def expected(wanted: list[dict[str, Any]], keys: tuple[str, ...]) -> dict[Any, dict[str, Any]]:
    columns = sorted({name for row in wanted for name in row})
    return {
        tuple(row[key] for key in keys): {name: _written(name, row.get(name)) for name in columns} for row in wanted
    }


def _written(name: str, value: Any) -> Any:
    """Milliseconds are decimals, which `plain` writes as text."""
    return str(value) if name.endswith("_ms") and value is not None else value


def plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, dt.datetime):
        # Collected times are of this process's zone.
        return value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {name: plain(one) for name, one in value.asDict().items()} if hasattr(value, "asDict") else value
