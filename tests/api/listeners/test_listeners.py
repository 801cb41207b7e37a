"""Listeners as admins add and change them: by the API and by the command line."""

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.receiver import Receiver, receiving, waited
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.intake.listeners import posting
from headwater.store.embedded import EmbeddedPostgres

ADMIN = "an-admin-key-of-the-tests"
KEYS = {"access": {"mode": "keys", "admin_key": ADMIN}}
LISTENERS = "/api/v2/admin/listeners"
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()


def of(job: str) -> bytes:
    return encoded(run_event("COMPLETE", 1, job, ["/in"], ["/out"]))


EVENT = of("job")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


def test_the_life_of_a_listener(served: Any, receiver: Receiver) -> None:
    server = served(**KEYS)
    wanted = {"name": "team", "kind": "webhook", "url": receiver.url, "secret": SECRET, "filter": {"jobs": ["job*"]}}
    assert server.post(LISTENERS, ADMIN, json=wanted).json() == {"name": "team", "secret": None}
    told = server.get(f"{LISTENERS}/team", ADMIN).json()["listener"]
    assert (told["state"], told["backlog"], told["has_secret"], told["filter"]) == (
        "active",
        0,
        True,
        {"jobs": ["job*"]},
    )

    server.post("/api/v1/lineage", ADMIN, content=EVENT)
    assert waited(lambda: server.get(f"{LISTENERS}/team", ADMIN).json()["listener"]["delivered"] == 1)
    assert receiver.jobs() == ["job"]

    assert server.post(f"{LISTENERS}/team/pause", ADMIN).json()["listener"]["state"] == "paused"
    server.post("/api/v1/lineage", ADMIN, content=of("job2"))
    assert server.get(f"{LISTENERS}/team", ADMIN).json()["listener"]["backlog"] == 1
    assert server.post(f"{LISTENERS}/team/resume", ADMIN).json()["listener"]["state"] == "active"
    assert waited(lambda: server.get(f"{LISTENERS}/team", ADMIN).json()["listener"]["delivered"] == 2)

    server.post(f"{LISTENERS}/team/replay", ADMIN, json={"since": "2020-01-01T00:00:00"})
    assert waited(lambda: server.get(f"{LISTENERS}/team", ADMIN).json()["listener"]["delivered"] == 4)

    made = server.post(f"{LISTENERS}/team/secret", ADMIN, json={}).json()["secret"]
    assert made.startswith("whsec_")
    tried = server.post(f"{LISTENERS}/team/test", ADMIN).json()
    assert (tried["ok"], tried["said"]) == (True, "taken")
    assert receiver.jobs()[-1] == "listener.test"

    everything = server.get(LISTENERS, ADMIN).text + server.get("/api/v2/admin/audit", ADMIN).text
    for secret in (SECRET, made):
        assert secret not in everything
        assert secret.removeprefix("whsec_") not in everything

    assert server.ask("DELETE", f"{LISTENERS}/team", ADMIN).json()["listener"]["name"] == "team"
    assert server.get(LISTENERS, ADMIN).json() == {"listeners": []}
    assert server.get(f"{LISTENERS}/team", ADMIN).status_code == 404


def test_every_change_is_in_the_audit_log_once(served: Any) -> None:
    server, name = served(**KEYS), f"audited-{uuid.uuid4()}"  # the log outlives tests
    url = "http://127.0.0.1:9/x?token=hidden"
    server.post(LISTENERS, ADMIN, json={"name": name, "kind": "webhook", "url": url, "paused": True})
    for what, body in (
        ("pause", None),
        ("resume", None),
        ("replay", {"since": "2026-01-01"}),
        ("secret", {}),
        ("test", None),
    ):
        server.post(f"{LISTENERS}/{name}/{what}", ADMIN, json=body)
    server.ask("DELETE", f"{LISTENERS}/{name}", ADMIN)
    server.post(f"{LISTENERS}/{name}/pause", ADMIN)
    entries = server.get("/api/v2/admin/audit", ADMIN, params={"target": name}).json()["entries"]
    assert [(one["action"], one["status"]) for one in reversed(entries)] == [
        ("add_listener", 201), ("pause_listener", 200), ("resume_listener", 200), ("replay_listener", 400), ("rotate_listener", 200),
        ("test_listener", 200), ("remove_listener", 200), ("pause_listener", 404),
    ]  # fmt: skip
    assert "hidden" not in json.dumps(entries)


