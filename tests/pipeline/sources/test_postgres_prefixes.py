"""Text logs of a real PostgreSQL under the `log_line_prefix` of many servers: each statement is read whole with its time, or the reader says why not."""

import datetime as dt
import re
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from headwater.pipeline.query_log.sources import source
from headwater.store.embedded import EmbeddedPostgres

pytestmark = pytest.mark.spark

SETTINGS = "logging_collector = on\nlog_destination = 'stderr'\nlog_directory = 'text'\nlog_filename = 'first.log'\nlog_timezone = 'UTC'\n"
STATEMENTS = (
    "select 1 as one,\n  'LOG:  duration: 1 ms  statement: no' as two\n\nfrom (select 1) t",
    "select * from nowhere",
    "create table made as select 2 as two",
)


class Prefix(NamedTuple):
    """`actor`: the user and database are in it, in a form that is known. `session`: the process is."""

    text: str
    actor: bool = True
    session: bool = True


PREFIXES = {
    "postgres": Prefix("%m [%p] ", actor=False),
    "debian": Prefix("%m [%p] %q%u@%d "),
    "pgbadger": Prefix("%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h "),
    "pgbadger_time_later": Prefix("[%p]: [%l-1] user=%u,db=%d,app=%a,client=%h %t "),
    "rds": Prefix("%t:%r:%u@%d:[%p]:"),
    "cloudsql": Prefix("%m [%p]: [%l-1] db=%d,user=%u "),
    "azure": Prefix("%t-%c-", actor=False),
    "heroku": Prefix("[%p] %m ", actor=False),
    "epoch": Prefix("%n [%p] user=%u database=%d "),
    "angles": Prefix("< %m >[%p] %u@%d "),
    "brackets": Prefix("[%m] [%p] [%u@%d] "),
    "quoted": Prefix('%m pid=%p user="%u" db="%d" '),
    "host_first": Prefix("%h %m [%p] user=%u,db=%d "),
    "user_first": Prefix("user=%u,db=%d,pid=%p %m "),
    "session_id": Prefix("%m %c %l user=%u db=%d "),
    "start_of_session_before": Prefix("%s %m [%p] user=%u,db=%d "),
    "no_process": Prefix("%m user=%u,db=%d ", session=False),
}
UNREADABLE = {"empty": "", "no_time": "[%p] %u@%d "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for each prefix, with the statements of ann in the database shop."""
    home = tmp_path_factory.mktemp("prefixes")
    EmbeddedPostgres(home / "postgres").stop()
    with (home / "postgres" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    server = EmbeddedPostgres(home / "postgres")
    try:
        with psycopg.connect(server.url, autocommit=True) as root:
            root.execute("create role ann login superuser")
            root.execute("create database shop")
            root.execute("alter role ann set log_min_duration_statement = 0")
            for name, prefix in {**PREFIXES, **{name: Prefix(text) for name, text in UNREADABLE.items()}}.items():
                for setting, value in (("log_line_prefix", prefix.text), ("log_filename", f"{name}.log")):
                    root.execute(f"alter system set {setting} = '{value}'")
                root.execute("select pg_reload_conf(), pg_sleep(0.1)")
                root.execute("select pg_rotate_logfile(), pg_sleep(0.3)")
                with psycopg.connect(server.url, user="ann", dbname="shop", autocommit=True) as connection:
                    for statement in STATEMENTS:
                        try:
                            connection.execute(statement)
                        except psycopg.errors.UndefinedTable:
                            continue
                    connection.execute("drop table made")
    finally:
        server.stop()
    return home / "postgres" / "text"


@pytest.mark.parametrize("name", PREFIXES)
def test_each_statement_is_read_whole(spark: Any, folder: Path, name: str) -> None:
    read = source("postgres").read(spark, [str(folder / f"{name}.log")], "postgres://db:5432")
    rows = sorted(read.rows.collect(), key=lambda row: (row["started_at"], row["query_id"]))
    prefix = PREFIXES[name]
    words = [re.sub(r"\s+", " ", row["statement"]) for row in rows]
    assert sorted(words) == sorted([*(re.sub(r"\s+", " ", text) for text in STATEMENTS), "drop table made"])
    assert {word: row["state"] for word, row in zip(words, rows, strict=True) if row["state"] != "succeeded"} == {
        "select * from nowhere": "failed"
    }
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    assert all(abs(now - row["started_at"]) < dt.timedelta(hours=1) for row in rows)
    assert {(row["user"], row["database"]) for row in rows} == ({("ann", "shop")} if prefix.actor else {(None, None)})
    assert len({row["session_id"] for row in rows}) == (1 if prefix.session else len(rows))
    assert len({row["query_id"] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", UNREADABLE)
def test_lines_without_a_time_are_none_that_can_be_used_and_say_what_to_do(spark: Any, folder: Path, name: str) -> None:
    read = source("postgres").read(spark, [str(folder / f"{name}.log")], "postgres://db:5432")
    assert read.rows.count() == 0
    reasons = {row["reason"] for row in read.bad.where("code = 'no_time'").collect()}
    assert len(reasons) == 1
    assert "log_line_prefix = '%m [%p] %q%u@%d '" in reasons.pop()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nov 27 10:00:00 db1 postgres[123]: [4-1] LOG:  duration: 1.0 ms  statement: select 1\nNov 27 10:00:00 db1 postgres[123]: [4-2] #011from t\n",
         ("no_time", "from syslog")),
        ("2026-11-27T10:00:00.5+00:00 db1 postgres[123]: [4-1] LOG:  statement: select 1\n", ("no_time", "from syslog")),
        ("10.0.0.1 - - [27/Nov/2026:10:00:00] GET /index.html 200\n10.0.0.1 - - [27/Nov/2026:10:00:01] GET / 200\n",
         ("bad_row", "not of its file's format")),
        ("2026-11-27 10:00:00 starting\n2026-11-27 10:00:01 started\n", ("bad_row", "not of its file's format")),
    ],
)  # fmt: skip
def test_text_that_is_none_of_postgresqls_own_is_never_skipped_in_silence(
    spark: Any, tmp_path: Path, text: str, expected: tuple[str, str]
) -> None:
    (tmp_path / "x.log").write_text(text, encoding="utf-8")
    read = source("postgres").read(spark, [str(tmp_path / "x.log")], "postgres://db:5432")
    assert read.rows.count() == 0
    told = {(row["code"], row["reason"]) for row in read.bad.collect()}
    assert {code for code, _ in told} == {expected[0]}
    assert all(expected[1] in reason for _, reason in told)


def test_lines_of_a_container_may_have_lost_their_tabs(spark: Any, tmp_path: Path) -> None:
    """A collector that trims lines, and one that puts its own time before them; the time of the session's beginning is not the line's."""
    (tmp_path / "trimmed.log").write_text(
        "2026-11-27 10:00:00.000 UTC [7] ann@shop LOG:  duration: 1.0 ms  statement: select a\nfrom t\n"
        "2026-11-27T10:00:01.123Z stderr F 2026-11-27 10:00:01.000 UTC [7] ann@shop LOG:  duration: 1.0 ms  statement: select b from u\n",
        encoding="utf-8",
    )
    (tmp_path / "began.log").write_text(
        "2026-11-26 08:00:00 UTC 2026-11-27 10:00:02.000 UTC [7] ann@shop LOG:  duration: 1000.0 ms  statement: select c\n",
        encoding="utf-8",
    )
    read = source("postgres").read(spark, [str(tmp_path)], "postgres://db:5432")
    rows = read.rows.orderBy("started_at").collect()
    assert [(row["statement"], row["user"], f"{row['started_at']:%H:%M:%S}") for row in rows] == [
        ("select a\nfrom t", "ann", "09:59:59"), ("select b from u", "ann", "10:00:00"),
        ("select c", "ann", "10:00:01"),
    ]  # fmt: skip
