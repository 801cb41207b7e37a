"""The next try reports earlier tries that ended without a report, and no other run."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.capture.airflow import died as module
from headwater.capture.airflow.config import Config
from headwater.capture.airflow.died import died
from headwater.capture.airflow.reports import Run

CONFIG = Config("http://server", Path("none"))
RUN = Run("prod", "reads", "r1", "load", 3, id="id3")
MADE = [{"entity": "reads", "instance": "2024-03-10"}, {"entity": "reads", "instance": "2024-03-11"}]


def ref(**other: Any) -> str:
    return msgspec.structs.replace(RUN, **other).ref


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []

    def ask(_: str, path: str, params: Any, *__: Any) -> bytes:
        found.append((path, params))
        running = [ref(attempt=1), RUN.ref, ref(attempt=2, run="r2"), ref(attempt=2, map_index=0), ref(attempt=12)]
        marks = [{"kind": "running", "ref": one} for one in running]
        return json.dumps({"stretches": [{"marks": [*marks, {"kind": "doubted", "ref": ref(attempt=2)}]}]}).encode()

    monkeypatch.setattr(module, "ask", ask)
    return found


def test_an_earlier_try_of_the_same_task_in_the_same_run(asked: list[Any]) -> None:
    (report,) = died(CONFIG, RUN, MADE)
    assert (report["what"], report["ref"], report["instances"]) == (
        "failed",
        ref(attempt=1),
        ["2024-03-10", "2024-03-11"],
    )
    assert asked == [("/api/v2/entities/reads/status", {"instances": ["2024-03-10", "2024-03-11"]})]


def test_a_first_try_sends_no_request(asked: list[Any]) -> None:
    assert died(CONFIG, msgspec.structs.replace(RUN, attempt=1), MADE) == []
    assert asked == []
