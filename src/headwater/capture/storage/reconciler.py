"""Compare what storage holds with what a server knows of an entity, and tell the server what differs where that is asked. Never touches storage.

What a text means, what is known and what retention keeps is the server's to say. Here texts are collected and sent in portions, each once.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from headwater.capture.storage.listing import Listing
from headwater.client.ask import ask
from headwater.client.reports import PATH, refusals
from headwater.errors import InvalidQuestion

T = TypeVar("T")

_AT_ONCE = 1000
_SHOWN = 100


class Differing(msgspec.Struct, frozen=True):
    """Instances, by runs, and how many."""

    instances: list[str]
    count: int


class Drift(msgspec.Struct, frozen=True):
    """As `POST /api/v2/entities/{name}/drift` answers."""

    entity: str
    seq: int
    agree: int
    retention: Differing
    external: Differing
    unknown: Differing
    unfinished: Differing
    underway: Differing


class ReconcileReport(msgspec.Struct, frozen=True):
    """What was reported: how many instances as what, and what the server refused of it."""

    retention: int
    external: int
    adopted: int
    refused: list[str]


class Compared(NamedTuple):
    """`texts`: how many different ones were found; `instances`: how many instances those are. `refused`: (text, why), the first 100 of
    `more_refused` + 100. `ignored`: what was there and is no data.
    """

    drift: Drift
    texts: int
    instances: int
    refused: list[tuple[str, str]]
    more_refused: int
    ignored: int


class _Refused(msgspec.Struct):
    text: str
    why: str


class _At(msgspec.Struct):
    instances: list[str]
    count: int
    refused: list[_Refused]


class _Seq(msgspec.Struct):
    seq: int


class Server(NamedTuple):
    """Where to ask, and as whom."""

    url: str
    api_key: str | None = None

    def say(self, path: str, body: object) -> bytes:
        return ask(self.url, path, None, self.api_key, method="POST", body=msgspec.json.encode(body))


def began(server: Server, entity: str) -> int:
    """The seq of what is known now: asked before storage is listed, so that what happens meanwhile is not taken for drift. NotFound for no entity."""
    answer = ask(server.url, path_of(entity, "status"), {"limit": 1}, server.api_key)
    return msgspec.json.decode(answer, type=_Seq).seq


def compare(server: Server, entity: str, listing: Listing, since: int, within: Sequence[str] = ()) -> Compared:
    """List storage to its end and compare. Memory is that of the different texts, not of files."""
    stored: list[str] = []
    refused: list[tuple[str, str]] = []
    texts = count = more = 0
    for some in portions(_distinct(listing.texts)):
        found = msgspec.json.decode(server.say(path_of(entity, "instances/at"), {"texts": some}), type=_At)
        texts += len(some)
        count += found.count
        stored += found.instances
        kept = found.refused[: max(_SHOWN - len(refused), 0)]
        refused += [(each.text, each.why) for each in kept]
        more += len(found.refused) - len(kept)
    body = {"stored": stored, "within": list(within), "since": since}
    drift = msgspec.json.decode(server.say(path_of(entity, "drift"), body), type=Drift)
    return Compared(drift, texts, count, refused, more, listing.ignored)


def report(
    server: Server, found: Compared, listing: Listing, *, adopt: bool, state: str = "completed", empty: bool = False
) -> ReconcileReport:
    """Say that what is missing was deleted, and, to `adopt`, that what is unknown is there in that state. Said twice it changes nothing.

    InvalidQuestion where storage holds nothing at all, unless `empty`: that is a wrong path more often than a loss.
    """
    drift = found.drift
    if not found.instances and drift.retention.count + drift.external.count and not empty:
        raise InvalidQuestion(
            f"nothing of {drift.entity} was found in {listing.where}; a wrong path looks like that: say --empty where all of it is gone"
        )
    reports = [
        *_reports(drift, "deleted", drift.retention, ref="retention", reason=f"not in {listing.where} any more"),
        *_reports(drift, "deleted", drift.external, ref="external", reason=f"not in {listing.where}"),
    ]
    if adopt:
        more: dict[str, Any] = {"ref": "reconcile", "states": [state], "reason": f"found in {listing.where}"}
        if listing.storage is not None:
            more["storage"] = listing.storage
        reports += _reports(drift, "produced", drift.unknown, **more)
    refused = []
    for some in portions(reports):
        refused += [why for why in refusals(server.say(PATH, {"reports": some})) if why is not None]
    return ReconcileReport(drift.retention.count, drift.external.count, drift.unknown.count if adopt else 0, refused)


def _reports(drift: Drift, what: str, some: Differing, **more: Any) -> Iterator[dict[str, Any]]:
    """At most 500 runs of instances in each. The key is the same when the same drift is told again; later drift has another seq."""
    for instances in portions(some.instances, 500):
        told = "\0".join([what, str(more.get("ref")), str(drift.seq), *instances]).encode()
        key = f"reconcile:{hashlib.blake2b(told, digest_size=16).hexdigest()}"
        yield {"entity": drift.entity, "what": what, "instances": instances, "key": key, **more}


def _distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, and as text that can be sent: names of files may be no UTF-8, and of any length. Sorted, so that a portion is of few runs."""
    return sorted({each[:200].encode("utf-8", "replace").decode() for each in texts})


def portions(some: Iterable[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """In their order, so many at most in each: the server takes no more texts or reports at once."""
    every = iter(some)
    while portion := list(islice(every, size)):
        yield portion


def path_of(entity: str, what: str) -> str:
    """Where the server is asked of an entity."""
    return f"/api/v2/entities/{quote(entity, safe='')}/{what}"
