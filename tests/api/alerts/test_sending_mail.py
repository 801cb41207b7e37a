"""A mail is sent to a real SMTP server: the answer to its text decides whether it was taken, and nothing that comes after."""

import uuid

import pytest
from tests.api.alerts.test_alert_messages import OUTBOUND
from tests.mailbox import mailbox

from headwater.intake.alerts.sending import MailServer, Receiver

BODY = {"subject": "raw.load failed", "text": "since 06:05"}


def send(url: str) -> str | None:
    receiver = Receiver(OUTBOUND, MailServer(url, "headwater@example.com"), 5.0)
    return receiver.mail(uuid.uuid4(), uuid.uuid4(), "ana@example.com", BODY).error


@pytest.mark.parametrize("goodbye", ["421 closing", "451 try later", "500 no such command", "554 no"])
def test_a_mail_that_was_taken_is_sent_though_the_goodbye_fails(goodbye: str) -> None:
    with mailbox() as box:
        box.goodbye = goodbye
        assert send(box.url) is None
        assert box.to() == ["ana@example.com"]


def test_a_goodbye_that_does_not_come_is_not_waited_for() -> None:
    with mailbox() as box:
        box.goodbye = None
        assert send(box.url) is None
        assert box.to() == ["ana@example.com"]


def test_the_answer_to_the_text_is_the_error_whatever_the_goodbye_is() -> None:
    with mailbox() as box:
        box.answer, box.goodbye = "451 the disk is full", "554 no"
        assert send(box.url) == "451 the disk is full"
