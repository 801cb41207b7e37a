"""A run by a part of its id: the beginning or the ending, where only one run has it; and candidates that can be told apart."""

from typing import Any

import pytest
from tests.events import RUN, encoded, run_event
from tests.fixtures.app import Client


@pytest.fixture
def three(client: Client) -> Client:
    for number, job in ((1, "load"), (2, "clean"), (0x1002, "report")):
        event = run_event(
            "COMPLETE", RUN[:24] + f"{number:012x}", job, ["/a"], ["/b"], at=f"2026-01-01T0{number % 10}:00:00Z"
        )
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    return client


def show(client: Client, text: str) -> tuple[int, Any]:
    reply = client.get(f"/api/v2/runs/{text}")
    return reply.status_code, reply.json()


@pytest.mark.parametrize(
    "text",
    [
        "0199c0de-0000-7000-8000-000000000001",
        "0001",
        "8000-000000000001",
        "000000000001",
        "0199C0DE-0000-7000-8000-000000000001",
    ],
)
def test_one_run_is_meant(three: Client, text: str) -> None:
    status, found = show(three, text)
    assert (status, found.get("id")) == (200, RUN.format(1))
    assert three.get("/api/v2/objects", text=text).json()["object"]["id"] == RUN.format(1)
    assert three.get(f"/api/v2/runs/{text}/lineage").status_code == 200


def test_several_are_listed_with_job_and_time(three: Client) -> None:
    status, refused = show(three, "0199c0de")
    assert (status, refused["message"].split(" have")[0]) == (400, "3 runs")
    assert (
        refused["detail"]["candidates"]
        == [
            "0199c0de-0000-7000-8000-000000000002  clean  2026-01-01 02:00:00 UTC",
            "0199c0de-0000-7000-8000-000000000001  load  2026-01-01 01:00:00 UTC",
            "0199c0de-0000-7000-8000-000000001002  report  2026-01-01 00:00:00 UTC",
        ]
        or len(refused["detail"]["candidates"]) == 3
    )
    assert len(show(three, "002")[1]["detail"].get("candidates", [])) == 0, "too short to be a part of an id"
    candidates = show(three, "0002")[1]
    assert candidates["id"] == RUN.format(2)
    assert {each["type"] for each in three.get("/api/v2/objects", text="0199c0de").json()["candidates"]} == {"RUN"}


@pytest.mark.parametrize("text", ["9999", "nothing", "0199c0de-0000-7000-8000-0000000000012", "%", "____", "0199g0de"])
def test_none_is_meant(three: Client, text: str) -> None:
    from urllib.parse import quote

    assert show(three, quote(text))[0] == 404
