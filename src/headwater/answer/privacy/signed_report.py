"""Reports that the server signs: a later reader can tell that the server made one, and that nothing in it was changed."""

import base64
import binascii
from typing import Any

import msgspec

from headwater.store.people.secrets import SecretKey, is_signed_by


class SignedReport(msgspec.Struct, frozen=True):
    """`document`: the report as JSON text, which is what was signed. `signature`, `public_key`: Ed25519, in base64."""

    document: str
    signature: str
    public_key: str


class Verification(msgspec.Struct, frozen=True):
    """`valid`: the holder of the key signed the document as it is. `by_this_server`: the key is that of this server."""

    valid: bool
    by_this_server: bool


def sign_report(report: Any, key: SecretKey) -> SignedReport:
    """Sign a report."""
    document = msgspec.json.encode(report, order="deterministic")
    return SignedReport(document.decode(), _text(key.sign(document)), _text(key.public))


def verify_report(signed: SignedReport, key: SecretKey) -> Verification:
    """Verify the signature of a report."""
    try:
        public, signature = base64.b64decode(signed.public_key), base64.b64decode(signed.signature)
    except (binascii.Error, ValueError):
        return Verification(False, False)
    valid = is_signed_by(public, signature, signed.document.encode())
    return Verification(valid, valid and public == key.public)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
