"""Sign-ins: the provider's claims, or an API key, become a role, stored in a signed cookie.

The cookie holds name, role and end, signed with a secret that all servers over one database share. It cannot be forged or prolonged. The server
does not store it: a session lasts until its end, or until the secret is replaced; one that was made with a key, until the key is revoked.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from headwater.api.access import RANK, Actor, SignedIn
from headwater.errors import Forbidden, NotFound
from headwater.settings import LIMIT, AccessSettings, OidcSettings, listed

# Verifying tokens takes 12 MiB of libraries, which a server without a provider does not need.
if TYPE_CHECKING:
    from headwater.api.oidc import Claims, Provider

SESSION, LOGIN = "headwater_session", "headwater_login"
LOGIN_SECONDS = 600
T = TypeVar("T")


class Session(msgspec.Struct, frozen=True):
    """The content of the session cookie. `until`: seconds since 1970, as everywhere here. `key`: as in SignedIn; never a key itself."""

    name: str
    role: str
    until: float
    key: str | None = None
    limits: tuple[str, ...] = ()


class Login(msgspec.Struct, frozen=True):
    """The content of the cookie that lasts while the browser is at the provider."""

    state: str
    nonce: str
    verifier: str
    to: str
    until: float


class Sessions:
    """The part of access for people; `Access.sign_in`."""

    def __init__(self, settings: AccessSettings, secret: bytes) -> None:
        self.provider = _provider(settings.oidc) if settings.oidc.issuer else None
        self.seconds = settings.session_hours * 3600
        self._settings = settings.oidc
        self._secret = secret

    def of_session(self, cookies: Mapping[str, str]) -> SignedIn | None:
        """Return the signed-in user, or None: no cookie, a foreign one, or an expired one."""
        session = self.opened(cookies.get(SESSION, ""), Session)
        if session is None or session.until < time.time() or session.role not in RANK:
            return None
        return SignedIn(Actor(session.name, session.role, "session", session.limits), session.key)

    def session(self, signed: SignedIn) -> str:
        """Return the content of the cookie that a person has from now on."""
        actor = signed.actor
        return self.sealed(Session(actor.name, actor.role, time.time() + self.seconds, signed.key, actor.limits))

    async def of_token(self, token: str) -> Actor:
        """Return the user of a provider's token. Raises Unauthenticated, Forbidden, ProviderUnavailable."""
        return self.person(await self.of_provider().claims_of_token(token), "token")

    def of_provider(self) -> "Provider":
        """Return the identity provider. Raises NotFound if none is set up."""
        if self.provider is None:
            raise NotFound("no identity provider is set up: set HEADWATER_ACCESS__OIDC__ISSUER")
        return self.provider

    def person(self, claims: "Claims", via: str) -> Actor:
        """Return the user of verified claims. Raises Forbidden if they have no role."""
        name = name_of(claims)
        role = role_of(claims, self._settings)
        if role is None:
            raise Forbidden(
                f"{name!r} is known to the identity provider, but nothing in {self._settings.role_claim!r} gives a role here",
                claim=self._settings.role_claim,
            )
        return Actor(name, role, via, limits_of(claims, self._settings) if role == "read" else ())

    def sealed(self, value: Session | Login) -> str:
        """Sign a value for a cookie."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=")
        return f"{body.decode()}.{self._signature(type(value), body)}"

    def opened(self, cookie: str, kind: type[T]) -> T | None:
        """Return the value that `sealed` signed, or None for another signature or kind."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._signature(kind, body.encode()).encode(), signature.encode()):
            return None
        return msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=kind)

    def _signature(self, kind: type, body: bytes) -> str:
        # The kind is signed along: a login cookie is never a session.
        made = hmac.new(self._secret, kind.__name__.encode() + b":" + body, hashlib.sha256)
        return base64.urlsafe_b64encode(made.digest()).rstrip(b"=").decode()


def _provider(settings: OidcSettings) -> "Provider":
    from headwater.api.oidc import Provider

    return Provider(settings)


def name_of(claims: "Claims") -> str:
    """Return a user's name: a verified mail address, else a user name, else the subject."""
    email = claims.get("email")
    if isinstance(email, str) and email and claims.get("email_verified") is not False:
        return email
    return str(claims.get("preferred_username") or claims["sub"])


def role_of(claims: "Claims", settings: OidcSettings) -> str | None:
    """Return the highest role of a user's groups, else the default role; None if the user may not enter.

    With `allowed_domains`, a user without a verified mail address in one of them gets none.
    """
    domains = [domain.lower().lstrip("@") for domain in listed(settings.allowed_domains)]
    if domains:
        email = claims.get("email")
        domain = email.rpartition("@")[2].lower() if isinstance(email, str) and "@" in email else None
        if domain not in domains or claims.get("email_verified") is False:
            return None
    pairs = (part.rpartition("=") for part in listed(settings.roles))
    wanted = {group.strip(): role.strip() for group, _, role in pairs}
    found = [wanted[group] for group in groups_of(claims, settings.role_claim) if group in wanted]
    if ranked := sorted((role for role in found if RANK.get(role, -1) > 0), key=lambda role: RANK[role]):
        return ranked[-1]
    default = settings.default_role or ("read" if domains else "none")
    return None if default == "none" else default


def limits_of(claims: "Claims", settings: OidcSettings) -> tuple[str, ...]:
    """Return what a reader may see: the limits of all their groups together; empty where no group has any."""
    pairs = filter(None, map(LIMIT.fullmatch, listed(settings.limits)))
    groups = set(groups_of(claims, settings.role_claim))
    return tuple(pair["limit"].strip() for pair in pairs if pair["group"].strip() in groups)


def groups_of(claims: "Claims", claim: str) -> list[str]:
    """Return the claim's values; a name that does not exist as a whole is a path (`realm_access.roles`)."""
    value: object = claims.get(claim)
    if value is None:
        value = claims
        for part in claim.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str):
        return value.split()
    return [str(item) for item in value] if isinstance(value, list) else []
