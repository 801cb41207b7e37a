"""Compare what storage holds with an entity's instances on a server, and report the drift on request. Never changes storage.

The server interprets texts and knows instances and retention. This module collects distinct texts and sends them in portions.
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
    """Instances, as stretches, and their number."""

    instances: list[str]
    count: int


class Drift(msgspec.Struct, frozen=True):
    """An answer of `POST /api/v2/entities/{name}/drift`."""

    entity: str
    seq: int
    agree: int
    retention: Differing
    external: Differing
    unknown: Differing
    unfinished: Differing
    underway: Differing


class ReconcileReport(msgspec.Struct, frozen=True):
    """The number of instances reported per kind, and what the server refused."""

    retention: int
    external: int
    adopted: int
    refused: list[str]


class Compared(NamedTuple):
    """`texts`: the number of distinct texts; `instances`: the number of their instances. `refused`: (text, why), the first 100 of
    `more_refused` + 100. `ignored`: the number of entries that are not data.
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
    """The server to ask, and the key."""

    url: str
    api_key: str | None = None

    def say(self, path: str, body: object) -> bytes:
        return ask(self.url, path, None, self.api_key, method="POST", body=msgspec.json.encode(body))


def began(server: Server, entity: str) -> int:
    """Ask for the current seq before storage is listed, so that later changes do not count as drift. NotFound without the entity."""
    answer = ask(server.url, path_of(entity, "status"), {"limit": 1}, server.api_key)
    return msgspec.json.decode(answer, type=_Seq).seq


def compare(server: Server, entity: str, listing: Listing, since: int, within: Sequence[str] = ()) -> Compared:
    """List storage to its end and compare. Memory grows with distinct texts, not with files."""
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
    """Report missing instances as deleted and, with `adopt`, unknown ones as produced in that state. Repeating it changes nothing.

    Raises InvalidQuestion if storage holds nothing at all, unless `empty`: usually the path is wrong.
    """
    drift = found.drift
    if not found.instances and drift.retention.count + drift.external.count and not empty:
        raise InvalidQuestion(
            f"nothing of {drift.entity} was found in {listing.where}; check the path, or add --empty if all of it is really gone"
        )
    reports = [
        *_reports(drift, "deleted", drift.retention, ref="retention", reason=f"not in {listing.where} any more"),
        *_reports(drift, "deleted", drift.external, ref="external", reason=f"not in {listing.where}"),
    ]
    if adopt:
        more: dict[str, Any] = {"ref": "reconcile", "states": [state], "reason": f"found in {listing.where}"}
        if listing.storage is not None:
            more["storage"] = listing.storage
        reports += _reports(drift, "produced", drift.unknown, future=True, **more)
    refused = []
    for some in portions(reports):
        refused += [why for why in refusals(server.say(PATH, {"reports": some})) if why is not None]
    return ReconcileReport(drift.retention.count, drift.external.count, drift.unknown.count if adopt else 0, refused)


def _reports(drift: Drift, what: str, some: Differing, **more: Any) -> Iterator[dict[str, Any]]:
    """Yield reports of at most 500 stretches of instances. Reporting the same drift again uses the same key; later drift has another seq."""
    for instances in portions(some.instances, 500):
        identity = "\0".join([what, str(more.get("ref")), str(drift.seq), *instances]).encode()
        key = f"reconcile:{hashlib.blake2b(identity, digest_size=16).hexdigest()}"
        yield {"entity": drift.entity, "what": what, "instances": instances, "key": key, **more}


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return each text once, in a form that can be sent: file names may be long or invalid UTF-8. Sorted: a portion then has few stretches."""
    return sorted({each[:200].encode("utf-8", "replace").decode() for each in texts})


def portions(some: Iterable[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """Split into portions, in order: the server limits texts and reports per request."""
    every = iter(some)
    while portion := list(islice(every, size)):
        yield portion


def path_of(entity: str, what: str) -> str:
    """Return the API path of an entity."""
    return f"/api/v2/entities/{quote(entity, safe='')}/{what}"
