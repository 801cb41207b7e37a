"""The request, and the reasons in its answer."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.airflow import readiness
from headwater.capture.airflow.config import Config
from headwater.capture.airflow.makes import Makes
from headwater.capture.airflow.period import Period

CONFIG = Config("http://server", Path("none"), "hw_key")
DAY = dt.timedelta(days=1)


class Days:
    """A server that knows days from six in the morning, and answers no other question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        monkeypatch.setattr(readiness, "ask", self.ask)

    def ask(self, url: str, path: str, *_: Any, api_key: str, body: bytes | None = None, **__: Any) -> bytes:
        assert (url, api_key) == ("http://server", "hw_key")
        self.asked.append(path)
        if body is None:
            begins = dt.datetime.fromisoformat(path.rpartition("/")[2]).replace(tzinfo=dt.UTC) + dt.timedelta(hours=6)
            return json.dumps({"start": begins.isoformat(), "end": (begins + DAY).isoformat()}).encode()
        (one,) = json.loads(body)["ask"]
        start, end = (dt.datetime.fromisoformat(one[name]) - dt.timedelta(hours=6) for name in ("start", "end"))
        first, last = start.date(), (end - dt.timedelta(microseconds=1)).date()
        keys = [(first + DAY * number).isoformat() for number in range((last - first).days + 1)]
        shown = [{"entity": one["entity"], "instance": key, "ready": True, "state": None, "states": []} for key in keys]
        return json.dumps({"seq": 1, "ready": True, "instances": shown}).encode()


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("period", "instances", "questions"),
    [
        (Period("interval", at("2024-03-10T06"), at("2024-03-12T06")), ["2024-03-10", "2024-03-11"], 1),
        (Period("within", at("2024-03-10T06"), at("2024-03-10T06")), ["2024-03-10"], 1),
        (Period("within", at("2024-03-10T05:59"), at("2024-03-10T05:59")), ["2024-03-09"], 1),
        # Exactly when it ends, it is over.
        (Period("over", at("2024-03-11T06"), at("2024-03-11T06")), ["2024-03-10"], 2),
        (Period("over", at("2024-03-11T05:59"), at("2024-03-11T05:59")), ["2024-03-09"], 3),
        (Period("over", at("2024-03-11T09"), at("2024-03-11T09")), ["2024-03-10"], 3),
    ],
)
def test_which_instances_a_run_makes(
    monkeypatch: pytest.MonkeyPatch, period: Period, instances: list[str], questions: int
) -> None:
    days = Days(monkeypatch)
    assert readiness.instances(CONFIG, "reads", period) == instances
    assert len(days.asked) == questions


def test_a_question_names_the_state_only_where_its_author_did() -> None:
    makes = [Makes("a"), Makes("b", "estimated")]
    assert readiness.question(makes, {"a": ["1"], "b": ["2", "3"]}) == [
        {"entity": "a", "instances": ["1"]},
        {"entity": "b", "instances": ["2", "3"], "state": "estimated"},
    ]


def state(name: str, *missing: readiness.Lacking, ready: bool = False, failed: bool = False) -> readiness.State:
    return readiness.State(name, ready, failed, [readiness.Pin("raw", ["2024-03-10"])], list(missing))


TAINTED = readiness.Lacking("raw", ["2024-03-10"], 1, "wrong", "incident 7")
LATE = readiness.Lacking("words", [str(n) for n in range(9)], 9, "late", until=at("2024-03-11T09"))
TAKEN = readiness.Lacking("pages", ["2024-03-10"], 1, "late", outcome="accepted")


def test_reasons_are_those_of_the_state_that_lacks_least() -> None:
    one = readiness.Instance(
        "reads", "2024-03-10", False, None, [state("completed", TAINTED, LATE), state("estimated", TAINTED)]
    )
    two = readiness.Instance("reads", "2024-03-11", True, "completed", [state("completed", ready=True)])
    assert readiness.Ready(5, False, [one, two]).why() == [
        "reads 2024-03-10 cannot be made estimated: raw 2024-03-10: wrong (incident 7)"
    ]


def test_what_is_long_is_cut_and_what_was_accepted_is_no_reason() -> None:
    one = readiness.Instance("reads", "2024-03-10", False, None, [state("completed", LATE, TAKEN)])
    assert readiness.Ready(5, False, [one]).why() == [
        "reads 2024-03-10 cannot be made completed: words 0, 1, 2, 3, 4…: late, expected by 2024-03-11T09:00:00+00:00"
    ]


def test_an_instance_that_failed_in_every_state_ends_the_wait() -> None:
    def failed(*each: bool) -> bool:
        states = [state(str(number), LATE, failed=one) for number, one in enumerate(each)]
        return readiness.Ready(5, False, [readiness.Instance("reads", "1", False, None, states)]).failed

    assert [failed(True, True), failed(True, False), failed()] == [True, False, False]


def test_what_is_recorded_is_what_was_pinned_for_the_state_that_is_made() -> None:
    pins = [readiness.Pin("raw", ["2024-03-10"])]
    other = readiness.State("completed", False, False, [readiness.Pin("more", ["x"])], [LATE])
    one = readiness.Instance(
        "reads", "2024-03-10", True, "estimated", [other, readiness.State("estimated", True, False, pins, [])]
    )
    free = readiness.Instance(
        "words", "2024-03-10", True, "completed", [readiness.State("completed", True, False, [], [])]
    )
    assert readiness.recorded([Makes("words"), Makes("reads")], readiness.Ready(5, True, [one, free])) == {
        "seq": 5,
        "made": [
            {"entity": "words", "instance": "2024-03-10", "state": "completed", "reads": []},
            {
                "entity": "reads",
                "instance": "2024-03-10",
                "state": "estimated",
                "reads": [{"entity": "raw", "instances": ["2024-03-10"]}],
            },
        ],
    }
