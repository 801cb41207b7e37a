"""Random requests: no 5xx, no internal details in a reply, and every accepted event is in the log.

The suite draws a few seconds of them and takes the hostile values in turns; `make soak` takes every value in every place.
`HEADWATER_FUZZ_SECONDS` makes the random half longer still.
"""

import codecs
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any
from urllib.parse import quote, unquote_plus

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from tests.events import RUN, dataset, encoded, facet, run_event
from tests.hostile import FAR_TIMES, NUMBERS, TEXTS, VALUES, declared, deep, described, mutated, whole
from tests.scale import full

from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model.version import event_digest
from headwater.store.database import Database

SECONDS = float(os.environ.get("HEADWATER_FUZZ_SECONDS") or full(90, 3))
# To an identity provider, which there is none of here; and a stream without an end (test_stale_stream.py has its hostile values).
UNASKED = ("/api/v2/auth", "/api/v2/events/stream")
LINEAGE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
INSIDE = re.compile(
    rb"Traceback|File \"|psycopg|PostgreSQL|sqlstate|\bselect\b.+\bfrom\b|insert into|violates|syntax error at|/src/",
    re.I,
)
HYPOTHESIS: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


def right(reply: Any, asked: object, declared: Collection[str] = ()) -> None:
    """No 5xx; an error has our shape and says nothing of the inside. `declared`: the statuses that the description has."""
    assert reply.status_code < 500, (asked, reply.status_code, reply.text[:500])
    assert not declared or str(reply.status_code) in declared, (asked, reply.status_code, reply.text[:500])
    if reply.status_code >= 400 and declared:
        given = set(reply.json())
        shapes: list[set[str]] = [{"code", "status", "message", "detail"}]
        if reply.request.url.path.startswith(("/api/v1/", "/api/v2beta/")):
            shapes += [{"code", "message"}, {"errors"}]
        assert given in shapes, (asked, reply.text[:500])
    if reply.status_code >= 400:
        sent = unquote_plus(str(reply.request.url)).lower().encode()
        told = [one[0] for one in INSIDE.finditer(reply.content) if one[0].lower() not in sent]
        assert not told, (told, asked, reply.text[:2000])
        assert len(reply.content) < 100_000, (asked, len(reply.content))


@pytest.fixture
def seeded(client: Any) -> Any:
    """A client of a server that holds something under every name that is asked for."""
    for number, make in enumerate((whole, declared, described, whole)):
        assert client.post(LINEAGE, encoded(make(number))).status_code == 201
    return client


def operations(client: Any) -> list[tuple[str, str, dict[str, Any]]]:
    described = client.get("/schema/openapi.json").json()
    found = [(path, method.upper(), told) for path, ways in described["paths"].items() for method, told in ways.items()]
    assert len(found) > 20
    return found


SLOW: dict[str, float] = {}
"""Operations and the longest time of those of their replies that took over five seconds. Listed in the report, no reason to fail."""


def ask(client: Any, method: str, path: str, **more: Any) -> Any:
    return timed(f"{method} {path[:100]}", lambda: client._run(client._http.request(method, path, **more)))


def timed(what: str, call: Callable[[], Any]) -> Any:
    began = time.monotonic()
    try:
        return call()
    finally:
        took = time.monotonic() - began
        if took > 5:
            SLOW[what] = max(took, SLOW.get(what, 0.0))


@pytest.fixture(autouse=True)
def slow_replies(request: pytest.FixtureRequest) -> Iterator[None]:
    """The property `replies_over_5_s` of each test in the JUnit report."""
    SLOW.clear()
    yield
    slow = json.dumps({what: round(took, 1) for what, took in sorted(SLOW.items())})
    request.node.user_properties.append(("replies_over_5_s", slow))


# -- questions --

KNOWN = ["file", "/in", "/out", "test", "job", RUN.format(0), "dataset:file:/in", "job:test:job", "a", "desc"]
HOSTILE = [*(text for text in TEXTS if len(text) < 5000), "x" * 7000, *map(str, NUMBERS), "nan", "null", "[]", *KNOWN]


