"""Add, remove and test the channels of alerts. Addresses and secrets are encrypted, and never shown."""

import base64
import re
import secrets
from urllib.parse import urlsplit

import msgspec

from headwater.entities.alerts.messages import KINDS
from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.alerts.sending import MailServer, Receiver, SendOutcome
from headwater.intake.listeners.deliveries import in_thread
from headwater.intake.listeners.networks import Outbound
from headwater.intake.people.audit import Change
from headwater.store.alerts import channels as store
from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people.secrets import check

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"


class ChannelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A channel to add. `kind`: slack, teams, pagerduty, webhook. `url`: of the chat's webhook; of PagerDuty only if it is another than its own.

    `secret`: PagerDuty's routing key, or what signs a webhook (`whsec_…`; made if absent).
    """

    name: str
    kind: str
    url: str | None = None
    secret: str | None = None


class AddedChannel(msgspec.Struct, frozen=True):
    """`secret`: the only copy, if it was made here."""

    name: str
    secret: str | None


async def add_channel(database: Database, wanted: ChannelRequest, outbound: Outbound, *, by: Change) -> AddedChannel:
    """Add a channel. Raises InvalidQuestion for invalid values or a name in use, SecretKeyDiffers if the key is not the servers'."""
    if not _NAME.fullmatch(wanted.name):
        raise InvalidQuestion(
            "a channel's name must have 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
            name=wanted.name[:100],
        )
    if wanted.kind not in KINDS:
        raise InvalidQuestion(
            f"{wanted.kind[:40]!r} is not a kind of channel; use one of {', '.join(KINDS)}", field="kind"
        )
    url = wanted.url or (PAGERDUTY if wanted.kind == "pagerduty" else "")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not url.isascii() or not url.isprintable():
        raise InvalidQuestion("a channel's address must begin with http:// or https:// and have a host", field="url")
    secret, shown = wanted.secret, None
    if wanted.kind == "webhook" and secret is None:
        secret = shown = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
    if wanted.kind == "pagerduty" and not secret:
        raise InvalidQuestion(
            "PagerDuty needs the routing key of an integration; give it as the secret", field="secret"
        )
    async with database.transaction() as connection:
        await check(connection, outbound.key)
        encrypted = outbound.key.encrypt(secret.encode()) if secret else None
        added = await store.add(
            connection, wanted.name, wanted.kind, outbound.key.encrypt(url.encode()), encrypted, by.actor
        )
        if not added:
            raise InvalidQuestion(f"a channel is already called {wanted.name!r}; choose another name", name=wanted.name)
        await audit_store.append(connection, by)
    return AddedChannel(wanted.name, shown)


async def remove_channel(database: Database, name: str, *, by: Change) -> None:
    """Remove a channel; its messages that wait fail until there is one of its name again. Raises NotFound."""
    async with database.transaction() as connection:
        if not await store.remove(connection, name):
            raise unknown_channel(name)
        await audit_store.append(connection, by)


async def ping_channel(
    database: Database, name: str, outbound: Outbound, mail: MailServer | None, *, by: Change
) -> SendOutcome:
    """Send a test message. Raises NotFound."""
    async with database.transaction() as connection:
        channel = await store.named(connection, name)
        if channel is None:
            raise unknown_channel(name)
        await audit_store.append(connection, by)
    receiver = Receiver(outbound, mail, 10.0)
    return await in_thread(lambda: receiver.ping(channel))


def unknown_channel(name: str) -> NotFound:
    return NotFound(f"no channel is called {name!r}; list them with `headwater rules channels list`", name=name)
