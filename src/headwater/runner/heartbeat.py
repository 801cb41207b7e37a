"""A worker of plans tells the server that it lives, also while it waits or runs something long."""

import contextlib
import threading
from collections.abc import Iterator

import msgspec

from headwater.client.ask import ask
from headwater.errors import HeadwaterError

EVERY = 10.0
EXPIRES = 35.0
"""Seconds: three heartbeats may be lost before a worker counts as gone."""
_TIMEOUT = 5.0


@contextlib.contextmanager
def heartbeat(
    url: str, name: str, plan: str | None = None, api_key: str | None = None, *, every: float = EVERY
) -> Iterator[None]:
    """Register the worker now and every few seconds, and take it off at the end. `plan`: it takes items of this one only.

    A server that does not answer, or that knows no workers, does not hinder the work: the next heartbeat tries again.
    """

    def register(expires: float) -> None:
        body = msgspec.json.encode({"worker": name, "plan": plan, "expires_seconds": expires})
        with contextlib.suppress(HeadwaterError):
            ask(url, "/api/v2/plan-workers", {}, api_key=api_key, timeout=_TIMEOUT, method="POST", body=body)

    def beat() -> None:
        register(EXPIRES)
        while not ending.wait(every):
            register(EXPIRES)

    ending = threading.Event()
    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(_TIMEOUT)
        register(0.0)
