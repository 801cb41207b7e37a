"""Servers that tell people are killed and doubled: each message is sent, and sent once."""

import datetime as dt
import json
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.events import dataset, encoded, facet, run_event
from tests.fixtures.processes import Process
from tests.mailbox import mailbox, silent
from tests.receiver import waited

from headwater.store.embedded import EmbeddedPostgres

JSON = {"Content_Type": "application/json"}
RULES = """
rules:
  - {{name: failures, when: failed, to: [owner, ops@example.com], settle: {settle}}}
"""


def settings(port: int) -> dict[str, str]:
    return {
        "HEADWATER_ALERTS__MAIL_SERVER": f"smtp://127.0.0.1:{port}",
        "HEADWATER_ALERTS__EVERY_SECONDS": "0.2",
        "HEADWATER_ALERTS__LEASE_SECONDS": "3",
        "HEADWATER_ACCESS__SECRET_KEY": "one key for all servers over a database",
    }


def apply(server: Process, settle: str) -> None:
    body = {"files": [{"name": "alerts.yaml", "text": RULES.format(settle=settle)}]}
    status, answer, _ = server.ask("PUT", "/api/v2/rules", json.dumps(body).encode(), **JSON)
    assert status == 200, answer


def fail(server: Process, number: int) -> None:
    out = dataset("orders", "db", ownership=facet(owners=[{"name": "ana@example.com"}]))
    at = dt.datetime.now(dt.UTC).isoformat()
    event = run_event("FAIL", number, f"job-{number}", ["/in"], [out], at=at)
    status, answer, _ = server.ask("POST", "/api/v1/lineage", encoded(event), **JSON)
    assert status < 300, answer


def alerts(server: Process) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(server.get("/api/v2/alerts")[1])["alerts"]
    return found


@pytest.mark.parametrize("when", ["between decision and sending", "while it sends"])
def test_a_server_that_is_killed_loses_and_doubles_no_message(
    serve: Callable[..., Process], postgres: EmbeddedPostgres, when: str
) -> None:
    with silent() as (port, calls):
        server = serve(**settings(port)).ready()
        apply(server, "1m" if when == "between decision and sending" else "0")
        fail(server, 1)
        if when == "while it sends":
            assert waited(lambda: len(calls) == 2), calls
        else:
            assert waited(lambda: bool(alerts(server)))
            assert not calls
        server.kill()
    with psycopg.connect(postgres.url) as connection:
        connection.execute("update alert_messages set due_at = now()")
    with mailbox(port) as mail:
        server = serve(**settings(port)).ready()
        assert waited(lambda: len(mail.mails) == 2), mail.to()
        time.sleep(4)  # longer than a lease
        assert sorted(mail.to()) == ["ana@example.com", "ops@example.com"], (
            [m["Message-ID"] for _, m in mail.mails],
            alerts(server),
        )
        (one,) = alerts(server)
        assert {each["state"] for each in one["messages"]} == {"sent"}


def test_a_server_that_is_killed_between_sending_and_noting_sends_the_same_mail_again(
    serve: Callable[..., Process],
) -> None:
    """No protocol lets a sender know: the mail comes twice at most, under one id and with one text, so that a mail program shows it once."""
    with mailbox() as mail:
        server = serve(**settings(mail.port)).ready()
        apply(server, "0")
        mail.taken = server.kill
        fail(server, 1)
        assert waited(lambda: bool(mail.mails))
        mail.taken = lambda: None
        server = serve(**settings(mail.port)).ready()
        assert waited(lambda: {each["state"] for one in alerts(server) for each in one["messages"]} == {"sent"}), (
            alerts(server)
        )
        time.sleep(4)  # longer than a lease
        ids = {(address, message["Message-ID"]) for address, message in mail.mails}
        assert sorted(address for address, _ in ids) == ["ana@example.com", "ops@example.com"]
        assert 3 <= len(mail.mails) <= 4
        assert len({(address, message["Subject"], message.get_payload()) for address, message in mail.mails}) == 2


def test_two_servers_send_each_message_once(serve: Callable[..., Process]) -> None:
    with mailbox() as mail:
        first, second = serve(**settings(mail.port)), serve(**settings(mail.port))
        first.ready()
        second.ready()
        apply(first, "0")
        for number in range(1, 11):
            fail((first, second)[number % 2], number)
        assert waited(lambda: len(mail.mails) >= 20), mail.to()
        time.sleep(4)
        assert len(mail.mails) == 20
        assert len({message["Message-ID"] for _, message in mail.mails}) == 20
