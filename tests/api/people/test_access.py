"""Access: the roles for reading and changing, and the audit log."""

import datetime as dt
import re
import time
import uuid
from typing import Any

import pytest
from litestar import Request, get, put
from litestar.params import FromPath
from tests.events import encoded, run_event
from tests.fixtures.servers import inner

from headwater.answer.people import keys as known_keys
from headwater.api import access, preparing
from headwater.errors import DatabaseRefused, NotSecured
from headwater.intake.people import keys as key_writes
from headwater.intake.people.audit import by_command
from headwater.settings import AccessSettings, OidcSettings, ServerSettings, Settings
from headwater.store.people import keys as key_store

KEYS = {"access": {"mode": "keys", "admin_key": "an-admin-key-of-the-tests"}}
ADMIN = "an-admin-key-of-the-tests"
EVENT = encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"]))


@put("/api/v2/things/{name:str}")
async def put_thing(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, str]:
    """Remember the author, as manual metadata does."""
    actor: access.Actor = request.state.actor
    return {"by": actor.name, "role": actor.role}


@put("/api/v2/told/{name:str}")
async def put_told(request: Request[Any, Any, Any], name: FromPath[str]) -> None:
    request.state.audit = {"action": "add_tag", "target": f"dataset:{name}", "detail": {"tag": "pii\0"}}


@get("/api/v2/admin/things")
async def undeclared_admin() -> None:
    """Says nothing about its role."""


ROUTES = [put_thing, put_told, undeclared_admin]
# The rights of roles: method, path, body, the least role.
MATRIX = [
    ("GET", "/api/v2/status", None, "read"),
    ("GET", "/api/v2/datasets", None, "read"),
    ("GET", "/api/v1/namespaces", None, "read"),
    ("GET", "/schema/openapi.json", None, "read"),
    ("GET", "/metrics", None, "read"),
    ("POST", "/api/v1/lineage", EVENT, "write"),
    ("POST", "/api/v1/lineage/batch", b"[]", "write"),
    ("PUT", "/api/v2/things/a", None, "write"),
    ("GET", "/api/v2/admin/audit", None, "admin"),
    ("GET", "/api/v2/admin/keys", None, "admin"),
    ("GET", "/api/v2/admin/things", None, "admin"),
    ("GET", "/healthz", None, "anyone"),
    ("GET", "/readyz", None, "anyone"),
    ("GET", "/", None, "anyone"),
]


def audit(server: Any, **filters: Any) -> list[dict[str, Any]]:
    return server.get("/api/v2/admin/audit", ADMIN, params=filters).json()["entries"]


def test_each_role_may_what_it_may_and_no_more(served: Any, key: Any) -> None:
    server = served(ROUTES, **KEYS)
    held: dict[str, Any] = {role: key(role).key for role in ("read", "write", "admin")}
    for method, path, body, least in MATRIX:
        for role, token in {"anyone": None, **held}.items():
            reply = server.ask(method, path, token, content=body)
            if access.RANK[role] >= access.RANK[least]:
                assert reply.status_code < 300, (method, path, role, reply.text)
            else:
                code = 401 if token is None else 403
                assert reply.status_code == code, (method, path, role, reply.text)
                # Addresses of Marquez have its shape, where `code` is the status.
                words = (
                    code if path.startswith("/api/v1/namespaces") else {401: "unauthenticated", 403: "forbidden"}[code]
                )
                assert reply.json()["code"] == words
                assert ("www-authenticate" in reply.headers) == (code == 401)


def test_every_route_is_guarded_unless_it_says_anyone(served: Any) -> None:
    """Without credentials only the few public routes answer, for any set of routes."""
    server = served(**KEYS)
    public = set()
    for route in inner(server.app).routes:
        for handler in route.route_handlers:
            path = re.sub(r"\{[^}]*\}", "x", route.path)
            for method in handler.http_methods:
                if method != "OPTIONS" and server.ask(method, path).status_code != 401:
                    public.add(f"{method} {route.path}")
    # A badge is for pages without a key; there is none (404) unless the settings allow it.
    assert public == {
        "GET /", "GET /{path:path}", "GET /healthz", "GET /readyz", "GET /badge/{name:str}",
        "POST /auth/key", "GET /auth/login", "GET /auth/callback", "GET /auth/logout", "POST /auth/logout",
    }  # fmt: skip


@pytest.fixture(scope="module")
def keyed(served_to_all: Any) -> Any:
    return served_to_all(**KEYS)


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Basic YTpi", "Bearer nope", "Bearer hw_0123456789ab_" + "x" * 43, "Bearer a.b.c", "\xff\xfe", "Bearer " + "x" * 5000],
)  # fmt: skip
def test_what_is_not_a_key_opens_nothing(keyed: Any, header: str) -> None:
    reply = keyed.get("/api/v2/status", headers={"authorization": header.encode("latin-1")})
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith('Bearer realm="headwater", error="invalid_')


