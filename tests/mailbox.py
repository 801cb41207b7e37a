"""A mail server on a real socket: keeps every mail, and answers as a test tells it to."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller


class Mailbox:
    """`refuse`: what is answered to an address, by it; `answer`: to the text of a mail; `taken`: called when a mail is taken, before its answer;
    `goodbye`: what is answered to QUIT; None: nothing, for as long as the mailbox is there.
    """

    def __init__(self) -> None:
        self.mails: list[tuple[str, Message]] = []
        self.refuse: dict[str, str] = {}
        self.answer = "250 taken"
        self.taken: Callable[[], None] = lambda: None
        self.goodbye: str | None = "221 Bye"
        self.port = 0

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def to(self) -> list[str]:
        """The addresses, in the order in which mails came."""
        return [address for address, _ in self.mails]

    def text(self, number: int) -> str:
        message: Any = self.mails[number][1]
        return str(message.get_content())

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_QUIT(self, _server: Any, _session: Any, _envelope: Any) -> str:
        while self.goodbye is None:
            await asyncio.sleep(0.01)
        return self.goodbye

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        if self.answer.startswith("2"):
            self.mails += [
                (address, message_from_bytes(envelope.content, policy=default)) for address in envelope.rcpt_tos
            ]
            self.taken()
        return self.answer


@contextmanager
def mailbox(port: int = 0) -> Iterator[Mailbox]:
    box = Mailbox()
    box.port = port or _free_port()
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    try:
        yield box
    finally:
        box.goodbye = box.goodbye or "221 Bye"
        controller.stop()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def silent(port: int = 0) -> Iterator[tuple[int, list[float]]]:
    """A mail server that takes connections and says nothing: the port, and when it was called."""
    import threading

    calls: list[float] = []
    listening = socket.create_server(("127.0.0.1", port), reuse_port=False)
    held: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            held.append(connection)
            calls.append(time.monotonic())

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], calls
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in held:
            connection.close()
        thread.join(5)