def test_every_parameter_takes_every_hostile_value(seeded: Any) -> None:
    """One at a time, the others as they should be. In the suite each parameter takes a tenth of them, in turns."""
    step, turn = full(1, 20), 0
    for path, method, told in operations(seeded):
        given = told.get("parameters", [])
        fit = {one["name"]: quote(_fit(one["name"]), safe="") for one in given if one["in"] == "path"}
        needed = {one["name"]: _fit(one["name"]) for one in given if one["in"] == "query" and one.get("required")}
        if path.startswith(UNASKED):
            continue
        for one in given:
            if one["in"] not in {"path", "query"}:
                continue
            turn += 1
            for value in HOSTILE[turn % step :: step]:
                segments, query = dict(fit), dict(needed)
                if one["in"] == "path":
                    segments[one["name"]] = quote(value, safe="")
                else:
                    query[one["name"]] = value
                where = path.format(**segments)
                reply = ask(seeded, method, where, params=query)
                # An empty segment is another route's path.
                statuses = told["responses"] if value or one["in"] == "query" else ()
                right(reply, (method, path, one["name"], value[:60]), statuses)


def _fit(name: str) -> str:
    usual = {"namespace": "file", "dataset": "/in", "name": "/in", "job": "job", "node": "dataset:file:/in"}
    return usual.get(name, RUN.format(0) if "run" in name.lower() or name == "id" else "dataset:file:/in")


def test_what_the_description_allows_and_what_it_does_not(seeded: Any) -> None:
    """Schemathesis draws requests from the OpenAPI description, good ones and bad ones, in turns until the time is up."""
    schema = schemathesis.openapi.from_dict(seeded.get("/schema/openapi.json").json())
    asked: set[str] = set()
    ends = time.monotonic() + SECONDS

    def once(operation: Any, mode: GenerationMode) -> None:
        @settings(max_examples=4, **HYPOTHESIS)
        @given(case=operation.as_strategy(generation_mode=mode))
        def draw(case: Any) -> None:
            if time.monotonic() > ends and operation.label in asked:
                return
            asked.add(operation.label)
            more = case.as_transport_kwargs(base_url="http://localhost")
            more.pop("cookies", None)
            try:
                reply = timed(operation.label, lambda: seeded._run(seeded._http.request(**_plain(more))))
            except httpx.InvalidURL:
                return  # longer than this client can send
            # Negative data may have another method's path, or one of several segments, which is another route's.
            declared = operation.definition.raw["responses"] if mode == GenerationMode.POSITIVE else ()
            right(reply, (operation.label, repr(more)[:500]), declared)

        try:
            draw()
        except Unsatisfiable:
            # Nothing could be wrong about it; or it takes a path of several segments, which Schemathesis does not draw.
            assert mode == GenerationMode.NEGATIVE or operation.path == "/api/v1/events/{namespace}", operation.label

    found = [result.ok() for result in schema.get_all_operations()]
    turns = 0
    while turns == 0 or time.monotonic() < ends:
        for operation in found:
            if not operation.path.startswith(UNASKED):
                once(operation, GenerationMode.POSITIVE if turns % 2 == 0 else GenerationMode.NEGATIVE)
        turns += 1
    assert len(asked) > 20
    assert seeded.get("/api/v2/status").status_code == 200


