"""A task run's reports: a repeated report has the same key, another run has another."""

import datetime as dt

import msgspec

from headwater.capture.airflow.makes import Makes
from headwater.capture.airflow.reports import Run, of, unwaited
from headwater.intake.status.request import Reported

AT = dt.datetime(2024, 3, 10, 6, tzinfo=dt.UTC)
RUN = Run("prod", "reads", "manual__2024-03-10T00:00:00+00:00", "load/all", 2, -1, "id1")
MADE = [
    {
        "entity": "reads",
        "instance": "2024-03-10",
        "state": "estimated",
        "reads": [{"entity": "raw", "instances": ["2024-03-10"]}],
    },
    {"entity": "words", "instance": "2024-03-10", "state": None, "reads": None},
]


def test_a_run_has_a_name_without_surprises() -> None:
    assert RUN.job == "airflow://prod/reads/load%2Fall"
    assert RUN.ref == "airflow://prod/reads/manual__2024-03-10T00:00:00+00:00/load%2Fall/2"
    assert msgspec.structs.replace(RUN, map_index=3).ref == RUN.ref + "/3"


def test_what_was_produced_says_what_it_read() -> None:
    told = {"rows": 7, "fingerprint": "f", "bytes": None, "other": 1}
    first, second = of(RUN, "produced", MADE, AT, seq=41, code="v1", description=told)
    assert (first["states"], first["reads"], first["seq"], first["code"]) == (["estimated"], MADE[0]["reads"], 41, "v1")
    assert (first["rows"], first["fingerprint"], "bytes" in first, "other" in first) == (7, "f", False, False)
    # The inputs of the second are unknown, which differs from none.
    assert not {"states", "reads", "seq"} & second.keys()


def test_the_server_understands_them() -> None:
    for what in ("started", "produced", "failed"):
        for report in of(RUN, what, MADE, AT, seq=41, code="v1", reason="ValueError: 7"):
            assert msgspec.convert(report, Reported).what == what


def test_said_again_it_is_the_same_and_of_another_try_another() -> None:
    def keys(run: Run, what: str = "produced") -> set[str]:
        return {report["key"] for report in of(run, what, MADE, AT)}  # type: ignore[arg-type]

    assert keys(RUN) == keys(RUN)
    others = [
        keys(msgspec.structs.replace(RUN, attempt=3)),
        keys(msgspec.structs.replace(RUN, map_index=0)),
        keys(msgspec.structs.replace(RUN, id="id2")),
        keys(RUN, "failed"),
    ]
    assert not any(keys(RUN) & other for other in others)


def test_who_did_not_wait_says_the_state_its_author_named() -> None:
    found = unwaited([Makes("a", "estimated", False), Makes("b", wait=False)], {"a": ["1", "2"], "b": ["3"]})
    assert [(one["entity"], one["instance"], one["state"], one["reads"]) for one in found] == [
        ("a", "1", "estimated", None),
        ("a", "2", "estimated", None),
        ("b", "3", None, None),
    ]