def test_a_key_with_another_ones_id_is_refused(served: Any, key: Any) -> None:
    server, one = served(**KEYS), key("admin")
    forged = one.key[:-4] + ("AAAA" if one.key[-4:] != "AAAA" else "BBBB")
    assert server.get("/api/v2/status", forged).status_code == 401
    assert server.get("/api/v2/status", one.key).status_code == 200


def test_a_revoked_key_is_refused_within_five_seconds(served: Any, key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server, one = served(**KEYS), key("read")
    assert server.get("/api/v2/status", one.key).status_code == 200
    assert server.ask("DELETE", f"/api/v2/admin/keys/{one.id}", ADMIN).json()["revoked_at"]
    later = time.monotonic() + 5
    monkeypatch.setattr(access.time, "monotonic", lambda: later)
    reply = server.get("/api/v2/status", one.key)
    assert (reply.status_code, "revoked" in reply.json()["message"]) == (401, True)


def test_a_key_is_asked_for_once_in_a_while_and_not_each_time(
    served: Any, key: Any, statements: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, one = served(**KEYS), key("read")
    with statements() as counted:
        for _ in range(5):
            assert server.get("/api/v2/near-misses", one.key).status_code == 200
    assert (counted.count("find"), counted.count("touch")) == (1, 1)


def test_what_is_remembered_of_keys_is_bounded(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_REMEMBERED", 3)
    server = served(**KEYS)
    for number in range(6):
        server.get("/api/v2/status", f"hw_{number:012x}_{'x' * 43}")
    assert len(inner(server.app).state.access._keys) == 3


def test_last_use_is_written_once_a_minute(served: Any, key: Any, run: Any, database: Any) -> None:
    server, one = served(**KEYS), key("read")

    async def last_used() -> dt.datetime:
        async with database.connection() as connection:
            await key_store.touch(connection, one.id)
        found = await known_keys.find(database, one.id)
        assert found is not None
        return found.last_used_at

    server.get("/api/v2/status", one.key)
    assert run(last_used()) == run(last_used())


def test_an_expired_key_is_refused(served: Any, key: Any) -> None:
    one = key("read", expires=dt.timedelta(milliseconds=1))
    time.sleep(0.01)
    reply = served(**KEYS).get("/api/v2/status", one.key)
    assert (reply.status_code, "expired" in reply.json()["message"]) == (401, True)


def test_a_key_is_nowhere_but_in_the_answer_that_made_it(served: Any, run: Any, database: Any) -> None:
    server = served(**KEYS)
    name = f"made-{uuid.uuid4()}"
    made = server.post("/api/v2/admin/keys", ADMIN, json={"name": name, "role": "write", "expires": "90d"})
    assert made.status_code == 201
    token = made.json()["key"]
    assert re.fullmatch(r"hw_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", token)
    assert token not in server.get("/api/v2/admin/keys", ADMIN).text + server.get("/api/v2/admin/audit", ADMIN).text

    async def rows() -> str:
        async with database.connection() as connection:
            cursor = await connection.execute("select t::text from api_keys t union all select t::text from audit t")
            return str(await cursor.fetchall())

    assert token.split("_", 2)[2] not in run(rows())  # the secret may itself hold underscores
    again = server.post("/api/v2/admin/keys", ADMIN, json={"name": name})
    assert (again.status_code, "already called" in again.json()["message"]) == (400, True)
    for wrong in ({"name": ""}, {"name": "a", "role": "god"}, {"name": "a", "expires": "soon"}, {"name": "a", "expires": "101y"}, {"x": 1}):  # fmt: skip
        assert server.post("/api/v2/admin/keys", ADMIN, json=wrong).status_code == 400, wrong
    assert server.ask("DELETE", f"/api/v2/admin/keys/{name}", ADMIN).status_code == 200
    assert server.ask("DELETE", f"/api/v2/admin/keys/{name}", ADMIN).status_code == 404


def test_an_open_server_accepts_every_caller_and_knows_the_owner_of_a_key(served: Any, key: Any) -> None:
    server, one = served(ROUTES, access={"mode": "open"}), key("read")
    assert server.ask("PUT", "/api/v2/things/a").json() == {"by": "anonymous", "role": "admin"}
    assert server.ask("PUT", "/api/v2/things/a", "some-other-servers-key").json()["by"] == "anonymous"
    assert server.ask("PUT", "/api/v2/things/a", key("write").key).json()["by"].startswith("write-")
    assert server.get("/auth/me").json() == {
        "name": "anonymous", "role": "admin", "via": "open", "login": None, "logout": None, "limits": [],
    }  # fmt: skip
    assert server.get("/auth/me", one.key).json()["via"] == "key"


@pytest.fixture(scope="module")
def opened(served_to_all: Any) -> Any:
    return served_to_all(ROUTES, access={"mode": "open"}, server={"public_url": "https://public.example/lineage"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "http://localhost"}, 200),
        ({"origin": "https://data.example", "x-forwarded-host": "data.example"}, 200),
        ({"origin": "https://public.example"}, 200),
        ({"origin": "https://public.example.evil"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_another_site_changes_nothing_with_this_browser(opened: Any, headers: dict[str, str], status: int) -> None:
    assert opened.ask("PUT", "/api/v2/things/a", headers=headers).status_code == status
    assert opened.get("/api/v2/status", headers=headers).status_code == 200


def test_a_program_with_a_key_may_come_from_anywhere(served: Any, key: Any) -> None:
    reply = served(ROUTES, **KEYS).ask(
        "PUT", "/api/v2/things/a", key("write").key, headers={"origin": "https://a.example"}
    )
    assert reply.status_code == 200


def test_changes_and_refused_changes_leave_a_row(served: Any, key: Any) -> None:
    server, writer, reader = served(ROUTES, **KEYS), key("write"), key("read")
    thing = str(uuid.uuid4())
    server.ask("PUT", f"/api/v2/things/{thing}", writer.key)
    server.ask("PUT", f"/api/v2/things/{thing}", reader.key)
    server.ask("PUT", f"/api/v2/things/{thing}")
    server.ask("PUT", f"/api/v2/told/{thing}", writer.key)
    server.get("/api/v2/datasets", writer.key)
    server.post("/api/v1/lineage", writer.key, content=EVENT)
    server.post("/api/v1/lineage", reader.key, content=EVENT)
    found = [
        (row["actor"], row["role"], row["method"], row["action"], row["status"]) for row in audit(server, target=thing)
    ]
    assert found == [
        ("anonymous", "none", "PUT", "put_thing", 401),
        (reader.name, "read", "PUT", "put_thing", 403),
        (writer.name, "write", "PUT", "put_thing", 200),
    ]
    (told,) = audit(server, target=f"dataset:{thing}")
    assert (told["action"], told["detail"], told["path"]) == ("add_tag", {"tag": "pii�"}, f"/api/v2/told/{thing}")
    assert {row["action"] for row in audit(server, actor=writer.name)} == {"put_thing", "add_tag"}


def test_a_key_made_over_http_leaves_one_row_and_one_refused_too(served: Any) -> None:
    server, name = served(**KEYS), f"row-{uuid.uuid4()}"
    server.post("/api/v2/admin/keys", ADMIN, json={"name": name, "role": "write"})
    server.post("/api/v2/admin/keys", ADMIN, json={"name": name})
    server.ask("DELETE", f"/api/v2/admin/keys/{name}", ADMIN)
    found = [(row["actor"], row["action"], row["status"]) for row in audit(server, target=name)]
    assert found == [
        ("admin key", "revoke_key", 200), ("admin key", "create_key", 400), ("admin key", "create_key", 201)
    ]  # fmt: skip


def test_the_audit_log_is_paged_and_filtered_by_time(served: Any, key: Any) -> None:
    server, writer = served(ROUTES, **KEYS), key("write")
    for _ in range(5):
        server.ask("PUT", "/api/v2/things/a", writer.key)
    page = server.get("/api/v2/admin/audit", ADMIN, params={"actor": writer.name, "limit": 2, "offset": 1}).json()
    whole = audit(server, actor=writer.name)
    assert (page["total"], [row["id"] for row in page["entries"]]) == (5, [row["id"] for row in whole[1:3]])
    middle = whole[2]["at"]
    assert [row["id"] for row in audit(server, actor=writer.name, since=middle)] == [row["id"] for row in whole[:3]]
    assert [row["id"] for row in audit(server, actor=writer.name, until=middle)] == [row["id"] for row in whole[3:]]


@pytest.mark.parametrize("statement", ["update audit set actor = 'x'", "delete from audit", "truncate audit"])
def test_the_audit_log_is_only_ever_added_to(run: Any, database: Any, statement: str) -> None:
    async def rewrite() -> None:
        async with database.connection() as connection:
            await connection.execute(statement)

    with pytest.raises(DatabaseRefused, match="only ever added to"):
        run(rewrite())


def test_strangers_do_not_fill_the_audit_log(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.api import audit as module

    monkeypatch.setattr(module, "_STRANGERS_A_MINUTE", 2)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1e9)
    server, thing = served(ROUTES, **KEYS), str(uuid.uuid4())
    for _ in range(4):
        server.ask("PUT", f"/api/v2/things/{thing}")
    assert len(audit(server, target=thing)) == 2
    assert 'headwater_access_refused_total{code="unauthenticated"} 4.0' in server.get("/metrics", ADMIN).text


@pytest.mark.parametrize(
    ("host", "mode", "more", "closed"),
    [
        ("127.0.0.1", "auto", {}, False),
        ("::1", "auto", {}, False),
        ("localhost", "auto", {}, False),
        ("127.0.0.1", "auto", {"admin_key": ADMIN}, True),
        ("127.0.0.1", "auto", {"oidc": OidcSettings(issuer="https://id.example")}, True),
        ("0.0.0.0", "auto", {}, None),
        ("::", "auto", {}, None),
        ("lineage.internal", "auto", {}, None),
        ("127.0.0.1", "keys", {}, None),
        ("0.0.0.0", "auto", {"admin_key": ADMIN}, True),
        ("0.0.0.0", "keys", {"oidc": OidcSettings(issuer="https://id.example")}, True),
        ("0.0.0.0", "open", {}, False),
    ],
)
def test_what_the_mode_comes_to_on_an_address(
    run: Any, database: Any, host: str, mode: Any, more: dict[str, Any], closed: bool | None, caplog: Any
) -> None:
    async def no_keys() -> None:
        async with database.connection() as connection:
            await connection.execute("update api_keys set revoked_at = now() where revoked_at is null")

    run(no_keys())
    settings = Settings(access=AccessSettings(mode=mode, **more), server=ServerSettings(host=host))
    if closed is None:
        with pytest.raises(NotSecured, match=r"headwater server keys create .* HEADWATER_ACCESS__MODE=open"):
            run(preparing.is_closed(settings, database))
        by = by_command("keys create", "create_key", "any")
        run(key_writes.create(database, str(uuid.uuid4()), "read", expires=None, by=by))
        assert run(preparing.is_closed(settings, database)) is True
    else:
        assert run(preparing.is_closed(settings, database)) is closed
    assert ("OpenToNetwork" in caplog.text) == (mode == "open" and host == "0.0.0.0")


def test_a_person_signs_in_with_a_key_and_out_with_its_end(served: Any, key: Any) -> None:
    server = served(ROUTES, **KEYS)
    held = key("read")
    done = server.ask("POST", "/auth/key", json={"key": f" {held.key} "})
    assert (done.status_code, done.json()["name"]) == (200, held.name), done.text
    (cookie,) = done.headers.get_list("set-cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert held.key not in cookie
    me = server.get("/auth/me").json()
    assert (me["name"], me["role"], me["via"], me["login"], me["logout"]) == (
        held.name, "read", "session", None, "auth/logout",
    )  # fmt: skip
    assert server.get("/api/v2/status").status_code == 200
    assert server.ask("PUT", "/api/v2/things/a").status_code == 403
    assert server.ask("DELETE", f"/api/v2/admin/keys/{held.id}", ADMIN).status_code < 300
    waiting_until = time.monotonic() + 10
    while server.get("/api/v2/status").status_code == 200 and time.monotonic() < waiting_until:
        time.sleep(0.2)
    assert server.get("/api/v2/status").status_code == 401


def test_a_session_of_the_admin_key_ends_when_that_key_is_replaced(served: Any) -> None:
    server = served(ROUTES, **KEYS)
    assert server.ask("POST", "/auth/key", json={"key": ADMIN}).status_code == 200
    assert server.get("/api/v2/admin/keys").status_code == 200
    cookies = dict(server.http.cookies)
    other = served(ROUTES, access={"mode": "keys", "admin_key": "another-admin-key-of-the-tests"})
    other.http.cookies.update(cookies)
    assert other.get("/api/v2/status").status_code == 401


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"key": "hw_unknown"}, {}, 401),
        ({"key": "not a key"}, {}, 401),
        ({"key": ""}, {}, 401),
        ({"key": "a.b.c"}, {}, 401),
        ({}, {}, 400),
        ({"key": ADMIN}, {"sec-fetch-site": "cross-site"}, 403),
        ({"key": ADMIN}, {"origin": "https://elsewhere.example"}, 403),
    ],
)
def test_no_session_without_a_key_of_this_server_and_from_its_own_page(
    served: Any, body: dict[str, str], headers: dict[str, str], status: int
) -> None:
    server = served(ROUTES, **KEYS)
    reply = server.ask("POST", "/auth/key", json=body, headers=headers)
    assert reply.status_code == status, reply.text
    assert "set-cookie" not in reply.headers
    assert ADMIN not in reply.text


def test_a_token_of_no_provider_is_an_unknown_key(served: Any) -> None:
    server = served(ROUTES, **KEYS)
    reply = server.get("/api/v2/status", "aaaa.bbbb.cccc")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


def test_an_open_server_has_nothing_to_sign_in_to(served: Any) -> None:
    assert served(ROUTES).ask("POST", "/auth/key", json={"key": ADMIN}).status_code == 404
