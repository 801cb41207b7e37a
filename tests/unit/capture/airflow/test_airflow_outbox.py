"""Reports reach the server, or wait on disk; and nothing is raised."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.receiver import Receiver, receiving

from headwater.capture.airflow.config import Config
from headwater.capture.airflow.outbox import deliver, flush

TAKEN = json.dumps({"seq": 1, "results": [{"seq": 1, "duplicate": False}]}).encode()
REFUSED = json.dumps(
    {"seq": 1, "results": [{"refused": {"code": "not_found", "message": "no entity 'reads'"}}]}
).encode()


def report(number: int) -> dict[str, Any]:
    return {"entity": "reads", "what": "produced", "instances": [f"2024-03-{number:02}"], "key": str(number)}


def told(receiver: Receiver, status: int = 200) -> list[str]:
    return [
        one["key"]
        for request in receiver.requests
        if request.status == status
        for one in json.loads(request.body)["reports"]
    ]


def test_undelivered_reports_wait_for_the_next_task(tmp_path: Path) -> None:
    pauses: list[float] = []
    with receiving() as receiver:
        config = Config(receiver.url, tmp_path / "reports")
        receiver.answer = lambda _path, _body: (503, b"{}")
        assert not deliver(config, [report(1)], sleep=pauses.append)
        assert (len(pauses), len(receiver.requests)) == (5, 6)
        assert not deliver(config, [report(2)], sleep=pauses.append)
        receiver.answer = lambda _path, _body: (200, TAKEN)
        assert deliver(config, [report(3)])
        assert told(receiver) == ["3", "1", "2"]
        assert list(config.outbox.iterdir()) == []


def test_no_server_at_all(tmp_path: Path) -> None:
    config = Config("http://127.0.0.1:1", tmp_path / "reports")
    assert not deliver(config, [report(1)], sleep=lambda _: None)
    assert len(list(config.outbox.glob("*.json"))) == 1
    assert flush(config) == 0


def test_reports_that_become_outdated_are_not_stored(tmp_path: Path) -> None:
    config = Config("http://127.0.0.1:1", tmp_path / "reports")
    assert not deliver(config, [report(1)], keep=False)
    assert not config.outbox.exists()


def test_many_reports_go_in_parts_and_the_rest_is_stored(tmp_path: Path) -> None:
    with receiving() as receiver:
        config = Config(receiver.url, tmp_path / "reports")
        receiver.answer = lambda _path, _body: (200, TAKEN) if len(receiver.requests) < 1 else (503, b"{}")
        assert not deliver(config, [report(number) for number in range(2500)], sleep=lambda _: None)
        (kept,) = config.outbox.glob("*.json")
        assert len(json.loads(kept.read_bytes())) == 1500


def test_a_refusal_is_logged_and_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver, caplog.at_level(logging.ERROR, "headwater"):
        config = Config(receiver.url, tmp_path / "reports")
        receiver.answer = lambda _path, _body: (200, REFUSED)
        assert deliver(config, [report(1)])
        receiver.answer = lambda _path, _body: (401, b'{"message": "who?", "code": "unauthenticated"}')
        assert deliver(config, [report(2)])
        assert ["no entity 'reads'" in caplog.text, "who?" in caplog.text] == [True, True]
        assert not config.outbox.exists()


def test_a_damaged_file_does_not_delay_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver:
        config = Config(receiver.url, tmp_path)
        receiver.answer = lambda _path, _body: (200, TAKEN)
        (tmp_path / "0.json").write_text("{")
        (tmp_path / "1.json").write_text(json.dumps([report(1)]))
        assert flush(config) == 1
        assert told(receiver) == ["1"]
        assert "0.json cannot be read and stays" in caplog.text


def test_a_disk_that_refuses_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    assert not deliver(Config("http://127.0.0.1:1", tmp_path / "file/reports"), [report(1)], sleep=lambda _: None)
    assert "cannot store them" in caplog.text
