"""Import once: imports in the ledger and on the server, forced imports, and that no step waits for another."""

import gzip
import json
import logging
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

import headwater
from collector import Collector
from headwater.client import Emitter, config, imports
from headwater.errors import ServerUnavailable
from stepping import Told, bare, item_of, program, said


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    imports._silent.clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "readings.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    return path


class Server:
    """A server with prepared answers, and the steps that ask it."""

    def __init__(self, collector: Collector, tmp_path: Path) -> None:
        self.collector = collector
        self.runs: list[dict[str, Any]] = []
        self.status = 200
        collector.answer = self._answer
        self.emitter = Emitter(config.destination(url=collector.url, api_key="key", spool=tmp_path / "events"))
        headwater.use(self.emitter)

    def _answer(self, path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        if events:
            return 204, b""
        return self.status, json.dumps({"fingerprint": "x", "imported": bool(self.runs), "runs": self.runs}).encode()

    @property
    def asked(self) -> list[tuple[str, dict[str, str]]]:
        return [(path, headers) for path, headers, events in self.collector.requests if not events]

    def told(self) -> list[dict[str, Any]]:
        assert self.emitter.flush(10)
        return self.collector.events


@pytest.fixture
def server(collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    made = Server(collector, tmp_path)
    yield made
    headwater.use(None)
    made.emitter.close()


def load(path: Any, job: str = "load", **more: Any) -> headwater.AlreadyImported | None:
    with headwater.step(job) as step:
        return step.once(path, **more)


def test_a_content_is_imported_once_under_any_name(told: Told, file: Path, tmp_path: Path) -> None:
    with headwater.step("load") as first:
        assert first.once(file) is None
    entry = told.last()["inputs"][0]
    assert item_of(entry) == {"fingerprint": entry["facets"]["version"]["datasetVersion"], "bytes": 8}
    again = tmp_path / "other-name.csv"
    again.write_bytes(b"a,b\n1,2\n")
    with headwater.step("load") as second:
        known = second.once(again)
    assert known is not None
    assert (known.run_id, known.dataset, known.source) == (first.id, ("file", str(file)), "ledger")
    assert known.at is not None
    assert abs(known.at.timestamp() - time.time()) < 30
    end = told.last()
    assert end["eventType"] == "COMPLETE"
    fingerprint = item_of(entry)["fingerprint"]
    assert said(end)["skipped"] == [
        {"fingerprint": fingerprint, "run_id": first.id, "dataset": {"namespace": "file", "name": str(again)}}
    ]
    looked_at = end["inputs"][0]
    assert (looked_at["name"], looked_at["facets"], item_of(looked_at)) == (str(again), {}, {})


def test_another_job_and_another_content_are_another_import(told: Told, file: Path) -> None:
    assert load(file) is None
    assert load(file, "other") is None
    file.write_bytes(gzip.compress(b"a,b\n1,3\n"))
    assert load(file) is None
    assert load(file) is not None


def test_what_fails_is_not_imported(told: Told, file: Path) -> None:
    failed = headwater.start_step("load")
    assert failed.once(file) is None
    failed.fail("half loaded")
    stopped = headwater.start_step("load")
    assert stopped.once(file) is None
    stopped.abort()
    assert load(file) is None
    assert load(file) is not None


def test_a_killed_step_is_not_imported(told: Told, file: Path) -> None:
    text = """
        import os, signal, sys, headwater
        with headwater.step("load") as step:
            assert step.once(sys.argv[1]) is None
            os.kill(os.getpid(), signal.SIGKILL)
        """
    assert program(text, str(file)).returncode == -signal.SIGKILL
    assert load(file) is None


@pytest.mark.parametrize("by_item", [False, True])
def test_what_was_skipped_and_is_then_forced_is_an_import(told: Told, file: Path, by_item: bool) -> None:
    with headwater.step("download") as download:
        item = download.output(file, fingerprint=True)
    source = item if by_item else file
    with headwater.step("load") as first:
        first.once(source)
    with headwater.step("load") as second:
        assert second.once(source) is not None
        assert second.once(source, force=True) is None
    (one,) = told.last()["inputs"]
    assert item_of(one)["fingerprint"] == item.fingerprint
    assert item_of(one).get("id") == (item.id if by_item else None)
    assert said(told.last()) == {"forced": True, "overrides": [first.id]}


def test_force_goes_on_and_is_recorded(told: Told, file: Path) -> None:
    with headwater.step("load") as first:
        first.once(file)
    with headwater.step("load") as second:
        assert second.once(file, force=True) is None
    assert said(told.last()) == {"forced": True, "overrides": [first.id]}
    assert item_of(told.last()["inputs"][0])["fingerprint"]
    with headwater.step("load", force=True) as third:
        assert third.once(file) is None
    assert said(told.of("load")[-2]) == {"forced": True}
    assert said(told.last()) == {"forced": True, "overrides": [second.id, first.id]}
    known = load(file)
    assert known is not None
    assert known.runs == (third.id, second.id, first.id)


def test_one_step_of_many_files(told: Told, tmp_path: Path) -> None:
    for name, content in {"a": "1", "b": "2", "c": "1"}.items():
        (tmp_path / name).write_text(content)
    with headwater.step("load") as step:
        found = [step.once(tmp_path / name) for name in ("a", "b", "c", "a")]
    assert [known and known.source for known in found] == [None, None, "step", "step"]
    assert [known.run_id for known in found if known] == [step.id, step.id]
    by_name = {each["name"][-1]: item_of(each) for each in told.last()["inputs"]}
    assert {name for name, item in by_name.items() if item} == {"a", "b"}
    assert "skipped" not in said(told.last()), "this run did import them"


def test_an_item_is_not_read_again(told: Told, file: Path) -> None:
    with headwater.step("download") as download:
        item = download.output(file, fingerprint=True)
    file.unlink()
    assert load(item) is None
    assert item_of(told.last()["inputs"][0]) == {"id": item.id, "fingerprint": item.fingerprint, "bytes": 8}
    assert load(download) is not None


def test_the_server_knows_of_other_machines(server: Server, file: Path) -> None:
    server.runs = [
        {
            "run_id": "01927f2e-8c7a-7aaa-bbbb-1234567890ab",
            "job": {"namespace": "default", "name": "load"},
            "state": "COMPLETE",
            "ended_at": "2026-01-02T03:04:05Z",
            "forced": False,
            "dataset": {"namespace": "file", "name": "/there/x.csv"},
        }
    ]
    known = load(file)
    assert known is not None
    assert (known.run_id, known.source) == ("01927f2e-8c7a-7aaa-bbbb-1234567890ab", "server")
    assert known.at is not None
    assert known.at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert known.dataset == ("file", "/there/x.csv")
    path, headers = server.asked[0]
    assert urlsplit(path).path == "/api/v2/imports"
    asked = parse_qs(urlsplit(path).query)
    assert (asked["namespace"], asked["job"]) == (["default"], ["load"])
    assert asked["fingerprint"][0].startswith("xxh3-128:")
    assert headers["Authorization"] == "Bearer key"
    with headwater.step("load") as step:
        assert step.once(file, force=True) is None
    assert said(server.told()[-1])["overrides"] == ["01927f2e-8c7a-7aaa-bbbb-1234567890ab"]


def test_the_ledger_answers_without_the_server(server: Server, file: Path) -> None:
    assert load(file) is None
    assert len(server.asked) == 1
    assert load(file) is not None
    assert len(server.asked) == 1
    assert server.told()


def test_which_server_is_asked(server: Server, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a path; beside others that cannot say; and by its own variable where events go through a broker."""
    below = f"datahub+http://127.0.0.1:1,{server.collector.url}/below"
    for url, variable in ((below, ""), ("amqp://127.0.0.1:1/", f"{server.collector.url}/below")):
        monkeypatch.setenv("HEADWATER_IMPORTS_URL", variable)
        monkeypatch.setenv("HEADWATER_URL", url)
        emitter = Emitter(msgspec.structs.replace(config.destination(spool=tmp_path / "other"), flush_seconds=0))
        headwater.use(emitter)
        with headwater.step("other") as step:
            step.once(file, force=True)
        emitter.close(0)
    assert [urlsplit(path).path for path, _ in server.asked] == ["/below/api/v2/imports"] * 2


@pytest.mark.parametrize("status", [404, 500, 401])
def test_a_server_that_cannot_say_is_a_line_and_the_import_goes_on(
    server: Server, file: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = status
    with caplog.at_level(logging.WARNING, "headwater"):
        assert load(file) is None
    assert len([r for r in caplog.records if "was imported before is unknown" in r.getMessage()]) == 1
    assert server.told()


def test_once_raises_on_request_without_an_answer(server: Server, file: Path, tmp_path: Path) -> None:
    server.status = 500
    with pytest.raises(ServerUnavailable, match="is unknown"):
        load(file, unknown="raise")
    with pytest.raises(Exception, match="gone"):
        load(tmp_path / "gone", unknown="raise")
    assert [each["eventType"] for each in server.told()] == ["START", "FAIL"] * 2
    assert load(file, force=True, unknown="raise") is None
    assert load(file, unknown="raise") is not None, "the ledger knows"


def test_a_server_that_says_nothing_costs_two_seconds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setattr(imports, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        emitter = Emitter(config.destination(url=address, spool=tmp_path / "events", flush_seconds=0))
        headwater.use(emitter)
        try:
            began = time.monotonic()
            with headwater.step("load") as step:
                for number in range(20):
                    (tmp_path / str(number)).write_text(str(number))
                    assert step.once(tmp_path / str(number)) is None
            assert 0.3 <= time.monotonic() - began < 2
        finally:
            headwater.use(None)
            emitter.close(0)


def test_a_file_that_cannot_be_read_is_a_line(told: Told, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load(tmp_path / "gone") is None
    assert len(caplog.records) == 1
    assert told.last()["eventType"] == "COMPLETE"
    assert told.last()["inputs"][0]["name"] == str(tmp_path / "gone")
    assert headwater.current_step().once(tmp_path / "gone") is None


def test_a_ledger_of_torn_lines_and_of_many_processes(told: Told, tmp_path: Path) -> None:
    ledger = imports.ledger_path()
    ledger.parent.mkdir(parents=True)
    ledger.write_bytes(b'{"fingerprint":"xxh3-128:99","namespa')
    text = """
        import sys, headwater
        for number in range(40):
            path = f"{sys.argv[1]}/{sys.argv[2]}-{number}"
            open(path, "w").write(path)
            with headwater.step("load") as step:
                assert step.once(path) is None
                if number == 20 and sys.argv[2] == "0":
                    open(sys.argv[3], "ab").write(b'\\n{"fingerprint": "torn')
        """
    running = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), str(tmp_path), str(n), str(ledger)])
        for n in range(3)
    ]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    for number in range(3):
        for each in range(40):
            assert load(tmp_path / f"{number}-{each}") is not None
    assert not [line for line in ledger.read_bytes().split(b"\n") if line.count(b'"run_id"') > 1]


def test_a_ledger_that_cannot_be_written_is_a_line(
    told: Told, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    assert load(file) is None
    assert told.types == ["START", "COMPLETE"]
    assert 1 <= len(caplog.records) <= 2
    assert all(record.levelno == logging.WARNING for record in caplog.records)
    assert "an import is not in the ledger" in caplog.records[-1].getMessage()


def test_the_line_of_an_import(told: Told, file: Path) -> None:
    load(file)
    (line,) = [json.loads(each) for each in imports.ledger_path().read_bytes().splitlines() if each]
    assert bare(line).keys() == {"fingerprint", "namespace", "job", "run_id", "at", "dataset", "bytes"}
    assert imports.ledger_path().stat().st_mode & 0o777 == 0o600
