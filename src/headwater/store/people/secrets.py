"""The key of the server's secrets: it signs sessions and encrypts listeners' secrets. It is never in the database, so no backup has it.

It is `HEADWATER_ACCESS__SECRET_KEY`, or else 32 random bytes in `HEADWATER_HOME/secret.key`. All servers over one database need the same key.
Without the former key, users sign in again, and the secrets of listeners must be set again.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import NotSecured, SecretKeyDiffers
from headwater.home import open_private
from headwater.store import sqlfile
from headwater.store.database import Connection

# The library takes 7 MiB, and a server without secrets in its database needs none of it.
if TYPE_CHECKING:
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FILE = "secret.key"
# An encrypted secret: this, the key's id, a colon, and a Fernet token (https://github.com/fernet/spec). A secret without it is from before 0.1.
_MARK = b"headwater:"


class SecretKey:
    """A key, by its bytes. `id` names it without revealing it."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def derive(self, purpose: str) -> bytes:
        """Derive 32 bytes for one purpose."""
        return hmac.digest(self._key, purpose.encode(), "sha256")

    @cached_property
    def id(self) -> str:
        return self.derive("id").hex()[:12]

    @cached_property
    def _fernet(self) -> "Fernet":
        from cryptography.fernet import Fernet

        return Fernet(base64.urlsafe_b64encode(self.derive("encryption")))

    def encrypt(self, secret: bytes) -> bytes:
        return _MARK + self.id.encode() + b":" + self._fernet.encrypt(secret)

    @cached_property
    def _signer(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.derive("signatures"))

    @property
    def public(self) -> bytes:
        """The public key of `sign`, with which anyone can verify a signature."""
        return self._signer.public_key().public_bytes_raw()

    def sign(self, document: bytes) -> bytes:
        """Sign a document (Ed25519)."""
        return self._signer.sign(document)

    def decrypt(self, stored: bytes) -> bytes:
        """The secret. Raises SecretKeyDiffers if another key encrypted it."""
        if not is_encrypted(stored):
            return stored
        from cryptography.fernet import InvalidToken

        id_, _, token = stored.removeprefix(_MARK).partition(b":")
        try:
            return self._fernet.decrypt(token)
        except InvalidToken as error:
            raise SecretKeyDiffers(
                f"the secret was encrypted with the key {id_.decode(errors='replace')}, and this server's key is {self.id}. "
                "Give every server the same HEADWATER_ACCESS__SECRET_KEY, or set the secret again: `headwater events listeners rotate NAME`",
                key=self.id,
            ) from error


def is_signed_by(public: bytes, signature: bytes, document: bytes) -> bool:
    """Return whether the holder of the key with this public part signed the document."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, document)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_encrypted(stored: bytes) -> bool:
    return stored.startswith(_MARK)


def new_key() -> tuple[SecretKey, bytes]:
    """Return a random key, and the content of a file that holds it."""
    key = secrets.token_bytes(32)
    return SecretKey(key), base64.b64encode(key)


def configured_key(text: str) -> SecretKey:
    """The key that a setting's text is."""
    return SecretKey(hashlib.sha256(text.encode()).digest())


def load_key(configured: str | None, home: Path, file: str = FILE) -> SecretKey:
    """The key of the settings, else of the file in `home`, which is made if it is missing. Raises NotSecured if it cannot be read or made."""
    if configured:
        return configured_key(configured)
    path = home / file
    try:
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(path, "x", opener=open_private) as new:
                new.write(new_key()[1].decode())
        except FileExistsError:
            pass
        key = base64.b64decode(path.read_bytes(), validate=True)
    except (OSError, binascii.Error) as error:
        raise NotSecured(
            f"the key of secrets in {path} cannot be used ({error}); set HEADWATER_ACCESS__SECRET_KEY"
        ) from error
    if len(key) < 32:
        raise NotSecured(
            f"{path} holds {len(key)} bytes in base64 instead of 32; remove it, or set HEADWATER_ACCESS__SECRET_KEY"
        )
    return SecretKey(key)


async def adopt(connection: Connection, key: SecretKey) -> str | None:
    """Make it the database's key: encrypt secrets that are stored in plain text. Returns the id of the former key if it was another one."""
    queries = sqlfile.load("people/secrets")
    for id_, secret, previous in await queries["plain"].many(connection, mark=_MARK):
        await queries["replace"].exec(
            connection,
            id=id_,
            secret=None if secret is None or is_encrypted(secret) else key.encrypt(secret),
            previous=None if previous is None or is_encrypted(previous) else key.encrypt(previous),
        )
    row = await queries["set_key"].maybe(connection, key=key.id)
    return row[0] if row else None


async def rotate(connection: Connection, former: SecretKey, key: SecretKey) -> int:
    """Encrypt all secrets in the database with `key` instead of `former`; return how many there are. Raises SecretKeyDiffers if one was encrypted
    with a third key."""
    queries, count = sqlfile.load("people/secrets"), 0

    def again(stored: bytes | None) -> bytes | None:
        nonlocal count
        count += stored is not None
        return None if stored is None else key.encrypt(former.decrypt(stored))

    for id_, secret, previous in await queries["encrypted_listeners"].many(connection):
        await queries["replace"].exec(connection, id=id_, secret=again(secret), previous=again(previous))
    for name, url, secret in await queries["encrypted_channels"].many(connection):
        await queries["replace_channel"].exec(connection, name=name, url=again(url), secret=again(secret))
    for name, secrets_ in await queries["encrypted_connectors"].many(connection):
        await queries["replace_connector"].exec(connection, name=name, secrets=again(secrets_))
    await queries["set_key"].maybe(connection, key=key.id)
    return count


async def current(connection: Connection) -> str | None:
    """Return the id of the key that the servers over this database use."""
    (id_,) = await sqlfile.load("people/secrets")["key"].one(connection)
    return None if id_ is None else str(id_)


async def check(connection: Connection, key: SecretKey) -> None:
    """Raise SecretKeyDiffers if the servers over this database use another key."""
    held = await current(connection)
    if held not in {None, key.id}:
        raise SecretKeyDiffers(
            f"the servers over this database encrypt secrets with the key {held}, and here it is {key.id}. "
            "Set HEADWATER_ACCESS__SECRET_KEY to theirs, or ask a server: HEADWATER_URL",
            key=key.id,
        )
