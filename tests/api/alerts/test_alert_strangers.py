"""Alerts as a stranger attacks them: names that forge lines, addresses that are headers, receivers that drip, rules that select nothing, hostile YAML."""

import datetime as dt
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.api.alerts.test_alert_messages import OUTBOUND, Server, add, apply, execute, fail, shown
from tests.events import dataset, encoded, run_event
from tests.mailbox import mailbox
from tests.receiver import receiving

from headwater.entities.alerts.deciding import Contacts, resolve_addresses
from headwater.entities.alerts.messages import SHAPES, TroubleText, alert_text
from headwater.entities.alerts.rules import RuleFile, read_rules
from headwater.errors import InvalidRules
from headwater.intake.alerts.sending import MailServer
from headwater.intake.alerts.sending import Receiver as Sending
from headwater.store.alerts.channels import StoredChannel
from headwater.store.database import Database

EVIL = "db.a\r\nBcc: x@evil.test\n\nIts page: http://evil.test \u202e[click](http://evil.test) <!channel> *b*"


def told() -> Any:
    cause = TroubleText(
        "failed",
        f"job:{EVIL}",
        EVIL,
        dt.datetime(2026, 11, 1, tzinfo=dt.UTC),
        None,
        f"it said {EVIL}",
        f"headwater run show {EVIL}",
    )
    member = TroubleText("late", "dataset:b", EVIL, dt.datetime(2026, 11, 1, tzinfo=dt.UTC), None, "", "")
    return alert_text("0" * 32, EVIL, "error", 0, cause, [member], None)


def test_a_name_makes_up_no_line_of_a_mail() -> None:
    body = SHAPES["mail"](told())
    assert "\n" not in body["subject"]
    lines = [line.strip() for line in body["text"].splitlines()]
    assert not [line for line in lines if line.startswith(("Bcc", "Its page"))]
    assert "\u202e" not in body["text"]


@pytest.mark.parametrize("kind", ["slack", "teams"])
def test_a_name_makes_no_link_and_calls_no_one(kind: str) -> None:
    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, each in value.items():
                if key in {"text", "value"} and isinstance(each, str) and value.get("type") != "plain_text":
                    yield each
                yield from texts(each)
        elif isinstance(value, list):
            for each in value:
                yield from texts(each)

    found = list(texts(SHAPES[kind](told())))
    assert found
    for text in found:
        assert "<!channel>" not in text
        if kind == "teams":
            assert "[click](" not in text.replace("\\[", "").replace("\\]", "")


@pytest.mark.parametrize(
    "address",
    [
        "a@b.c\nBcc: x@evil.test",
        "a@b.c\r\nx: y",
        "a@b.c, d@e.f",
        "a@b.c;d@e.f",
        "<a@b.c>",
        "a b@c.d",
        "@",
        "a@",
        "@b",
        "a@b@c",
    ],
)
def test_an_owner_that_is_no_address_is_reported_and_gets_no_mail(address: str) -> None:
    assert resolve_addresses(("owner",), Contacts((address, "ana@example.com"), (), ()), {}) == (
        ["ana@example.com"],
        [address],
    )
    text = f"rules:\n  - name: a\n    when: late\n    to: {encoded(address).decode()}\n"
    if "@" in address:
        with pytest.raises(InvalidRules):
            read_rules([RuleFile("a.yaml", text)])


@contextmanager
def dripping(first: bytes) -> Iterator[int]:
    """A server that says a byte every 50 ms, for ever."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection:
            try:
                connection.sendall(first)
                while not over.wait(0.05):
                    connection.sendall(b"x")
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=drip, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        over.set()


def within(seconds: float, call: Any) -> Any:
    """Return what a call returns; fail if it has not returned after so many seconds."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it is still waiting"
    return found[0]


def test_a_receiver_that_drips_is_left_after_the_time_for_all() -> None:
    url = OUTBOUND.key.encrypt
    with dripping(b"HTTP/1.1 200 OK\r\nX: ") as port:
        channel = StoredChannel(**{**_channel(), "url": url(f"http://127.0.0.1:{port}/".encode())})
        outcome = within(20, lambda: Sending(OUTBOUND, None, 0.5).post(uuid.uuid4(), channel, {"a": 1}))
    assert (outcome.error is not None, outcome.refused) == (True, False)
    with dripping(b"220 ") as port:
        server = MailServer(f"smtp://127.0.0.1:{port}", "h@example.com")
        sending = Sending(OUTBOUND, server, 0.5)
        outcome = within(20, lambda: sending.mail(uuid.uuid4(), uuid.uuid4(), "a@b.c", {"subject": "s", "text": "t"}))
    assert (outcome.error is not None, outcome.refused) == (True, False)


