"""People sign in with a provider, and programs come with its tokens."""

import base64
import contextlib
import itertools
import json
import time
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from litestar import Request, put
from litestar.params import FromPath
from tests.fixtures.identity import CLIENT, SECRET, IdentityProvider
from tests.fixtures.servers import inner

from headwater.api import oidc, sessions


@put("/api/v2/things/{name:str}")
async def put_thing(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, str]:
    return {"by": request.state.actor.name}


def settings(identity: IdentityProvider, **more: Any) -> dict[str, Any]:
    return {
        "issuer": identity.issuer + "/",
        "client_id": CLIENT,
        "client_secret": SECRET,
        "roles": "analysts=read, editors = write,owners=admin",
        **more,
    }


@pytest.fixture
def server(served: Any, identity: IdentityProvider) -> Any:
    return served([put_thing], access={"mode": "keys", "oidc": settings(identity)})


def sign_in(server: Any, identity: IdentityProvider, to: str = "", **over: str) -> Any:
    """Sign in as a browser does: the client stores the cookies."""
    begun = server.get("/auth/login", params={"to": to} if to else {})
    assert begun.status_code == 303, begun.text
    back = identity.authorize(begun.headers["location"])
    query = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()} | over
    return server.get(urlsplit(back).path, params=query)


def test_an_unauthenticated_caller_gets_the_address_to_sign_in_at(server: Any) -> None:
    reply = server.get("/auth/me")
    assert (reply.status_code, reply.json()["detail"]["login"]) == (401, "auth/login")
    assert server.get("/api/v2/status").status_code == 401


def test_a_person_signs_in_asks_and_leaves(server: Any, identity: IdentityProvider) -> None:
    done = sign_in(server, identity, to="/?node=dataset%3Aa%3Ab")
    assert (done.status_code, done.headers["location"]) == (303, "/?node=dataset%3Aa%3Ab")
    (cookie,) = [c for c in done.headers.get_list("set-cookie") if c.startswith("headwater_session=")]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    me = server.get("/auth/me").json()
    assert me == {
        "name": "ada@example.com", "role": "read", "via": "session", "login": "auth/login", "logout": "auth/logout", "limits": [],
    }  # fmt: skip
    assert server.get("/api/v2/status").status_code == 200
    assert server.ask("PUT", "/api/v2/things/a").status_code == 403
    assert server.get("/auth/logout").headers["location"] == "/"
    assert server.get("/api/v2/status").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://localhost"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
    ],
)
def test_a_session_changes_things_from_this_site_only(
    server: Any, identity: IdentityProvider, headers: dict[str, str], status: int
) -> None:
    identity.claims["groups"] = ["editors", "strangers"]
    sign_in(server, identity)
    assert server.ask("PUT", "/api/v2/things/a", headers=headers).status_code == status


def test_the_cookie_is_secure_and_below_the_sub_path_behind_tls(served: Any, identity: IdentityProvider) -> None:
    server = served(
        access={"mode": "keys", "oidc": settings(identity)},
        server={"root_path": "/lineage", "public_url": "https://data.example/lineage"},
    )
    begun = server.get("/lineage/auth/login", params={"to": "/lineage/?node=x"})
    assert "Path=/lineage/auth" in begun.headers["set-cookie"]
    assert "Secure" in begun.headers["set-cookie"]
    asked = parse_qs(urlsplit(begun.headers["location"]).query)
    assert asked["redirect_uri"] == ["https://data.example/lineage/auth/callback"]
    assert asked["tenant"] == ["t"]


def test_a_proxy_says_how_the_browser_came(served: Any, identity: IdentityProvider) -> None:
    server = served(access={"mode": "keys", "oidc": settings(identity)}, server={"allowed_hosts": "data.example"})
    begun = server.get("/auth/login", headers={"x-forwarded-proto": "https", "host": "data.example"})
    assert "redirect_uri=https%3A%2F%2Fdata.example%2Fauth%2Fcallback" in begun.headers["location"]


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/\t/evil.example"])  # fmt: skip
def test_only_paths_of_this_server_are_gone_back_to(server: Any, identity: IdentityProvider, to: str) -> None:
    assert sign_in(server, identity, to=to).headers["location"] == "/"


def test_names_in_any_script_are_gone_back_to(server: Any, identity: IdentityProvider) -> None:
    assert sign_in(server, identity, to="/?q=漢é").headers["location"] == "/?q=%E6%BC%A2%C3%A9"


