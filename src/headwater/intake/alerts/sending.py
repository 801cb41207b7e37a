"""Send one message: by mail, or as an HTTP request in the shape of its channel. It blocks, and runs in a thread.

Each repetition of a message has the same id, where its receiver knows ids: `Message-ID` of a mail, `webhook-id`, PagerDuty's `dedup_key`.
"""

import base64
import contextlib
import datetime as dt
import smtplib
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from headwater.entities.alerts.messages import SHAPES, TroubleText, alert_text
from headwater.errors import HeadwaterError
from headwater.intake.listeners.destinations import signature
from headwater.intake.listeners.networks import Outbound
from headwater.intake.listeners.posting import Poster, Unreached
from headwater.store.alerts.channels import StoredChannel


class MailServer(msgspec.Struct, frozen=True):
    """`url`: smtp://user:password@host:port, or smtps:// for TLS from the start. `sender`: the address of the sender."""

    url: str
    sender: str


class SendOutcome(msgspec.Struct, frozen=True):
    """`error`: null if it was taken. `refused`: the receiver will never take it. `retry_after`: seconds that it asks to wait."""

    error: str | None = None
    refused: bool = False
    retry_after: float | None = None


class Receiver:
    """The mail server and the channels that messages go to."""

    def __init__(self, outbound: Outbound, mail: MailServer | None, seconds: float) -> None:
        self._outbound, self._mail, self._seconds = outbound, mail, seconds

    @property
    def sends_mail(self) -> bool:
        """True if it has a mail server; without one, mails are left to servers that have."""
        return self._mail is not None

    def ping(self, channel: StoredChannel) -> SendOutcome:
        """Send a test message to a channel."""
        at = dt.datetime.now(dt.UTC)
        cause = TroubleText(
            "first_seen",
            "channel:test",
            "this test",
            at,
            None,
            "a test of the channel",
            "headwater rules channels list",
        )
        told = alert_text(str(uuid.uuid4()), "test", "info", 0, cause, (), None)
        return self.post(uuid.uuid4(), channel, SHAPES[channel.kind](told))

    def post(self, id_: uuid.UUID, channel: StoredChannel, body: Mapping[str, Any]) -> SendOutcome:
        """Send a message to a channel. Never raises."""
        try:
            url = self._outbound.key.decrypt(channel.url).decode()
            secret = self._outbound.key.decrypt(channel.secret).decode() if channel.secret else ""
        except HeadwaterError as error:
            return SendOutcome(error.message)
        if channel.kind == "pagerduty":
            body = {"routing_key": secret, **body}
        content = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"}
        if channel.kind == "webhook":
            headers |= _signed(f"msg_{id_.hex}", secret, content)
        parts = urlsplit(url)
        poster = Poster(url, self._seconds, self._outbound.networks)
        over = _start_timer(self._seconds, poster.abort)
        try:
            reply = poster.post((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), content, headers)
        except Unreached as error:
            return SendOutcome(str(error))
        finally:
            over.cancel()
            poster.close()
        if reply.ok:
            return SendOutcome()
        return SendOutcome(str(reply)[:500], reply.refuses_events, reply.retry_after)

    def mail(self, id_: uuid.UUID, alert: uuid.UUID, address: str, body: Mapping[str, Any]) -> SendOutcome:
        """Send a mail. Never raises."""
        if self._mail is None:
            return SendOutcome("no mail server is set; set HEADWATER_ALERTS__MAIL_SERVER")
        try:
            _send_mail(self._mail, _message(self._mail, id_, alert, address, body), address, self._seconds)
        except smtplib.SMTPRecipientsRefused as error:
            code, words = next(iter(error.recipients.values()))
            return SendOutcome(f"{code} {words.decode(errors='replace')}", refused=code >= 500)
        except smtplib.SMTPResponseException as error:
            said = (
                error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
            )
            about_us = isinstance(
                error, smtplib.SMTPAuthenticationError | smtplib.SMTPConnectError | smtplib.SMTPHeloError
            )
            return SendOutcome(f"{error.smtp_code} {said}", refused=error.smtp_code >= 500 and not about_us)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return SendOutcome(f"{type(error).__name__}: {error}"[:500])
        return SendOutcome()


def _signed(id_: str, secret: str, body: bytes) -> dict[str, str]:
    """Headers of Standard Webhooks 1.0.0."""
    at = int(time.time())
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return {"webhook-id": id_, "webhook-timestamp": str(at), "webhook-signature": signature(key, id_, at, body)}


def _message(
    server: MailServer, id_: uuid.UUID, alert: uuid.UUID, address: str, body: Mapping[str, Any]
) -> EmailMessage:
    domain = server.sender.rpartition("@")[2].strip(">") or "headwater.invalid"
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = server.sender, address, str(body["subject"])
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = f"<{id_}@{domain}>"
    # Messages of one alert stand together, and no program answers them.
    message["References"] = f"<{alert}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(str(body["text"]))
    return message


def _send_mail(server: MailServer, message: EmailMessage, address: str, seconds: float) -> None:
    parts = urlsplit(server.url)
    host, tls = parts.hostname or "localhost", ssl.create_default_context()
    is_tls = parts.scheme == "smtps"
    client = smtplib.SMTP_SSL(timeout=seconds, context=tls) if is_tls else smtplib.SMTP(timeout=seconds)
    client._host = host  # type: ignore[attr-defined]  # the name that TLS checks; without it only a constructor that connects sets it
    over = _start_timer(seconds, lambda: _break(client))
    try:
        client.connect(host, parts.port or (465 if is_tls else 25))
        client.ehlo()
        if parts.scheme != "smtps" and client.has_extn("starttls"):
            client.starttls(context=tls)
            client.ehlo()
        if parts.username:
            if not isinstance(client.sock, ssl.SSLSocket):
                raise ValueError("the mail server offers no TLS, and a password is not sent without; use smtps://")
            client.login(unquote(parts.username), unquote(parts.password or ""))
        client.send_message(message, to_addrs=[address])
    finally:
        over.cancel()
        _leave(client)


def _start_timer(seconds: float, end: Callable[[], None]) -> threading.Timer:
    """Call `end` after so many seconds: a receiver that sends a byte now and then keeps each step within its time, and the whole for ever."""
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    return timer


def _break(client: smtplib.SMTP) -> None:
    held = client.sock
    if held is not None:
        with contextlib.suppress(OSError):  # it is closed already
            held.shutdown(socket.SHUT_RDWR)


def _leave(client: smtplib.SMTP) -> None:
    """Say QUIT and close without waiting for the answer, which changes nothing: RFC 5321 makes a mail the server's with the 250 to its text.

    `with client` would raise if QUIT is answered by an error, and a mail that was taken would be sent again.
    """
    with contextlib.suppress(OSError, smtplib.SMTPException):
        client.putcmd("QUIT")
    client.close()
