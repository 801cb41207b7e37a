"""Badges of datasets: off unless allowed, the worst that is known of the dataset, no text that a page would run."""

import datetime as dt
import json
import subprocess
import urllib.request
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from tests.events import dataset, facet, run_event

NOW = dt.datetime.now(dt.UTC)


def words(server: Any, name: str) -> tuple[str, str]:
    reply = server.get(f"/badge/{quote(name, safe='')}.svg")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "image/svg+xml"
    label, state = [
        text.text or "" for text in ElementTree.fromstring(reply.text).iter("{http://www.w3.org/2000/svg}text")
    ]
    return label, state


def test_badges_are_off_unless_allowed(served: Any) -> None:
    assert served().get("/badge/orders.svg").status_code == 404


def test_a_badge_says_the_worst_in_a_word(served: Any) -> None:
    server = served(
        embed={"badges": True}, access={"mode": "keys", "admin_key": "an admin key of tests"}, alerts={"enabled": False}
    )
    admin = "an admin key of tests"
    at = [(NOW - dt.timedelta(hours=hours)).isoformat() for hours in range(12)]
    good = [
        run_event("COMPLETE", number, "hourly", [], [dataset("mart.fresh", "db")], at=at[number])
        for number in range(12)
    ]
    checks = facet(assertions=[{"assertion": "not_null", "success": False, "column": "id"}])
    checked = dataset("mart.checked", "db")
    checked["inputFacets"] = {"dataQualityAssertions": checks}
    hostile = dataset('mart.<script>alert("1")</script>', "db")
    events = [
        *good,
        run_event("COMPLETE", 20, "writer", [], ["/rare", hostile], at=at[3]),
        run_event("COMPLETE", 21, "first", [], [dataset("mart.checked", "db")], at=at[2]),
        run_event("COMPLETE", 22, "checker", [checked], [], at=at[1]),
    ]
    reply = server.post(
        "/api/v1/lineage/batch", admin, content=json.dumps(events), headers={"content-type": "application/json"}
    )
    assert reply.status_code == 200, reply.text
    assert words(server, "mart.fresh") == ("fresh", "fresh")
    assert words(server, "mart.checked")[1] == "doubted"
    assert words(server, "/rare")[1] == "no rhythm"
    assert words(server, "no such thing")[1] == "unknown"
    assert "<script>" not in server.get(f"/badge/{quote(hostile['name'], safe='')}.svg").text


def test_a_command_says_what_the_badge_says(server_url: str) -> None:
    def run(name: str) -> "subprocess.CompletedProcess[str]":
        words = [".venv/bin/headwater", "badge", name, "--url", server_url]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    at = [(NOW - dt.timedelta(hours=hours)).isoformat() for hours in range(12)]
    events = [
        run_event("COMPLETE", number, "hourly", [], [dataset("mart.fresh", "db")], at=at[number])
        for number in range(12)
    ]
    body, headers = json.dumps(events).encode(), {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{server_url}/api/v1/lineage/batch", body, headers)).close()
    fresh = run("mart.fresh")
    assert fresh.stdout.splitlines()[:2] == ["fresh: fresh", f"![fresh]({server_url}/badge/mart.fresh.svg)"]
    assert "HEADWATER_EMBED__BADGES=true" in fresh.stdout
    assert fresh.returncode == 0
    none = run("mart.none")
    assert (none.stdout.splitlines()[0], none.returncode) == ("mart.none: unknown", 1)