def test_another_browsers_sign_in_is_refused(server: Any, identity: IdentityProvider) -> None:
    assert sign_in(server, identity, state="of-another-session").status_code == 403
    back = identity.authorize(server.get("/auth/login").headers["location"])
    server.http.cookies.clear()
    reply = server.get(urlsplit(back).path + "?" + urlsplit(back).query)
    assert (reply.status_code, reply.json()["code"]) == (403, "sign_in_failed")


def test_a_code_works_once(server: Any, identity: IdentityProvider) -> None:
    assert sign_in(server, identity, code="never-given").status_code == 403


def test_what_the_provider_says_no_to_is_said(server: Any, identity: IdentityProvider) -> None:
    reply = sign_in(server, identity, code="", error="access_denied", error_description="not today")
    assert (reply.status_code, "not today" in reply.json()["message"]) == (403, True)


@pytest.mark.parametrize(
    "over",
    [
        {"nonce": "another"},
        {"aud": "another-client"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"sub": None},
    ],
    ids=str,
)
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(
    server: Any, identity: IdentityProvider, over: dict[str, Any]
) -> None:
    identity.over = over
    assert sign_in(server, identity).status_code == 403
    assert server.get("/auth/me").status_code == 401


def test_a_token_signed_with_another_key_is_refused(server: Any, identity: IdentityProvider) -> None:
    published, theirs = identity.keys["one"], rsa.generate_private_key(65537, 2048)
    identity.keys["one"] = theirs
    forged = identity.token()
    identity.keys["one"] = published
    assert server.get("/api/v2/status", identity.token()).status_code == 200
    assert server.get("/api/v2/status", forged).status_code == 401


def test_no_signature_and_shared_secrets_are_no_signatures(server: Any, identity: IdentityProvider) -> None:
    claims = jwt.decode(identity.token(), options={"verify_signature": False})
    secret = "secret-secret-secret-secret-secret"
    for token in (
        jwt.encode(claims, "", algorithm="none", headers={"kid": "one"}),
        jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "secret"}),
        jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "one"}),
        "a.b.c",
        "eyJhbGciOiJSUzI1NiJ9.e30.x",
    ):
        reply = server.get("/api/v2/status", token)
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated"), token


def test_a_program_comes_with_a_token_of_the_provider(served: Any, identity: IdentityProvider) -> None:
    oidc_settings = settings(identity, audiences="lineage-api")
    server = served([put_thing], access={"mode": "keys", "oidc": oidc_settings})
    token = identity.token(aud="lineage-api", groups=["editors"], email=None, preferred_username="nightly")
    assert server.ask("PUT", "/api/v2/things/a", token).json() == {"by": "nightly"}
    assert server.get("/api/v2/admin/audit", token).status_code == 403
    assert server.get("/api/v2/status", identity.token(aud="another-api")).status_code == 401
    assert server.get("/api/v2/status", identity.token(groups=["strangers"])).status_code == 403


