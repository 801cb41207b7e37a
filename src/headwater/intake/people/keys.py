"""Create and revoke API keys. A key is shown once, when it is created; only its digest is stored.

A key is `hw_{id}_{secret}`: the id finds the row, and the digest of the whole key is compared in constant time. The secret has 256 random bits, so a
plain SHA-256 is as safe as a slow hash and costs little on each request.
"""

import datetime as dt
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence

import msgspec

from headwater.errors import InvalidQuestion, NotFound
from headwater.model.limits import parse_limits
from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people import keys as key_store

ROLES = ("read", "write", "admin")
_KEY = re.compile(r"hw_([0-9a-f]{12})_[A-Za-z0-9_-]{20,100}")
_AGE = re.compile(r"(\d{1,5})([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "y": 24 * 365}
_LONGEST = dt.timedelta(days=36_500)


class NewKey(msgspec.Struct, frozen=True):
    """A key that was just created; `key` is the only copy."""

    id: str
    name: str
    role: str
    key: str
    expires_at: dt.datetime | None
    limits: tuple[str, ...] = ()


def id_of(key: str) -> str | None:
    """The id inside a key, or None if it is not a Headwater key."""
    match = _KEY.fullmatch(key)
    return match[1] if match else None


def digest_of(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def same(digest: bytes, key: str) -> bool:
    """Return whether the digest is this key's. Takes constant time."""
    return hmac.compare_digest(digest, digest_of(key))


def age(text: str) -> dt.timedelta:
    """Parse a span of time such as `12h`, `90d`, `4w` or `1y`. Raises InvalidQuestion."""
    match = _AGE.fullmatch(text.strip())
    if not match or not int(match[1]):
        raise InvalidQuestion(f"{text!r} is not a span of time; write 12h, 90d, 4w or 1y", given=text)
    span = dt.timedelta(hours=int(match[1]) * _HOURS[match[2]])
    if span > _LONGEST:
        raise InvalidQuestion(
            f"{text!r} is over a hundred years; leave it out for a key that does not expire", given=text
        )
    return span


async def create(
    database: Database,
    name: str,
    role: str,
    *,
    expires: dt.timedelta | None,
    by: audit_store.Change,
    limits: Sequence[str] = (),
) -> NewKey:
    """Create a key. The audit row `by` is written in the same transaction. `limits`: see `model.limits`; only readers have any.

    Raises InvalidQuestion for an unknown role, an invalid name, wrong limits, or the name of a key in use.
    """
    if role not in ROLES:
        raise InvalidQuestion(f"{role!r} is not a role; use one of {', '.join(ROLES)}", role=role)
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InvalidQuestion("a key's name must have 1 to 100 printable characters", name=name[:100])
    parse_limits(limits)
    if limits and role != "read":
        raise InvalidQuestion(f"only the role read can be limited to some datasets, not {role}: use read", role=role)
    id = secrets.token_hex(6)
    key = f"hw_{id}_{secrets.token_urlsafe(32)}"
    expires_at = dt.datetime.now(dt.UTC) + expires if expires else None
    async with database.transaction() as connection:
        stored = await key_store.insert(connection, id, name, role, digest_of(key), by.actor, expires_at, limits)
        if stored is None:
            raise InvalidQuestion(
                f"a key is already called {name!r}; revoke it first, or choose another name", name=name
            )
        await audit_store.append(connection, by)
    return NewKey(id, name, role, key, expires_at, tuple(limits))


async def revoke(database: Database, key: str, *, by: audit_store.Change) -> key_store.Key:
    """Revoke a key by its id or name. Servers accept it for at most five more seconds. Raises NotFound."""
    async with database.transaction() as connection:
        revoked = await key_store.revoke(connection, key)
        if revoked is None:
            raise NotFound(
                f"no key in use has the name or id {key!r}; list the keys with `headwater server keys list`", key=key
            )
        await audit_store.append(connection, by)
    return revoked


async def used(database: Database, id: str) -> None:
    """Record that a key was used, at most once a minute."""
    async with database.connection() as connection:
        await key_store.touch(connection, id)
