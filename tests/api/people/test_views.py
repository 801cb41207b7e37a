"""Saved views: everyone's and one's own, who may change which, and where an address may lead."""

import json
from typing import Any

import pytest
from tests.events import encoded
from typer.testing import CliRunner

from headwater.cli.program import program

ADMIN = "an-admin-key-of-the-tests"
KEYS = {"access": {"mode": "keys", "admin_key": ADMIN}}
ADDRESS = "catalogue/datasets?tag=pii"


def view(address: str = ADDRESS, *, shared: bool = False) -> bytes:
    return encoded({"address": address, "shared": shared})


def listed(server: Any, token: str) -> list[tuple[str, bool, str]]:
    reply = server.get("/api/v2/views", token)
    assert reply.status_code == 200, reply.text
    return [(one["name"], one["shared"], one["author"]) for one in reply.json()["views"]]


def test_a_reader_has_their_own_and_sees_everyones(served: Any, key: Any) -> None:
    server = served(**KEYS)
    reader, writer = key("read"), key("write")

    def put(token: str, name: str, body: bytes) -> int:
        return int(server.ask("PUT", f"/api/v2/views/{name}", token, content=body).status_code)

    assert put(reader.key, "mine", view()) == 200
    assert put(reader.key, "ours", view(shared=True)) == 403
    assert put(writer.key, "ours", view(shared=True)) == 200
    assert put(writer.key, "mine", view("incidents")) == 200
    assert listed(server, reader.key) == [("mine", False, reader.name), ("ours", True, writer.name)]
    assert listed(server, writer.key) == [("mine", False, writer.name), ("ours", True, writer.name)]
    assert listed(server, ADMIN) == [("ours", True, writer.name)]
    # A view that is saved again takes the new address.
    assert put(reader.key, "mine", view("plans")) == 200
    (mine, _) = server.get("/api/v2/views", reader.key).json()["views"]
    assert mine["address"] == "plans"

    assert server.ask("DELETE", "/api/v2/views/ours?shared=true", reader.key).status_code == 403
    assert server.ask("DELETE", "/api/v2/views/ours", reader.key).status_code == 404
    assert server.ask("DELETE", "/api/v2/views/mine", reader.key).status_code == 200
    assert listed(server, writer.key)[0] == ("mine", False, writer.name)
    assert server.ask("DELETE", "/api/v2/views/ours?shared=true", writer.key).status_code == 200
    assert listed(server, reader.key) == []

    entries = server.get("/api/v2/admin/audit", ADMIN, params={"target": "ours"}).json()["entries"]
    audited = [one for one in entries if one["status"] == 200]
    assert [(one["action"], one["actor"]) for one in audited] == [
        ("remove_view", writer.name),
        ("save_view", writer.name),
    ]
    assert audited[-1]["detail"] == {"shared": True, "address": ADDRESS}


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/catalogue",
        "//evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "\\\\evil.example",
        "a\\b",
        "../admin",
        "lineage/../../x",
        "a b:c/d",
        "x\n",
        "a" * 8001,
    ],
)
def test_an_address_leads_to_a_page_of_this_server(client: Any, address: str) -> None:
    reply = client.request("PUT", "/api/v2/views/x", view(address, shared=True))
    assert reply.status_code == 400, reply.text
    assert client.get("/api/v2/views").json() == {"views": []}


@pytest.mark.parametrize(
    "address", ["catalogue/datasets", "lineage/dataset:file:~data~x?to=dataset:file:/y", "?asOf=1"]
)
def test_addresses_of_pages_are_views(client: Any, address: str) -> None:
    assert client.request("PUT", "/api/v2/views/x", view(address, shared=True)).status_code == (
        400 if address[0] == "?" else 200
    )


@pytest.mark.parametrize("name", ["%20", "a%0Ab", "x" * 81])
def test_a_name_can_be_read(client: Any, name: str) -> None:
    assert client.request("PUT", f"/api/v2/views/{name}", view(shared=True)).status_code == 400


def test_without_sign_in_a_view_is_for_everyone_or_for_a_name_given(client: Any) -> None:
    assert client.request("PUT", "/api/v2/views/x", view()).status_code == 400
    assert client.request("PUT", "/api/v2/views/x?as=ana", view()).status_code == 200
    assert client.request("PUT", "/api/v2/views/y", view(shared=True)).status_code == 200
    assert [one["name"] for one in client.get("/api/v2/views").json()["views"]] == ["y"]
    assert [one["name"] for one in client.get("/api/v2/views", **{"as": "ana"}).json()["views"]] == ["x", "y"]


def test_the_command_saves_lists_and_removes(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(
        _base: str, path: str, params: Any = None, method: str = "GET", body: bytes | None = None, **_: Any
    ) -> bytes:
        query = "&".join(f"{key}={value}" for key, value in (params or {}).items() if value is not None)
        where = f"{path}?{query}" if query else path
        reply = client.get(where) if method == "GET" else client.request(method, where, body)
        assert reply.status_code < 300, reply.text
        return bytes(reply.content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)

    def run(*words: str) -> str:
        result = CliRunner().invoke(program, ["views", *words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "No view is saved" in run("list", "--as", "ana")
    assert run("save", "personal data", ADDRESS, "--shared", "--as", "ana").startswith("Saved everyone's view")
    run("save", "mine", "incidents", "--as", "ana")
    assert [(one["name"], one["shared"]) for one in json.loads(run("list", "--as", "ana", "--json"))["views"]] == [
        ("mine", False),
        ("personal data", True),
    ]
    assert "everyone" in run("list", "--as", "ben")
    assert run("remove", "personal data", "--shared", "--as", "ana").startswith("Removed everyone's view")
    assert "personal data" not in run("list", "--as", "ana")