def test_new_keys_of_the_provider_are_found_and_old_answers_are_kept(
    server: Any, identity: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert server.get("/api/v2/status", identity.token()).status_code == 200
    assert identity.asked.count("jwks") == 1
    identity.keys["two"] = rsa.generate_private_key(65537, 2048)
    token = identity.token("two")
    # Tokens with unknown keys do not make the server ask again and again.
    assert server.get("/api/v2/status", token).status_code == 401
    assert identity.asked.count("jwks") == 1
    monkeypatch.setattr(oidc, "_AT_MOST_EVERY", 0)
    assert server.get("/api/v2/status", token).status_code == 200
    identity.broken |= {"jwks", "openid-configuration"}
    monkeypatch.setattr(oidc, "_KEPT", 0)
    assert server.get("/api/v2/status", token).status_code == 200


def test_a_provider_that_is_away_is_said_as_such_and_left_alone(
    server: Any, identity: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity.broken.add("openid-configuration")
    for reply in (server.get("/auth/login"), server.get("/api/v2/status", identity.token())):
        assert (reply.status_code, reply.json()["code"]) == (503, "provider_unavailable")
        assert reply.headers["retry-after"]
    # Requests in the meantime get that answer at once, and soon one of them asks again.
    assert identity.asked.count("openid-configuration") == 1
    identity.broken.clear()
    monkeypatch.setattr(oidc, "_QUIET", 0)
    assert server.get("/api/v2/status", identity.token()).status_code == 200


def test_a_provider_that_says_it_is_another_is_not_believed(served: Any, identity: IdentityProvider) -> None:
    elsewhere = settings(identity) | {"issuer": identity.issuer.replace("127.0.0.1", "localhost")}
    reply = served(access={"mode": "keys", "oidc": elsewhere}).get("/auth/login")
    assert (reply.status_code, reply.json()["code"]) == (403, "sign_in_failed")


def test_without_a_provider_there_is_no_sign_in(served: Any) -> None:
    assert served().get("/auth/login").status_code == 404


def forged(cookie: str) -> list[str]:
    body, _, signature = cookie.partition(".")
    return ["", ".", body, f"{body}.", f".{signature}", f"x{body}.{signature}", f"{body}.{signature[:-2]}AA", "é.é"]


def test_a_forged_or_ended_session_is_unauthenticated(server: Any, identity: IdentityProvider) -> None:
    sign_in(server, identity)
    good = server.http.cookies["headwater_session"]
    server.http.cookies.clear()
    for cookie in forged(good):
        header = {"cookie": f"headwater_session={cookie}".encode()}
        assert server.get("/api/v2/status", headers=header).status_code == 401, cookie
    known: sessions.Sessions = inner(server.app).state.access.sign_in
    ended = known.sealed(sessions.Session("ada", "admin", time.time() - 1))
    login = known.sealed(sessions.Login("s", "n", "v", "/", time.time() + 100))
    for cookie in (ended, login):
        assert server.get("/api/v2/status", headers={"cookie": f"headwater_session={cookie}"}).status_code == 401
    assert server.get("/api/v2/status", headers={"cookie": f"headwater_session={good}"}).status_code == 200


def test_two_servers_over_one_database_know_each_others_sessions(served: Any, identity: IdentityProvider) -> None:
    one, two = (served(access={"mode": "keys", "oidc": settings(identity)}) for _ in range(2))
    sign_in(one, identity)
    cookie = one.http.cookies["headwater_session"]
    assert two.get("/api/v2/status", headers={"cookie": f"headwater_session={cookie}"}).status_code == 200


def test_a_person_without_a_role_is_told_which_claim_would_give_one(server: Any, identity: IdentityProvider) -> None:
    identity.claims = {"sub": str(uuid.uuid4()), "groups": ["strangers"]}
    reply = sign_in(server, identity)
    assert (reply.status_code, "'groups'" in reply.json()["message"]) == (403, True)


HEADERS: list[Any] = [
    *({"alg": algorithm, "kid": "one"} for algorithm in ("ES256", "ES384", "ES512", "EdDSA", "none", "HS256", "RS1", "", None, 1, ["RS256"], {"a": 1})),
    *({"alg": "RS256", "kid": kid} for kid in (None, 1, ["one"], {"one": 1}, "x" * 10_000, "\0")),
    {"alg": "RS256", "kid": "one", "crit": ["b64"], "b64": False}, {"alg": "RS256", "kid": "one", "typ": 5}, {}, [], "RS256",
]  # fmt: skip
CLAIMS: list[Any] = [{"sub": "u1"}, {"sub": ["u1"]}, {"exp": "soon"}, {"aud": {"a": 1}}, [], "text", None]


def test_no_token_is_an_error_of_the_server(server: Any, identity: IdentityProvider) -> None:
    """Any header with any claims, signed with bytes that are no signature: 401, and a reason."""

    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    for header, claims, signature in itertools.product(HEADERS, CLAIMS, ("", "c2ln", "x" * 342)):
        reply = server.get("/api/v2/status", f"{part(header)}.{part(claims)}.{signature}")
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated"), (header, claims, signature)


def test_odd_claims_of_a_good_key_are_no_error_of_the_server(server: Any, identity: IdentityProvider) -> None:
    for over in (
        {"sub": 5}, {"groups": {"a": 1}}, {"groups": 7}, {"groups": [[]]}, {"email": ["a"]}, {"email_verified": "no"}, {"exp": 10**30},
        {"aud": [1]}, {"nbf": []}, {"preferred_username": {}, "email": None},
    ):  # fmt: skip
        with contextlib.suppress(TypeError, ValueError):  # what the library does not sign
            token = identity.token(**over)
            assert server.get("/api/v2/status", token).status_code in {200, 401, 403}, over