def _plain(more: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the client takes: it cannot send header characters that HTTP has no letters for."""
    headers = {name: value for name, value in (more.pop("headers", None) or {}).items() if _sayable(str(value))}
    if isinstance(more.get("data"), str | bytes):
        more["content"] = more.pop("data")
    return {name: value for name, value in more.items() if value is not None} | {"headers": headers}


def _sayable(value: str) -> bool:
    return value.isascii() and value.isprintable()


# -- events --


def in_log(client: Any, database: Database, bodies: list[bytes]) -> None:
    """Every one of these is in the log once, with the bytes of one of those that mean the same."""

    async def kept() -> list[Any]:
        async with database.connection() as connection:
            cursor = await connection.execute("select digest, body from events")
            return await cursor.fetchall()

    rows = client._run(kept())
    digests = [row[0] for row in rows]
    assert len(digests) == len(set(digests))
    log = dict(rows)
    spellings: dict[bytes, set[bytes]] = {}
    for body in bodies:
        spellings.setdefault(event_digest(body), set()).add(body)
    for digest, alike in spellings.items():
        assert log.get(digest) in alike, min(alike)[:300]


def readable(client: Any) -> None:
    """Every page about what is stored is answered."""
    for kind in ("datasets", "jobs"):
        for one in client.get(f"/api/v2/{kind}", limit=300).json()[kind]:
            namespace, name = (quote(one[part], safe="") for part in ("namespace", "name"))
            right(client.get(f"/api/v2/{kind}/{namespace}/{name}"), ("GET", kind, namespace[:200], name[:200]))
            right(client.get("/api/v2/lineage", node=one["id"][:15_000], columns=True), ("lineage", one["id"][:200]))
            right(client.get("/api/v2/search", q=one["name"][:200]), ("search", one["name"][:200]))
    for one in client.get("/api/v2/runs", limit=300).json()["runs"]:
        right(client.get(f"/api/v2/runs/{one['id']}"), one["id"])
    for path in (
        "/api/v1/namespaces",
        "/api/v1/events/lineage",
        "/api/v2/producers",
        "/api/v2/near-misses",
        "/metrics",
    ):
        assert client.get(path).status_code == 200, path


def taken(client: Any, body: bytes) -> bool:
    """Send the event and return whether it was accepted. A refusal has a reason of its own."""
    reply = client.post(LINEAGE, body)
    right(reply, body[:2000])
    assert reply.status_code in {201, 400, 413}, (reply.status_code, reply.text[:300], body[:2000])
    return bool(reply.status_code == 201)


def ends_well(client: Any, database: Database, accepted: list[bytes]) -> None:
    in_log(client, database, accepted)
    readable(client)
    before = client._run(fingerprints(database))
    client._run(rebuild(database))
    assert client._run(fingerprints(database)) == before


def every_place() -> Iterator[tuple[Any, ...]]:
    from tests.hostile import places

    for make in (whole, declared, described):
        for path in places(make(0)):
            yield (make, path)


def test_every_place_of_an_event_takes_every_hostile_value(client: Any, database: Database) -> None:
    """The events go in batches, for there are many; a batch stands or falls event by event."""
    from tests.hostile import changed

    accepted: list[bytes] = []
    for number, (make, path) in enumerate(every_place()):
        bodies = []
        for value in VALUES[number % 4 :: 1 if len(path) < 2 else full(1, 4)]:
            if len(repr(value)) > 20_000:
                continue
            event = make(number % 50)
            changed(event, path, "replace", value)
            bodies.append(encoded(event))
        reply = client.post(BATCH, b"[" + b",".join(bodies) + b"]")
        right(reply, path)
        assert reply.status_code == 200, (path, reply.text[:300])
        refused = {one["index"] for one in reply.json()["failed_events"]}
        accepted += [body for index, body in enumerate(bodies) if index not in refused]
    in_log(client, database, accepted)
    assert client.get("/api/v2/status").status_code == 200


def test_mutated_events(client: Any, database: Database) -> None:
    accepted: list[bytes] = []

    @settings(max_examples=full(720, 60), **HYPOTHESIS)
    @given(event=mutated(), whole_batch=st.booleans())
    def send(event: Any, whole_batch: bool) -> None:
        body = encoded(event)
        if len(body) > 900_000:
            return
        if not whole_batch:
            if taken(client, body):
                accepted.append(body)
            return
        good = encoded(run_event("START", 7, "neighbour"))
        reply = client.post(BATCH, b"[" + good + b"," + body + b',{"run": 1},7,' + good + b"]")
        right(reply, body[:2000])
        assert reply.status_code == 200, (reply.text[:300], body[:2000])
        refused = {one["index"] for one in reply.json()["failed_events"]}
        assert {2, 3} <= refused <= {1, 2, 3}
        accepted.extend([good] if 1 in refused else [good, body])

    send()
    assert len(accepted) > 50
    ends_well(client, database, accepted)


BODY = encoded(whole(1))
ODD = {
    "a time before all time": BODY.replace(b"2026-01-01T00:00:00Z", FAR_TIMES[0].encode(), 1),
    "a time after all time": BODY.replace(b"2026-01-01T00:00:00Z", FAR_TIMES[1].encode(), 1),
    "half an emoji": BODY.replace(b'"words"', b'"\\ud83d"'),
    "half an emoji in a name": BODY.replace(b'"/out"', b'"/out\\udc00"'),
    "bytes that are no text": BODY.replace(b'"words"', b'"\xff\xfe\xc0"'),
    "null characters": BODY.replace(b"out", b"o\\u0000t"),
    "a key twice": BODY.replace(b'"producer"', b'"run": 7, "producer"', 1),
    "no number": BODY.replace(b'"rowCount": 1', b'"rowCount": NaN'),
    "a number of 5,000 digits": BODY.replace(b'"rowCount": 1', b'"rowCount": ' + b"9" * 5000),
    "a byte order mark": codecs.BOM_UTF8 + BODY,
    "nested 1,000 times": encoded(run_event("START", 1, "job", [dataset("/in", odd={"a": deep(900)})])),
    "nested 100,000 times": BODY.replace(b'"words"', b"[" * 100_000 + b"]" * 100_000),
    "a schema nested 500 times": BODY.replace(
        b'"fields": [{"name": "x"',
        b'"fields": ' + b'[{"name": "a", "fields": ' * 500 + b"[]" + b"}]" * 500 + b', "x": [{"name": "x"',
        1,
    ),
    "a name that no index holds": BODY.replace(b'"/out"', json.dumps(TEXTS[5]).encode()),
    "a producer that no index holds": BODY.replace(b'"https://example.test"', json.dumps(TEXTS[5]).encode(), 1),
    "a facet's name that no index holds": BODY.replace(b'"documentation"', json.dumps(TEXTS[5]).encode()),
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_odd_events(client: Any, database: Database, body: bytes) -> None:
    assert body != BODY
    stored = body.removeprefix(codecs.BOM_UTF8)  # The mark is no part of the event.
    ends_well(client, database, [stored] if taken(client, body) else [])


def test_a_batch_with_one_that_the_database_would_refuse(client: Any, database: Database) -> None:
    """Its neighbours are kept."""
    good = [encoded(whole(number)) for number in range(3)]
    for bad in ODD.values():
        reply = client.post(BATCH, b"[" + b",".join([good[0], bad, *good[1:]]) + b"]")
        right(reply, bad[:300])
        if reply.status_code == 200:
            assert {one["index"] for one in reply.json()["failed_events"]} <= {1}
        else:
            assert reply.status_code == 400  # the array itself is no JSON
    in_log(client, database, good)


@pytest.mark.parametrize(
    "shape", ["a facet of 10 MB", "thousands of inputs", "20,000 facets", "5,000 columns from 20 sources"]
)
def test_large_events(served: Any, database: Database, shape: str) -> None:
    event = whole(1)
    if shape == "a facet of 10 MB":
        event["outputs"][0]["facets"]["documentation"] = facet(description="x\u00e9" * (10 * 1024 * 1024 // 7))
    elif shape == "thousands of inputs":
        event["inputs"] = [{"namespace": "file", "name": f"/in/{number}"} for number in range(full(50_000, 6_000))]
    elif shape == "20,000 facets":
        event["outputs"][0]["facets"] |= {f"facet {number}": {"a": number} for number in range(20_000)}
    else:
        inputs = [{"namespace": "file", "name": f"/in/{number}", "field": "x"} for number in range(20)]
        fields = {f"column {number}": {"inputFields": inputs} for number in range(5_000)}
        event["outputs"][0]["facets"]["columnLineage"]["fields"] = fields
    one = served()
    body = encoded(event)
    reply = one.post(LINEAGE, content=body)
    assert reply.status_code == 201, reply.text[:300]
    for path in (
        "/api/v2/datasets/file/%2Fout",
        "/api/v2/jobs/test/job",
        f"/api/v2/runs/{RUN.format(1)}",
        "/api/v2/status",
    ):
        assert one.get(path).status_code == 200, path
    right(one.get("/api/v2/lineage?node=job:test:job&columns=true"), shape)

    async def kept() -> Any:
        async with database.connection() as connection:
            return await (await connection.execute("select body from events")).fetchall()

    assert [bytes(row[0]) for row in one.run(kept())] == [body]