def _channel() -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(StoredChannel.__struct_fields__)
    return {**values, "name": "ops", "kind": "slack"}


@pytest.mark.parametrize(("status", "headers", "words"), [
    (302, {"Location": "http://169.254.169.254/latest/meta-data"}, "HTTP 302"), (307, {"Location": "/other"}, "HTTP 307"),
])  # fmt: skip
def test_a_redirect_is_not_followed(
    database: Database, run: Any, status: int, headers: dict[str, str], words: str
) -> None:
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (status, b"", headers)
        add(database, run, "slack", f"{receiver.url}/hook")
        apply(database, run, "rules:\n  - {name: a, when: failed, to: 'channel:ops', settle: 0}\n")
        server = Server(database, run, None)
        fail(database, run)
        server.look()
        assert server.send() == 1
        assert [one.path for one in receiver.requests] == ["/hook"]
        assert shown(database, run).alerts[0].messages[0].last_error == words


def test_a_channel_that_asks_for_patience_gets_it(database: Database, run: Any) -> None:
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (429, b"", {"Retry-After": "1800"})
        add(database, run, "slack", f"{receiver.url}/hook")
        apply(database, run, "rules:\n  - {name: a, when: failed, to: 'channel:ops', settle: 0}\n")
        server = Server(database, run, None)
        fail(database, run)
        server.look()
        assert server.send() == 1
        run(execute(database, "update alert_messages set due_at = due_at - interval '29 minutes'"))
        assert server.send() == 0
        run(execute(database, "update alert_messages set due_at = due_at - interval '2 minutes'"))
        assert server.send() == 1


def test_a_mail_server_that_takes_and_drops_gets_the_same_mail_again(database: Database, run: Any) -> None:
    """The connection breaks between the text and its answer: the mail may be there, so it is sent again under the same id."""
    with mailbox() as box:
        apply(database, run, "rules:\n  - {name: a, when: failed, to: ana@example.com, settle: 0}\n")
        server = Server(database, run, box.url)
        fail(database, run)
        server.look()
        box.answer = "421 dropped"
        assert server.send() == 1
        assert shown(database, run).alerts[0].messages[0].state == "waiting"
        box.answer = "250 taken"
        run(execute(database, "update alert_messages set due_at = now()"))
        assert server.send() == 1
        assert server.send() == 0
        assert box.to() == ["ana@example.com"]


def test_a_rule_that_selects_nothing_is_said_when_it_is_applied(served: Any) -> None:
    server = served()
    event = run_event("COMPLETE", 1, "load", [dataset("raw", "db")], [dataset("mart.orders", "db")])
    assert server.post("/api/v1/lineage", content=encoded(event)).status_code == 201
    text = (
        "rules:\n  - {name: a, when: late, to: o@p.q, of: [mart.orders, mart.ordres, +mart.orders], except: 'tag:gone'}\n"
        "slas:\n  - {name: s, of: 'namespace:nowhere*', within: 2h}\n"
    )
    for changed in (True, False):
        answer = server.ask("PUT", "/api/v2/rules", json={"files": [{"name": "a.yaml", "text": text}]}).json()
        assert answer["changed"] is changed
        assert answer["unmatched"] == [
            "rule 'a': of mart.ordres",
            "rule 'a': except tag:gone",
            "SLA 's': of namespace:nowhere*",
        ]


@pytest.mark.parametrize(("text", "words"), [
    ("rules:\n  - {name: a, when: late, to: o@p.q}\nrules: []\n", "rules"),
    ("rules:\n  - {name: a, name: b, when: late, to: o@p.q}\n", "name"),
    ("rules:\n  - {name: a, when: late, to: o@p.q}\n  - {name: a, when: late, to: o@p.q}\n", "is also in"),
    ("rules:\n\t- name: a", "tab"),
    ("rules: !!python/object/apply:os.system ['true']\n", ""),
    ("a: &a [x]\nb: *a\n", ""),
    ("rules:\n  - &x {name: a, when: late, to: *x}\n", ""),
    ("\x00rules: []", ""),
    ("rules: " + "[" * 3000, ""),
])  # fmt: skip
def test_hostile_yaml_is_a_mistake_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InvalidRules) as error:
        read_rules([RuleFile("a.yaml", text)])
    problems = error.value.detail["problems"]
    assert isinstance(problems, list)
    assert all(str(each).startswith("a.yaml:") for each in problems)
    assert any(words in str(each) for each in problems), problems


def test_anchors_that_multiply_are_refused_in_no_time() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    text = "\n".join([*lines, "rules: *a11"])

    def read() -> str:
        try:
            read_rules([RuleFile("a.yaml", text)])
        except InvalidRules as error:
            return str(error.detail)
        return ""

    assert within(20, read)
