"""A database that answers and takes no writes: events get 503, and the server is not ready until they are taken again."""

from typing import Any

import psycopg
import pytest
from tests.events import encoded, run_event

from headwater.store.embedded import EmbeddedPostgres

DISK_FULL = """
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
create trigger refuse before insert on events for each row execute function refuse();
create function refuse_ddl() returns event_trigger language plpgsql as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
create event trigger refuse_ddl on ddl_command_start execute function refuse_ddl();
"""
SPACE_AGAIN = "drop event trigger refuse_ddl; drop trigger refuse on events; drop function refuse, refuse_ddl"


def post(server: Any, number: int) -> int:
    body = encoded(run_event("COMPLETE", number, "job", ["/in"], ["/out"]))
    return server.post("/api/v1/lineage", content=body, headers={"content-type": "application/json"}).status_code


@pytest.mark.parametrize(
    ("begin", "end", "reason"),
    [
        (DISK_FULL, SPACE_AGAIN, "disk is full"),
        (
            "alter system set default_transaction_read_only = on; select pg_reload_conf()",
            "alter system reset default_transaction_read_only; select pg_reload_conf()",
            "is read-only",
        ),
    ],
    ids=["full", "read-only"],
)
def test_not_ready_until_it_can_be_written(
    served: Any, postgres: EmbeddedPostgres, begin: str, end: str, reason: str
) -> None:
    server = served()

    def execute(statements: str) -> None:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("set default_transaction_read_only = off")
            for statement in statements.split("; ") if "function" not in statements else [statements]:
                connection.execute(statement.encode())

    assert post(server, 1) == 201
    execute(begin)
    try:
        while post(server, 2) != 503:
            pass  # a reload reaches a connection with its next statement
        while (ready := server.get("/readyz")).status_code != 503:
            pass  # so does it another one
        assert reason in ready.json()["reason"]
        assert server.get("/healthz").status_code == 200
        assert server.get("/api/v2/status").status_code == 200
    finally:
        execute(end)
    while server.get("/readyz").status_code != 200:
        pass
    assert post(server, 2) == 201
    assert server.get("/readyz").status_code == 200
