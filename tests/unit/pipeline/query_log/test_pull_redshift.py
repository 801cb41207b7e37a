"""Redshift's questions put to a real PostgreSQL that has its views as tables."""

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.pipeline.query_log.pull import source
from headwater.pipeline.query_log.pull.pulling import Asked, pull
from headwater.store.embedded import EmbeddedPostgres

NOW = dt.datetime(2026, 3, 1, 13, tzinfo=dt.UTC)
HISTORY = (
    "query_id bigint, user_id integer, query_label char(320), transaction_id bigint, session_id integer, database_name char(128), "
    "query_type char(32), status char(10), result_cache_hit boolean, start_time timestamp, end_time timestamp, elapsed_time bigint, "
    "queue_time bigint, error_message char(512), query_text char(4000), compute_type varchar(18), service_class_name char(64)"
)
LONG = "select '" + "x" * 250 + "'"


@pytest.fixture
def redshift(postgres: EmbeddedPostgres) -> Iterator[str]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("create schema redshift_like")
        connection.execute("set search_path to redshift_like")
        connection.execute(f"create table sys_query_history ({HISTORY})")
        connection.execute(
            "create table sys_query_text (query_id bigint, start_time timestamp, sequence integer, text char(200))"
        )
        yield postgres.url
        connection.execute("drop schema redshift_like cascade")


def test_history_and_texts_of_each_window_are_in_its_file(
    redshift: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        # Began before the window, ended in it.
        (1, "success", "2026-03-01 08:59", "2026-03-01 10:00"),
        (2, "failed", "2026-03-01 10:30", "2026-03-01 10:59:59.999999"),
        (3, "success", "2026-03-01 10:59", "2026-03-01 11:00"),
        (4, "running", "2026-03-01 10:10", None),
        (5, "running", "2026-03-01 10:10", "2026-03-01 10:20"),
    ]
    with psycopg.connect(redshift, options="-c search_path=redshift_like") as connection:
        user = connection.execute("select usesysid, usename from pg_user limit 1").fetchone()
        assert user
        for number, status, start, end in rows:
            connection.execute(
                "insert into sys_query_history (query_id, user_id, status, start_time, end_time, query_text, result_cache_hit) "
                "values (%s, %s, %s, %s, %s, %s, false)",
                (number, user[0] if number == 1 else -1, status, start, end, LONG[:40]),
            )
            for sequence in (1, 0):
                piece = LONG[200 * sequence : 200 * (sequence + 1)]
                connection.execute(
                    "insert into sys_query_text values (%s, %s, %s, %s)", (number, start, sequence, piece)
                )
    its = source("redshift")
    monkeypatch.setattr(
        its,
        "connect",
        lambda *_: psycopg.connect(redshift, options="-c search_path=redshift_like -c timezone=Asia/Tokyo"),
    )
    since = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)
    answer = pull(
        its,
        Asked(tmp_path, since, since + dt.timedelta(hours=2)),
        {},
        now=lambda: NOW,
        sleep=lambda _: None,
        tell=lambda _: None,
    )
    assert (answer.windows, answer.empty, answer.rows) == (2, 0, 9)
    found = {}
    for path in sorted(tmp_path.glob("*.gz")):
        found[path.name[18:20]] = [json.loads(text) for text in gzip.decompress(path.read_bytes()).splitlines()]
    ten = found["10"]
    assert sorted(one["query_id"] for one in ten if "status" in one) == [1, 2]
    (first,) = [one for one in ten if "status" in one and one["query_id"] == 1]
    assert (first["user_name"], first["start_time"]) == (user[1], "2026-03-01T08:59:00Z")
    assert first["result_cache_hit"] is False
    pieces = sorted((one["query_id"], one["sequence"], one["text"].rstrip()) for one in ten if "sequence" in one)
    assert [piece[:2] for piece in pieces] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert pieces[0][2] + pieces[1][2] == LONG
    assert {one["query_id"] for one in found["11"]} == {3}
