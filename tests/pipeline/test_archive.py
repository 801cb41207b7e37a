"""A log goes into an archive and comes back the same: bodies, times and every table made of it; whatever stops it on the way."""

import datetime as dt
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.events import run_event
from tests.fixtures.postgres import empty
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import InvalidQuestion, NotFound, ServerUnavailable
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.model.version import event_digest
from headwater.pipeline import archive
from headwater.pipeline.archive import EVENTS, Server, export, import_
from headwater.pipeline.folder import LocalFolder
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark


def post(url: str, body: bytes) -> None:
    request = urllib.request.Request(f"{url}/api/v1/lineage", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status in {200, 201}


def bodies(first: int, count: int) -> list[bytes]:
    """Return events as no encoder writes them; one without a time of its own, one of another century."""
    told = []
    for number in range(first, first + count):
        event = run_event("COMPLETE", number, f"job{number % 7}", ["/in", f"/a{number % 3}"], [f"/out{number % 5}"])
        if number % 5 == 1:
            del event["eventTime"]
        if number % 5 == 2:
            event["eventTime"] = "2051-06-01T00:00:00.123456Z"
        told.append(json.dumps(event, indent=number % 4, ensure_ascii=False).encode() + b"\n")
    return told


def logged(run: Any, database: Any) -> list[Any]:
    async def ask() -> list[Any]:
        async with database.connection() as connection:
            query = "select digest, event_time, received_at, kind, event_type, run_id::text, producer, body from events order by 1, 2"
            return await (await connection.execute(query)).fetchall()

    return run(ask())


def kept(spark: Any, path: Path) -> list[Any]:
    names = ("digest", "event_time", "received_at", "kind", "event_type", "run_id", "producer", "body")
    found = []
    for row in Store(spark, str(path)).read(EVENTS).select("day", *names).collect():
        values = [bytes(value) if isinstance(value, bytearray) else value for value in row[1:]]
        values[1:3] = [value.astimezone(dt.UTC) for value in values[1:3]]
        assert row["day"] == values[2].date()
        found.append(tuple(values))
    return sorted(found)


class PowerCut(RuntimeError):
    pass


def test_out_and_back(
    spark: Any, server_url: str, database: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, path = Server(server_url), tmp_path / "archive"
    for body in bodies(0, 12):
        post(server_url, body)
    # Windows of a few arrivals; each dies before its commit the first time.
    monkeypatch.setattr(archive, "_FIRST_WINDOW", 5)
    monkeypatch.setattr(archive, "_PIECES", 2)
    create, died = LocalFolder.create, set[str]()

    def dying(folder: LocalFolder, path: str, text: str) -> bool:
        if "/_manifest/" in path and len(died) < 2 and path not in died:
            died.add(path)
            raise PowerCut(path)
        return create(folder, path, text)

    monkeypatch.setattr(LocalFolder, "create", dying)
    events = 0
    for _ in range(10):
        try:
            events += export(spark, str(path), server, lambda told: None).events
            break
        except PowerCut:
            continue
    assert len(died) == 2
    before = logged(run, database)
    assert len(before) == 12
    assert kept(spark, path) == before
    # Nothing new; then some new, in a third piece of the day.
    version = Store(spark, str(path)).version
    assert export(spark, str(path), server).events == 0
    assert Store(spark, str(path)).version == version
    for body in bodies(12, 3):
        post(server_url, body)
    more = export(spark, str(path), server)
    assert (more.events, more.days) == (3, 1)
    before, tables = logged(run, database), run(fingerprints(database))
    assert kept(spark, path) == before

    run(empty(database))
    back = import_(spark, str(path), server, connections=2)
    assert (back.events, back.accepted, back.duplicates, back.refused) == (15, 15, 0, 0)
    assert logged(run, database) == before
    assert run(fingerprints(database)) == tables
    again = import_(spark, str(path), server, dt.date(2020, 1, 1))
    assert (again.accepted, again.duplicates) == (0, 15)
    with pytest.raises(NotFound, match="of these days"):
        import_(spark, str(path), server, dt.date(2999, 1, 1))


def test_what_cannot_be_is_said(spark: Any, server_url: str, database: Any, tmp_path: Path) -> None:
    post(server_url, bodies(0, 1)[0])
    server, path = Server(server_url), tmp_path / "archive"
    export(spark, str(path), server)
    with pytest.raises(InvalidQuestion, match="give another folder"):
        export(spark, str(path), Server(server_url.replace("127.0.0.1", "localhost")))
    with Store(spark, str(path)).change() as change:
        change.state["archive"]["upto"] = 1 << 40
    with pytest.raises(InvalidQuestion, match="it is another log"):
        export(spark, str(path), server)
    with pytest.raises(NotFound):
        import_(spark, str(tmp_path / "nothing"), server)


class Liar(Server):
    """Takes some, refuses one, and finds many at once too large."""

    def take(self, events: Any) -> Any:
        if len(events) > 2:
            from headwater.errors import TooLarge

            raise TooLarge("too much")
        return archive._Taken(len(events) - 1, 0, [archive._Refusal(0, "no")])


def test_too_much_at_once_goes_in_halves_and_refusals_are_named() -> None:
    tally: dict[str, Any] = {"events": 0, "accepted": 0, "duplicates": 0, "refused": 0, "examples": []}
    now = dt.datetime.now(dt.UTC)
    archive._deliver(Liar("http://x"), [archive._ArchivedRow(str(at).encode(), now, now) for at in range(8)], tally)
    assert {key: tally[key] for key in ("events", "accepted", "refused")} == {"events": 8, "accepted": 4, "refused": 4}
    assert tally["examples"][0] == f"{event_digest(b'0').hex()}: no"


def test_a_damaged_archive_is_not_sent() -> None:
    class Batch:
        def to_pylist(self) -> list[Any]:
            now = dt.datetime.now(dt.UTC)
            return [{"body": b"x", "digest": event_digest(b"y"), "received_at": now, "event_time": now}]

    with pytest.raises(ValueError, match="damaged"):
        archive._sent(Liar("http://x"), iter([Batch()]))


def test_an_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_PAUSES", (0.01,))
    with pytest.raises(ServerUnavailable):
        Server("http://127.0.0.1:1").page(limit=0)


def test_the_commands(
    spark: Any, server_url: str, database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_URL", f"file://{tmp_path}/told.ndjson")
    for body in bodies(0, 3):
        post(server_url, body)

    def ran(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(program, ["pipeline", *words, "--json", "--no-record"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    folder = str(tmp_path / "archive")
    assert ran("archive", "export", folder, "--url", server_url)["events"] == 3
    told = ran("archive", "import", folder, "--since", "2020-01-01", "--url", server_url)
    assert (told["accepted"], told["duplicates"]) == (0, 3)
    (tmp_path / "rules.yaml").write_text("rules: [{kind: name, namespace: file, match: /out, to: /moved}]")
    told = ran(
        "replay",
        folder,
        "--store",
        str(tmp_path / "tables"),
        "--table",
        "jobs",
        "--rules",
        str(tmp_path / "rules.yaml"),
    )
    assert (told["events"], told["rows"]) == (3, {"jobs": 3})
    # Without --no-record, where there is something to tell.
    monkeypatch.delenv("HEADWATER_URL")
    monkeypatch.setenv("HEADWATER_URL", server_url)
    before = export(spark, folder, Server(server_url)).events
    post(server_url, bodies(7, 1)[0])
    shown = CliRunner().invoke(program, ["pipeline", "archive", "export", folder])
    assert (before, shown.exit_code) == (0, 0), shown.output
    assert "1 events of 1 days" in shown.output
