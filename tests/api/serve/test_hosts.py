"""Requests that another name than the server's brings: DNS rebinding ends at 421."""

from typing import Any

import pytest

from headwater.api.hosts import allowed_hosts
from headwater.settings import ServerSettings

ADMIN = "an-admin-key-of-the-tests"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:5000", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:5000", 200),
        ("[::1]:5000", 200),
        ("[::1]", 200),
        ("data.example", 200),
        ("Lineage.Example:443", 200),
        ("evil.example", 421),
        ("evil.example:5000", 421),
        ("localhost.evil.example", 421),
        ("localhost@evil.example", 421),
        ("evil.example@localhost", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.2", 421),
        ("0.0.0.0", 421),
        ("2130706433", 421),
        ("[::ffff:127.0.0.1]", 421),
        ("localhost/evil", 421),
        ("localhost:99999", 421),
        ("[::1", 421),
        ("", 421),
        ("lócalhost", 421),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/v2/status", "/assets/none.js", "/healthz", "/api/v2/admin/keys"])
def test_a_loopback_server_answers_to_its_own_names_alone(host: str, status: int, path: str, on_loopback: Any) -> None:
    reply = on_loopback.get(path, headers={"host": host.encode("latin-1")})
    assert (reply.status_code == 421) is (status == 421)
    if status == 421:
        assert reply.json()["code"] == "misdirected"
        assert "HEADWATER_SERVER__ALLOWED_HOSTS" in reply.json()["message"]


@pytest.fixture(scope="module")
def on_loopback(served_to_all: Any) -> Any:
    return served_to_all(
        server={"public_url": "https://data.example/lineage", "allowed_hosts": "lineage.example, other.example"}
    )


@pytest.fixture
def make(served: Any, request: pytest.FixtureRequest) -> Any:
    return lambda **server: served(server=server)


def test_a_rebound_page_makes_no_key(served: Any) -> None:
    """The page's own origin is its Host: no check of origins would find it."""
    server = served()
    request = {"content": b'{"name": "mine", "role": "admin"}'}
    evil = {"host": "evil.example:5000", "origin": "http://evil.example:5000", "content-type": "application/json"}
    assert server.post("/api/v2/admin/keys", headers=evil, **request).status_code == 421
    own = evil | {"host": "localhost:5000", "origin": "http://localhost:5000"}
    assert server.post("/api/v2/admin/keys", headers=own, **request).status_code == 201


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, {"localhost", "127.0.0.1", "::1"}),
        ({"host": "127.0.0.5"}, {"localhost", "127.0.0.1", "::1", "127.0.0.5"}),
        ({"host": "[::1]"}, {"localhost", "127.0.0.1", "::1"}),
        ({"host": "0.0.0.0"}, None),
        ({"host": "0.0.0.0", "public_url": "https://a.example"}, None),
        (
            {"host": "0.0.0.0", "allowed_hosts": "a.example:443,B.example"},
            {"localhost", "127.0.0.1", "::1", "a.example", "b.example"},
        ),
    ],
)
def test_which_hosts(settings: dict[str, Any], allowed: set[str] | None) -> None:
    assert allowed_hosts(ServerSettings(**settings)) == allowed


def test_on_a_network_every_host_is_answered_unless_hosts_are_named(served: Any) -> None:
    closed = {"mode": "keys", "admin_key": ADMIN}
    anywhere = served(server={"host": "0.0.0.0"}, access=closed)
    assert anywhere.get("/api/v2/status", ADMIN, headers={"host": "lineage.svc"}).status_code == 200
    named = served(server={"host": "0.0.0.0", "allowed_hosts": "data.example"}, access=closed)
    assert named.get("/api/v2/status", ADMIN, headers={"host": "lineage.svc"}).status_code == 421
    assert named.get("/api/v2/status", ADMIN, headers={"host": "data.example"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/" + "a" * 5000, "/" + "a/" * 2500, "/" + "a" * 60_000, "/%00", "/a%00b", "/..%2f..%2fetc%2fpasswd"]
)
def test_any_path_is_the_page(client: Any, path: str) -> None:
    assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "path", ["/assets/" + "a" * 300, "/assets/" + "a" * 5000, "/assets/%00", "/assets/..%2f..%2fapp.py"]
)
def test_an_asset_that_is_none_is_not_found(client: Any, path: str) -> None:
    assert client.get(path).status_code == 404
