"""Queries of a real Trino, and what a connector pulls of them: `scripts/trino` starts the server and runs this."""

import datetime as dt
import sys
import time
from contextlib import closing
from typing import Any

from headwater.connectors import connector
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
    assert [(check.name, check.state) for check in checks[:3]] == [
        ("connect", "ok"),
        ("log", "ok"),
        ("definitions", "ok"),
    ], checks
    time.sleep(1)
    pulled = {one["metadata"]["query"]: one for one in pull(port, began) if one["context"]["user"] == "ann"}
    assert {text: one["metadata"]["queryState"] for text, one in pulled.items()} == QUERIES
    failed = pulled["select * from memory.shop.nothing"]
    assert failed["failureInfo"]["errorCode"] == {"name": "TABLE_NOT_FOUND", "type": "USER_ERROR"}
    assert all(one["context"]["source"] == "a-test" and one["createTime"] <= one["endTime"] for one in pulled.values())
    print(f"{len(pulled)} queries ran on a real Trino, and were pulled")


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