def test_only_admins(served: Any, key: Any) -> None:
    server = served(**KEYS)
    write = key("write").key
    for method, path in (
        ("GET", LISTENERS),
        ("POST", LISTENERS),
        ("POST", f"{LISTENERS}/x/test"),
        ("DELETE", f"{LISTENERS}/x"),
    ):
        assert server.ask(method, path, write).status_code == 403
        assert server.ask(method, path).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a/b"},
        {"name": ""},
        {"kind": "kafka"},
        {"kind": "python:unknown", "url": None},
        {"url": None},
        {"url": "ftp://x"},
        {"url": "http://"},
        {"url": "http://u:p@host/"},
        {"url": "http://host/#x"},
        {"url": "http://host/ x"},
        {"url": "http://host:99999/"},
        {"url": "http://host/\r\nx: y"},
        {"secret": "short"},
        {"filter": {"event_types": ["DONE"]}},
        {"filter": {"jobs": [""]}},
        {"filter": {"unknown": []}},
        {"kind": "marquez", "secret": "a\nb"},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any], served: Any) -> None:
    server = served()
    right = {"name": "one", "kind": "webhook", "url": "http://127.0.0.1:9/", "paused": True}
    assert server.post(LISTENERS, json=right | {"name": "other"}).status_code == 201
    answer = server.post(LISTENERS, json=right | wrong)
    assert answer.status_code == 400, answer.text
    assert len(server.get(LISTENERS).json()["listeners"]) == 1
    assert server.post(LISTENERS, json=right | {"name": "other"}).status_code == 400


def test_metrics_of_listeners(served: Any, receiver: Receiver) -> None:
    server = served()
    receiver.answer = lambda _path, body: (422, b"") if b"job2" in body else (200, b"")
    server.post(LISTENERS, json={"name": "one", "kind": "marquez", "url": receiver.url})
    server.post("/api/v1/lineage", content=EVENT)
    server.post("/api/v1/lineage", content=of("job2"))
    assert waited(lambda: server.get(f"{LISTENERS}/one").json()["listener"]["refused"] == 1)
    text = server.get("/metrics").text
    assert 'headwater_listener_events_total{listener="one",outcome="delivered"} 1.0' in text
    assert 'headwater_listener_events_total{listener="one",outcome="refused"} 1.0' in text
    assert 'headwater_listener_backlog_events{listener="one"} 0.0' in text
    assert 'headwater_listener_failing{listener="one"} 0.0' in text
    server.post(f"{LISTENERS}/one/pause")
    server.post("/api/v1/lineage", content=of("job3"))
    text = server.get("/metrics").text
    assert 'headwater_listener_backlog_events{listener="one"} 1.0' in text
    assert 'headwater_listener_lag_seconds{listener="one"} 0.' in text


@pytest.fixture
def command(postgres: EmbeddedPostgres, database: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    monkeypatch.setenv("HEADWATER_DATABASE__URL", postgres.url)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    monkeypatch.delenv("HEADWATER_LISTENER_SECRET", raising=False)

    def call(*words: str, **env: str) -> Any:
        return CliRunner().invoke(program, ["events", "listeners", *words], env=env)

    return call


def test_the_commands(command: Any, receiver: Receiver) -> None:
    added = command(
        "add", "team", "webhook", receiver.url, "--type", "complete", "--job", "a*", "--since", "2026-01-01"
    )
    assert added.exit_code == 0, added.output
    secret = added.output.split()[0]
    assert secret.startswith("whsec_")
    assert command("add", "cat", "marquez", receiver.url, HEADWATER_LISTENER_SECRET="an-api-key").exit_code == 0
    listed = command("list").output
    assert "team" in listed
    assert "an-api-key" not in listed
    (cat, team) = json.loads(command("list", "--json").output)["listeners"]
    assert (cat["has_secret"], team["filter"]) == (True, {"jobs": ["a*"], "event_types": ["COMPLETE"]})
    assert "COMPLETE" in command("show", "team").output
    assert command("test", "cat").exit_code == 0
    assert receiver.requests[-1].headers["authorization"] == "Bearer an-api-key"
    receiver.answer = lambda _path, _body: (500, b"\x1b[31mno")
    failed = command("test", "cat")
    assert failed.exit_code == 1
    assert "\x1b" not in failed.output
    assert json.loads(command("pause", "cat", "--json").output)["listener"]["state"] == "paused"
    assert json.loads(command("resume", "cat", "--json").output)["listener"]["state"] == "active"
    replayed = json.loads(command("replay", "cat", "--since", "2026-11-01", "--json").output)
    assert replayed["listener"]["replaying_from"] == "2026-11-01T00:00:00Z"
    assert command("rotate", "team").output.split()[0] not in {secret, ""}
    assert command("remove", "team").exit_code == 0
    assert "cat" in command("list").output
    assert "team" not in command("list").output


def test_posting_reads_only_so_much_and_says_what_it_was_told(receiver: Receiver) -> None:
    receiver.answer = lambda _path, _body: (400, b"x" * 1_000_000)
    poster = posting.Poster(receiver.url, 5.0, None)
    reply = poster.post("/", b"{}", {})
    assert len(reply.body) == 64 * 1024
    assert len(str(reply)) < 600
    receiver.answer = lambda _path, _body: (503, b"", {"Retry-After": "Wed, 21 Oct 2065 07:28:00 GMT"})
    assert poster.post("/", b"{}", {}).retry_after == 3600, "at most an hour"
    receiver.answer = lambda _path, _body: (503, b"", {"Retry-After": "soon"})
    assert poster.post("/", b"{}", {}).retry_after is None
    poster.abort()
    with pytest.raises(posting.Unreached):
        poster.post("/", b"{}", {})
    poster.close()
