"""Parts that a review calls needless, left out in a real PostgreSQL whose tables have the facts: rows and types stay the same."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.unit.columns.test_proven_queries import DISTINCT, SAME

from headwater.store.embedded import EmbeddedPostgres

TABLES = """
create schema shop;
create table shop.customers (id int unique, name text not null, is_new boolean, number int);
create table shop.orders (
  id int unique not null, code text unique, customer int not null references shop.customers (id), courier int,
  status text not null check (status in ('new', 'sent')), level int check (level = 1), amount int, a int, other text
);
insert into shop.customers select n, 'c' || n % 7, n % 3 = 0, n from generate_series(1, 20) n;
insert into shop.customers values (null, 'first', true, 4), (null, 'none', null, 5);
insert into shop.orders select n, case when n % 4 > 0 then 'k' || n end, 1 + n * 7 % 20, nullif(n % 5, 0),
  case when n % 3 = 0 then 'sent' else 'new' end, nullif(n % 2, 0), n % 6, nullif(n % 4, 1), nullif('o' || n % 3, 'o1')
from generate_series(1, 60) n;
"""


@pytest.fixture
def connection(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.url) as connection:
        connection.execute(TABLES.encode())
        yield connection
        connection.rollback()


@pytest.mark.parametrize("pair", [*SAME, (DISTINCT, DISTINCT.replace("distinct ", ""))], ids=lambda pair: pair[0])
def test_rows_and_types_stay(connection: psycopg.Connection[Any], pair: tuple[str, str]) -> None:
    results = []
    for text in pair:
        cursor = connection.execute(text.encode())
        results.append((Counter(cursor.fetchall()), [(one.name, one.type_code) for one in cursor.description or ()]))
    assert results[0][0].total() > 0
    assert results[0] == results[1]
