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

from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from headwater.errors import NotSecured, SecretKeyDiffers
from headwater.home import open_private
from headwater.store import sqlfile
from headwater.store.database import Connection

_FILE = "secret.key"
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
    def _fernet(self) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self.derive("encryption")))

    def encrypt(self, secret: bytes) -> bytes:
        return _MARK + self.id.encode() + b":" + self._fernet.encrypt(secret)

    @cached_property
    def _signer(self) -> Ed25519PrivateKey:
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
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, document)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_encrypted(stored: bytes) -> bool:
    return stored.startswith(_MARK)


def load_key(configured: str | None, home: Path) -> SecretKey:
    """The key of the settings, else of the file in `home`, which is made if it is missing. Raises NotSecured if it cannot be read or made."""
    if configured:
        return SecretKey(hashlib.sha256(configured.encode()).digest())
    file = home / _FILE
    try:
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(file, "x", opener=open_private) as new:
                new.write(base64.b64encode(secrets.token_bytes(32)).decode())
        except FileExistsError:
            pass
        key = base64.b64decode(file.read_bytes(), validate=True)
    except (OSError, binascii.Error) as error:
        raise NotSecured(
            f"the key of secrets in {file} cannot be used ({error}); set HEADWATER_ACCESS__SECRET_KEY"
        ) from error
    if len(key) < 32:
        raise NotSecured(
            f"{file} holds {len(key)} bytes in base64 instead of 32; remove it, or set HEADWATER_ACCESS__SECRET_KEY"
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


async def check(connection: Connection, key: SecretKey) -> None:
    """Raise SecretKeyDiffers if the servers over this database use another key."""
    (current,) = await sqlfile.load("people/secrets")["key"].one(connection)
    if current not in {None, key.id}:
        raise SecretKeyDiffers(
            f"the servers over this database encrypt secrets with the key {current}, and here it is {key.id}. "
            "Set HEADWATER_ACCESS__SECRET_KEY to theirs, or ask a server: HEADWATER_URL",
            key=key.id,
        )
