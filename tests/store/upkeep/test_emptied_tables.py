"""No test finds rows of another: every table is emptied before each."""

from typing import Any

from tests.fixtures.postgres import EMPTIED, KEPT

TABLES = """
select relname from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
"""


def test_each_table_is_emptied_or_is_known_to_stay(database: Any, run: Any) -> None:
    async def read() -> set[str]:
        async with database.transaction() as connection:
            return {name for (name,) in await (await connection.execute(TABLES)).fetchall()}

    tables = run(read())
    assert tables - set(EMPTIED) - KEPT == set()
    assert tables >= KEPT
