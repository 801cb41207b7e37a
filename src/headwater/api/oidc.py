"""One OpenID Connect provider: discovery, exchange of a code for a token, and verification of tokens.

Authorization code with PKCE (RFC 7636). Every token is verified against the provider's published keys (OpenID Connect Core §3.1.3.7), which are
fetched when needed and cached for ten minutes. Refuses every token not signed with a public key: no `none`, no shared secret.
Knows no cookies and no roles: see sessions.py.
"""

import asyncio
import base64
import hashlib
import json
import math
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import jwt

from headwater.errors import HeadwaterError, ProviderUnavailable, SignInFailed, Unauthenticated
from headwater.settings import OidcSettings, listed

# The first letters of an algorithm: the type of its keys (RFC 7518, RFC 8037).
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_KEPT = 600.0
_AT_MOST_EVERY = 10.0  # an unknown key fetches the keys again, at most this often
_QUIET = 2.0  # pause after a failed request, because waiting requests would hold up the rest
_TIMEOUT = 5.0
_LARGEST = 1 << 20
_LEEWAY = 30
Claims = dict[str, Any]


class Provider:
    """Client of `settings.issuer`; sends no request before the first sign-in or token."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._issuer = (settings.issuer or "").rstrip("/")
        self._audiences = [settings.client_id, *listed(settings.audiences)]
        self._about = _Remembered(self._fetch_about)
        self._keys = _Remembered(self._fetch_keys)

    async def login_address(self, *, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Return the address at which the browser signs in."""
        about = await self._about.get()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._settings.client_id,
                "redirect_uri": redirect,
                "scope": self._settings.scopes,
                "state": state,
                "nonce": nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
        )
        address = _web(about.get("authorization_endpoint"))
        return f"{address}{'&' if urlsplit(address).query else '?'}{query}"

    async def claims_of_code(self, code: str, *, redirect: str, nonce: str, verifier: str) -> Claims:
        """Exchange the code and verify the id token of the answer. Raises SignInFailed, ProviderUnavailable."""
        about = await self._about.get()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        headers = {}
        secret, client = self._settings.client_secret, self._settings.client_id
        if not secret:
            form["client_id"] = client
        elif "client_secret_basic" in about.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
            pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form |= {"client_id": client, "client_secret": secret}
        reply = await self._fetch(_web(about.get("token_endpoint")), urlencode(form).encode(), headers)
        token = reply.get("id_token")
        if not isinstance(token, str):
            raise SignInFailed("the identity provider sent no id token: add `openid` to HEADWATER_ACCESS__OIDC__SCOPES")
        try:
            claims = await self._verified(token, [client])
        except jwt.PyJWTError as error:
            raise SignInFailed(f"the id token cannot be trusted: {error}. Sign in again") from error
        if claims.get("nonce") != nonce:
            raise SignInFailed("the id token belongs to another sign-in: sign in again")
        if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and claims.get("azp") != client:
            raise SignInFailed("the id token was made for another client: check HEADWATER_ACCESS__OIDC__CLIENT_ID")
        return claims

    async def claims_of_token(self, token: str) -> Claims:
        """Verify a bearer token. Raises Unauthenticated, ProviderUnavailable."""
        try:
            return await self._verified(token, self._audiences)
        except (jwt.PyJWTError, SignInFailed) as error:
            raise Unauthenticated(
                f"the token cannot be trusted: {error}. Get a new one", error="invalid_token"
            ) from error

    async def _verified(self, token: str, audiences: list[str]) -> Claims:
        header = jwt.get_unverified_header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
            raise jwt.InvalidAlgorithmError(f"its algorithm is {str(algorithm)[:20]}")
        key = await self._key(kid if isinstance(kid, str) else None)
        if _KEY_TYPES[algorithm[:2]] != key.key_type:
            raise jwt.InvalidAlgorithmError(
                f"its algorithm is {algorithm}, and the provider's key is of the type {key.key_type}"
            )
        about = await self._about.get()
        try:
            claims: Claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=audiences,
                issuer=about["issuer"],
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (TypeError, ValueError, AttributeError) as error:
            # The library checks a token's signature before its claims; what it does not expect in either is not a defect of this server.
            raise jwt.InvalidTokenError("it does not fit the provider's key") from error
        return claims

    async def _key(self, kid: str | None) -> jwt.PyJWK:
        keys: dict[str | None, jwt.PyJWK] = await self._keys.get()
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        if kid not in keys:
            keys = await self._keys.get(again=True)
        if kid not in keys:
            raise jwt.InvalidKeyError("the provider publishes no such key")
        return keys[kid]

    async def _fetch_keys(self) -> dict[str | None, jwt.PyJWK]:
        reply = await self._fetch(_web((await self._about.get()).get("jwks_uri")))
        keys: dict[str | None, jwt.PyJWK] = {}
        for item in reply.get("keys") or []:
            if item.get("use", "sig") != "sig" or item.get("kty") == "oct":
                continue
            try:
                keys[item.get("kid")] = jwt.PyJWK(item)
            except jwt.PyJWTError:
                continue  # the library does not support this kind of key; tokens signed with it are refused by its id
        return keys

    async def _fetch_about(self) -> dict[str, Any]:
        about = await self._fetch(f"{_web(self._issuer)}/.well-known/openid-configuration")
        if str(about.get("issuer", "")).rstrip("/") != self._issuer:
            raise SignInFailed(
                "the identity provider names another issuer: set HEADWATER_ACCESS__OIDC__ISSUER to that one"
            )
        return about

    async def _fetch(
        self, address: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        return await _fetch(address, body, headers or {})


class _Remembered:
    """One document of the provider, fetched when needed and too old. The last one stays valid while the provider is away."""

    def __init__(self, fetch: Callable[[], Awaitable[Any]]) -> None:
        self._fetch = fetch
        self._value: Any = None
        self._error: HeadwaterError | None = None
        self._at = self._failed_at = -math.inf
        self._turn = asyncio.Lock()

    async def get(self, *, again: bool = False) -> Any:
        """Return the document; `again`: a recent one. Raises when it was never fetched and cannot be."""
        async with self._turn:
            now = time.monotonic()
            due = now - self._at > (_AT_MOST_EVERY if again else _KEPT)
            if due and now - self._failed_at > (_QUIET if self._value is None else _AT_MOST_EVERY * 3):
                try:
                    self._value, self._at, self._error = await self._fetch(), time.monotonic(), None
                except HeadwaterError as error:
                    self._error, self._failed_at = error, time.monotonic()
            if self._value is None and self._error is not None:
                raise type(self._error)(self._error.message, **self._error.detail) from self._error
            return self._value


def _web(address: object) -> str:
    if not isinstance(address, str) or urlsplit(address).scheme not in {"http", "https"}:
        raise SignInFailed(
            "the identity provider names no usable address: check its discovery document at HEADWATER_ACCESS__OIDC__ISSUER"
        )
    return address


async def _fetch(address: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
    import httpx  # 9 MB, which a server without sign-in does not need

    asked = {"Accept": "application/json", **headers}
    method = "GET" if body is None else "POST"
    if body is not None:
        asked["Content-Type"] = "application/x-www-form-urlencoded"
    read = bytearray()
    try:
        async with (
            httpx.AsyncClient(
                verify=ssl.create_default_context(), timeout=_TIMEOUT, follow_redirects=body is None
            ) as client,
            client.stream(method, address, content=body, headers=asked) as reply,
        ):
            async for part in reply.aiter_bytes():
                read += part
                if len(read) > _LARGEST:
                    break
        if reply.is_error:
            if reply.status_code >= 500 or body is None:
                raise ProviderUnavailable(f"the identity provider answered {reply.status_code}")
            raise SignInFailed(f"the identity provider refused the code ({reply.status_code}); sign in again")
        found = json.loads(read)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise ProviderUnavailable(
            "the answer of the identity provider is not OpenID Connect: check HEADWATER_ACCESS__OIDC__ISSUER"
        ) from error
    if not isinstance(found, dict):
        raise ProviderUnavailable(
            "the answer of the identity provider is not OpenID Connect: check HEADWATER_ACCESS__OIDC__ISSUER"
        )
    return found
