"""`/auth`: people sign in with the identity provider or with an API key, see their identity, and sign out.

A sign-in is bound to the browser that began it (`state`, `nonce` and the PKCE verifier are in a signed cookie). It redirects only to paths of
this server.
"""

import hmac
import secrets
import time
from typing import Any

import msgspec
from litestar import Request, Router, get, post, route
from litestar.datastructures import Cookie, State
from litestar.enums import HttpMethod
from litestar.params import FromQuery, JSONBody
from litestar.response import Redirect, Response

from headwater.api.access import Access, SignedIn
from headwater.api.sessions import LOGIN, LOGIN_SECONDS, SESSION, Login, Sessions
from headwater.errors import NotFound, SignInFailed, Unauthenticated

_LOGOUT = "auth/logout"


class Me(msgspec.Struct):
    """The caller. `limits`: the datasets that they may see; empty: all.

    `login` and `logout` are the addresses to sign in and out, relative to the page; null if that is not possible.
    """

    name: str
    role: str
    via: str
    login: str | None
    logout: str | None
    limits: tuple[str, ...] = ()


@get("/me")
async def me(request: Request[Any, Any, Any], state: State) -> Me:
    """Return the caller; 401 for a request without identity, with `detail.login` where the identity provider signs people in."""
    access: Access = state.access
    provided = isinstance(access.sign_in, Sessions) and access.sign_in.provider is not None
    login = "auth/login" if provided else None
    try:
        actor = await access.actor(request)
    except Unauthenticated as error:
        raise Unauthenticated(error.message, **error.detail, login=login) from error
    return Me(actor.name, actor.role, actor.via, login, _LOGOUT if actor.via == "session" else None, actor.limits)


class WithKey(msgspec.Struct, forbid_unknown_fields=True):
    """An API key, or the server's admin key."""

    key: str


@post("/key", status_code=200, opt={"role": "anyone", "audit": False})
async def sign_in_with_key(request: Request[Any, Any, Any], state: State, data: JSONBody[WithKey]) -> Response[Me]:
    """Exchange a key for a session of this browser, which ends with the key. Unauthenticated for a key that is none."""
    access: Access = state.access
    # A page of another site must not sign a person in as someone else.
    access.refuse_other_sites(request)
    if not isinstance(access.sign_in, Sessions):
        raise NotFound("this server is open: there is nothing to sign in to")
    signed = await access.of_key(data.key.strip())
    cookie = _cookie(request, state, SESSION, access.sign_in.session(signed), int(access.sign_in.seconds))
    return Response(
        Me(signed.actor.name, signed.actor.role, "session", None, _LOGOUT, signed.actor.limits), cookies=[cookie]
    )


@get("/login", status_code=303)
async def login(request: Request[Any, Any, Any], state: State, to: FromQuery[str] = "") -> Redirect:
    """Redirect to the provider, which redirects back to `to`, a path of this server."""
    sessions = _sessions(state)
    begun = Login(
        secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48), _own(to, state),
        time.time() + LOGIN_SECONDS,
    )  # fmt: skip
    address = await sessions.of_provider().login_address(
        redirect=_address(request, state), state=begun.state, nonce=begun.nonce, verifier=begun.verifier
    )
    return _away(address, _cookie(request, state, LOGIN, sessions.sealed(begun), LOGIN_SECONDS, "/auth"))


@get("/callback", status_code=303)
async def callback(
    request: Request[Any, Any, Any],
    state: State,
    code: FromQuery[str] = "",
    error: FromQuery[str] = "",
    error_description: FromQuery[str] = "",
) -> Redirect:
    """Receive the provider's redirect and exchange its code for a session."""
    sessions = _sessions(state)
    begun = sessions.opened(request.cookies.get(LOGIN, ""), Login)
    given = request.query_params.get("state", "")
    if begun is None or begun.until < time.time() or not hmac.compare_digest(begun.state.encode(), given.encode()):
        raise SignInFailed("this browser did not begin this sign-in, or it took too long; sign in again")
    if error or not code:
        raise SignInFailed(
            f"the identity provider refused the sign-in: {(error_description or error or 'it sent no code')[:300]}. Sign in again"
        )
    claims = await sessions.of_provider().claims_of_code(
        code, redirect=_address(request, state), nonce=begun.nonce, verifier=begun.verifier
    )
    actor = sessions.person(claims, "session")
    session = sessions.session(SignedIn(actor, None))
    return _away(
        begun.to,
        _cookie(request, state, SESSION, session, int(sessions.seconds)),
        _cookie(request, state, LOGIN, "", 0, "/auth"),
    )


@route("/logout", http_method=[HttpMethod.GET, HttpMethod.POST], status_code=303, opt={"audit": False})
async def logout(request: Request[Any, Any, Any], state: State) -> Redirect:
    """End the session in this browser, and redirect to the page."""
    return _away(_root(state) + "/", _cookie(request, state, SESSION, "", 0))


def _sessions(state: State) -> Sessions:
    found = state.access.sign_in
    if not isinstance(found, Sessions):
        raise NotFound("no identity provider is set up: set HEADWATER_ACCESS__OIDC__ISSUER")
    return found


def _root(state: State) -> str:
    return str(state.settings.server.root_path)


def _own(to: str, state: State) -> str:
    """Return the path if it is one of this server, else that of the page."""
    own = to.startswith(f"{_root(state)}/") and not to.startswith("//") and "\\" not in to and to.isprintable()
    return to if own else _root(state) + "/"


def _origin(request: Request[Any, Any, Any]) -> str:
    """Return the scheme and host by which the browser reaches the server, as a proxy in front reports them."""
    scheme = request.headers.get("x-forwarded-proto", request.scope["scheme"]).split(",")[0].strip()
    return f"{scheme if scheme in {'http', 'https'} else 'http'}://{request.headers.get('host', '')}"


def _address(request: Request[Any, Any, Any], state: State) -> str:
    """Return the redirect address, which must be registered at the provider."""
    public = state.settings.server.public_url
    base = public.rstrip("/") if public else _origin(request) + _root(state)
    return f"{base}/auth/callback"


def _cookie(
    request: Request[Any, Any, Any], state: State, name: str, value: str, seconds: int, below: str = ""
) -> Cookie:
    public = state.settings.server.public_url or _origin(request)
    return Cookie(
        name,
        value=value,
        max_age=seconds,
        path=(_root(state) + below) or "/",
        httponly=True,
        samesite="lax",
        secure=public.startswith("https:"),
    )


def _away(address: str, *cookies: Cookie) -> Redirect:
    return Redirect(address, status_code=303, cookies=list(cookies), headers={"cache-control": "no-store"})


router = Router(
    "/auth", route_handlers=[me, sign_in_with_key, login, callback, logout], opt={"role": "anyone"}, tags=["Signing in"]
)
