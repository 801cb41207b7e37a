"""Queries of a real Trino, and what a connector pulls of them: `scripts/trino` starts the server and runs this."""

import datetime as dt
import sys
import time
from contextlib import closing
from typing import Any

from headwater.connectors import connector
from headwater.connectors.trino_tables import send_tables
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask
from headwater.pipeline.query_log.pull import source

QUERIES = {
    "create schema memory.shop": "FINISHED",
    "create table memory.shop.orders as select 1 as id, 'ann' as customer": "FINISHED",
    "create table memory.shop.report as select id, upper(customer) as customer from memory.shop.orders": "FINISHED",
    "create view memory.shop.latest as select * from memory.shop.report": "FINISHED",
    "select count(*) from memory.shop.latest": "FINISHED",
    "select * from memory.shop.nothing": "FAILED",
}


def main(port: str) -> None:
    began = dt.datetime.now(dt.UTC)
    run_queries(port)
    options, secrets = check_options(KINDS["trino"], {"host": "127.0.0.1", "port": port, "user": "headwater"})
    checks = list(connector("trino").test(ConnectorTask("test", "trino", "one", {**options, **secrets})))
    assert [(check.name, check.state) for check in checks] == [
        ("connect", "ok"),
        ("log", "ok"),
        ("definitions", "ok"),
    ], checks
    check_grants(port)
    check_tables(port)
    time.sleep(1)
    pulled = {one["metadata"]["query"]: one for one in pull(port, began) if one["context"]["user"] == "ann"}
    assert {text: one["metadata"]["queryState"] for text, one in pulled.items()} == QUERIES
    failed = pulled["select * from memory.shop.nothing"]
    assert failed["failureInfo"]["errorCode"] == {"name": "TABLE_NOT_FOUND", "type": "USER_ERROR"}
    assert all(one["context"]["source"] == "a-test" and one["createTime"] <= one["endTime"] for one in pulled.values())
    print(f"{len(pulled)} queries ran on a real Trino, and were pulled")


def check_grants(port: str) -> None:
    """`eve` may see no query but her own, by the rules of the server's access control: that is a grant that is missing."""
    options, _ = check_options(KINDS["trino"], {"host": "127.0.0.1", "port": port, "user": "eve"})
    checks = {check.name: check for check in connector("trino").test(ConnectorTask("test", "trino", "one", options))}
    assert (checks["log"].state, checks["queries"].state) == ("ok", "missing"), checks
    assert "allow eve to view the queries of all users" in str(checks["queries"].remedy)


def check_tables(port: str) -> None:
    sent: list[dict[str, Any]] = []
    environ = {"TRINO_HOST": "127.0.0.1", "TRINO_PORT": port, "TRINO_USER": "headwater"}
    now, before = dt.datetime.now(dt.UTC), {}
    with closing(source("trino").connect(environ, 60)) as connection:
        for turn in range(3):
            tables, before, warnings = send_tables(
                connection, "trino://here", before, now + dt.timedelta(days=turn), sent.append
            )
            assert (tables, warnings) == (3, [])
    assert {one["dataset"]["name"]: [field["name"] for field in one["dataset"]["facets"]["schema"]["fields"]] for one in sent} == {
        "memory.shop.orders": ["id", "customer"], "memory.shop.report": ["id", "customer"], "memory.shop.latest": ["id", "customer"],
    }  # fmt: skip
    assert len(sent) == 3, "what did not change is not sent again"


def run_queries(port: str) -> None:
    import trino

    with closing(trino.dbapi.connect(host="127.0.0.1", port=int(port), user="ann", source="a-test")) as connection:
        for text, end in QUERIES.items():
            try:
                connection.cursor().execute(text).fetchall()
            except trino.exceptions.TrinoUserError:
                assert end == "FAILED", text


def pull(port: str, since: dt.datetime) -> list[dict[str, Any]]:
    its, environ = source("trino"), {"TRINO_HOST": "127.0.0.1", "TRINO_PORT": port, "TRINO_USER": "headwater"}
    found = []
    with closing(its.connect(environ, 60)) as connection:
        for statement in its.statements(since, dt.datetime.now(dt.UTC), environ, frozenset()):
            cursor = connection.cursor()
            cursor.execute(statement.text, statement.parameters)
            names = [column[0] for column in cursor.description]
            found += [its.record(dict(zip(names, row, strict=True)), environ) for row in cursor.fetchall()]
    return found


if __name__ == "__main__":
    main(sys.argv[1])
