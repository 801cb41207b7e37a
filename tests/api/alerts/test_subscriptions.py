"""Subscriptions: rules of one person, kept, told and removed; who may send where."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import encoded, run_event

from headwater.answer.alerts import live
from headwater.entities.alerts.rules import RuleFile
from headwater.intake.alerts import rules as rule_writes
from headwater.intake.events.accept import Intake
from headwater.intake.people.audit import by_command
from headwater.model.alerts import AlertHistory
from headwater.model.troubles import Window
from headwater.store.database import Database

NOW = dt.datetime.now(dt.UTC)
ORDERS = "dataset:file:/orders"


def subscribe(
    server: Any, selector: str, key: str | None = None, as_: str | None = "ana@example.com", **more: Any
) -> Any:
    query = f"?as={as_}" if as_ else ""
    return server.ask("PUT", f"/api/v2/subscriptions{query}", key, json={"selector": selector, **more})


def told(database: Database, run: Any) -> dict[str, set[str]]:
    """Addresses of what the rules tell now, by the job that failed."""

    async def look() -> Any:
        async with database.snapshot() as connection:
            held = await live.Rulebook().load(connection)
        window = Window(NOW - dt.timedelta(hours=1), NOW + dt.timedelta(hours=2))
        return await live.look(
            database, held.rules, held.people, window, AlertHistory(), late_since=NOW, measured=False, others=[]
        )

    return {alert.cause.label: {one.address for one in alert.planned} for alert in run(look())}


def fail(database: Database, run: Any, *jobs: str) -> None:
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)).isoformat()
    events = [run_event("FAIL", number, job, ["/raw"], [f"/{job}"], at=at) for number, job in enumerate(jobs)]
    run(Intake(database).accept_each([encoded(one) for one in events]))


def test_a_subscription_tells_its_owner_alone(served: Any, database: Database, run: Any) -> None:
    server = served(alerts={"enabled": False}, entities={"feed": False})
    assert subscribe(server, "job:orders*", events=["failed"]).json()["address"] == "ana@example.com"
    assert subscribe(server, "job:other*", as_="bob@example.com", events=["failed"]).status_code == 200
    fail(database, run, "orders", "unwatched")
    assert told(database, run) == {"orders": {"ana@example.com"}}
    # Rules of files go on beside them.
    text = "rules:\n  - {name: all, when: failed, to: ops@example.com}\n"
    change = by_command("rules apply", "apply_rules", "rules")
    run(rule_writes.apply_rules(database, [RuleFile("a.yaml", text)], by=change))
    fail(database, run, "orders-2")
    assert told(database, run)["orders-2"] == {"ana@example.com", "ops@example.com"}
    server.ask("DELETE", "/api/v2/subscriptions?selector=job:orders*&as=ana@example.com")
    fail(database, run, "orders-3")
    assert told(database, run)["orders-3"] == {"ops@example.com"}


def test_a_subscription_is_listed_changed_and_removed(served: Any) -> None:
    server = served(alerts={"enabled": False})
    first = subscribe(server, ORDERS).json()
    assert first["events"] == ["failed", "late", "failed_check", "wrong", "schema_changed", "gone"]
    assert subscribe(server, ORDERS, events=["schema changed"]).json()["events"] == ["schema_changed"]
    mine = server.get("/api/v2/subscriptions?as=ana@example.com").json()["subscriptions"]
    assert [one["selector"] for one in mine] == [ORDERS]
    assert server.get("/api/v2/subscriptions?as=bob@example.com").json()["subscriptions"] == []
    gone = server.ask("DELETE", f"/api/v2/subscriptions?selector={ORDERS}&as=ana@example.com")
    assert gone.json()["selector"] == ORDERS
    again = server.ask("DELETE", f"/api/v2/subscriptions?selector={ORDERS}&as=ana@example.com")
    assert again.status_code == 404


@pytest.mark.parametrize(
    ("body", "as_", "words"),
    [
        ({"selector": "tag:"}, "ana@example.com", "nothing after the colon"),
        ({"selector": " "}, "ana@example.com", "a selector has 1 to"),
        (
            {"selector": "a", "events": ["explode"]},
            "ana@example.com",
            "there is no event 'explode'; write one of failed",
        ),
        ({"selector": "a"}, "ana", "your name is no mail address"),
        ({"selector": "a", "to": "the chat"}, "ana", "write a mail address, or channel:NAME"),
        ({"selector": "a"}, None, "say who subscribes"),
    ],
)
def test_a_mistake_in_a_subscription_is_named(client: Any, body: dict[str, Any], as_: str | None, words: str) -> None:
    reply = client.request("PUT", "/api/v2/subscriptions" + (f"?as={as_}" if as_ else ""), json.dumps(body).encode())
    assert reply.status_code == 400, reply.text
    assert words in reply.json()["message"]


def test_a_reader_sends_to_no_one_else(served: Any, key: Any) -> None:
    read, write = key("read").key, key("write").key
    server = served(access={"mode": "keys"}, alerts={"enabled": False})
    assert subscribe(server, ORDERS, read, None, to="boss@example.com").status_code == 403
    assert subscribe(server, ORDERS, write, None, to="boss@example.com").status_code == 200
    # A name that the request gives counts for nothing where there are keys.
    assert server.get("/api/v2/subscriptions?as=ana@example.com", read).json()["subscriptions"] == []


def test_a_saved_view_is_subscribed_to_as_it_is_now(served: Any, database: Database, run: Any) -> None:
    """The view decides, also after it was saved anew; without its view a subscription tells nothing and says why."""
    server = served(alerts={"enabled": False}, entities={"feed": False})

    def save(address: str, *, shared: bool = True) -> None:
        body = {"address": address, "shared": shared}
        assert server.ask("PUT", "/api/v2/views/mine?as=ana@example.com", json=body).status_code == 200

    def mine() -> Any:
        return server.get("/api/v2/subscriptions?as=ana@example.com").json()["subscriptions"]

    assert "no saved view is named 'mine'" in subscribe(server, "view:mine").json()["message"]
    save("plans")
    assert "lists no datasets or jobs" in subscribe(server, "view:mine").json()["message"]
    save("catalogue/jobs?q=orders&sort=name")
    assert (
        "is filtered by q; a subscription knows namespace, platform, tag, owner only"
        in subscribe(server, "view:mine").json()["message"]
    )
    save("jobs/test:orders")
    assert subscribe(server, "view:mine", events=["failed"]).json()["problem"] is None
    fail(database, run, "orders", "other")
    assert told(database, run) == {"orders": {"ana@example.com"}}
    save("catalogue/jobs?namespace=te*&sort=name")
    fail(database, run, "orders-2", "other-2")
    assert {"orders-2", "other-2"} <= told(database, run).keys()
    save("lineage/dataset:file:~raw?direction=downstream&depth=2&type=job")
    fail(database, run, "orders-3")
    assert "orders-3" in told(database, run)
    save("catalogue/jobs?namespace=elsewhere", shared=False)  # one's own goes before everyone's
    assert told(database, run) == {}
    server.ask("DELETE", "/api/v2/views/mine?as=ana@example.com")
    server.ask("DELETE", "/api/v2/views/mine?shared=true&as=ana@example.com")
    assert told(database, run) == {}
    (one,) = mine()
    assert (one["selector"], one["problem"]) == (
        "view:mine",
        "no saved view is named 'mine'; save it with the star of the page",
    )
    assert server.ask("DELETE", "/api/v2/subscriptions?selector=view:mine&as=ana@example.com").status_code == 200
    assert mine() == []
