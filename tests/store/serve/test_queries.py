"""Every query of every `.sql` file is prepared against the migrated schema, and has a name, a kind and a line of prose."""

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater import store
from headwater.store import sqlfile
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.limited import shadow_tables
from headwater.store.usage.measured import MEASUREMENTS

STORE = Path(str(store.__file__)).parent
FILES = sorted(
    file.relative_to(STORE / "queries").with_suffix("").as_posix() for file in (STORE / "queries").rglob("*.sql")
)
QUERIES = {f"{file}.{name}": query for file in FILES for name, query in sqlfile.load(file).items()} | {
    f"{measurement.table}.{measurement.statement.name}": measurement.statement for measurement in MEASUREMENTS
}
WRITES = re.compile(
    r"^\s*(insert|update|delete|truncate|lock|create|drop|alter|merge|vacuum|analyze)\b|\bfor (no key )?(update|share)\b",
    re.MULTILINE | re.IGNORECASE,
)
PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_prepares(postgres: EmbeddedPostgres, migrated: Any, query: sqlfile.Query) -> None:
    assert query.sql.startswith("-- "), "a line of prose says what the query answers"
    numbers: dict[str, int] = {}
    sql = PLACEHOLDER.sub(lambda match: f"${numbers.setdefault(match[1], len(numbers) + 1)}", query.sql).replace(
        "%%", "%"
    )
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"prepare q as {sql}".encode())


def test_reads_are_prepared_over_the_views_of_limited_readers(
    postgres: EmbeddedPostgres, migrated: Any, run: Any
) -> None:
    """A query that holds for a table may not hold for a view: a view has no primary key that the columns of a group depend on."""

    async def refused() -> dict[str, str]:
        found = {}
        async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as connection:
            await shadow_tables(connection)
            for name, query in QUERIES.items():
                if WRITES.search(query.sql):
                    continue
                numbers: dict[str, int] = {}
                sql = PLACEHOLDER.sub(lambda match: f"${numbers.setdefault(match[1], len(numbers) + 1)}", query.sql)  # noqa: B023
                try:
                    await connection.execute(f"prepare q as {sql.replace('%%', '%')}".encode())
                    await connection.execute("deallocate q")
                except psycopg.Error as error:
                    found[name] = str(error)
        return found

    assert run(refused()) == {}


def test_module_and_file_have_the_same_name() -> None:
    modules = {file.relative_to(STORE).with_suffix("").as_posix() for file in STORE.rglob("*.py")}
    assert len(FILES) > 40
    assert set(FILES) <= modules


def test_the_hot_walk_uses_its_indexes(database: Any, run: Any) -> None:
    """A walk step reads edges by dataset and reports by job, for tables of any size: no sequential scan of either."""
    query = sqlfile.load("lineage/edges")["live_at_datasets"]

    async def plan() -> str:
        async with database.transaction() as connection:
            await connection.execute("set local enable_seqscan = off")
            rows = await connection.execute("explain " + query.sql, {"ids": [], "direction": "in", "as_of": "infinity"})
            return "\n".join(row[0] for row in await rows.fetchall())

    text = run(plan())
    assert "Seq Scan on edges" not in text
    assert "Seq Scan on report_datasets" not in text
