"""`headwater describe` and its neighbours against a real server."""

import getpass
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from typing import Any

import pytest
from tests.events import dataset, run_event, schema


class Terminal:
    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self, *words: str, code: int = 0) -> str:
        done = self._run(words, code)
        return done.stdout + done.stderr

    def stdout(self, *words: str) -> str:
        return self._run(words, 0).stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.stdout(*words, "--json"))

    def _run(self, words: Sequence[str], code: int) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"HEADWATER_URL": self._url, "COLUMNS": "200"}
        environment.pop("HEADWATER_API_KEY", None)
        done = subprocess.run(
            [sys.executable, "-m", "headwater", *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done


@pytest.fixture
def headwater(server_url: str) -> Terminal:
    """/data/a → one → /data/b."""
    event = run_event("COMPLETE", 1, "one", [dataset("/data/a", **schema("id", "name"))], ["/data/b"])
    request = urllib.request.Request(f"{server_url}/api/v1/lineage", json.dumps(event).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 201
    return Terminal(server_url)


def test_say_and_take_back(headwater: Terminal) -> None:
    assert headwater("describe", "data/a", "what it is") == (
        f"dataset:file:/data/a: description: what it is (said by {getpass.getuser()})\n"
    )
    assert headwater("describe", "data/a", "what it is") == "dataset:file:/data/a: already set\n"
    assert headwater("describe", "data/a") == "what it is\n"
    headwater("describe", "data/a", "the key", "--column", "id", "--as", "ada")
    assert headwater.json("describe", "data/a", "-c", "id") == {"description": "the key"}
    assert (
        headwater("own", "one", "ops", "--type", "steward", "--as", "ada")
        == "job:test:one: owner ops: steward (said by ada)\n"
    )
    headwater("tags", "define", "tier", "--value", "gold", "--value", "silver")
    assert "gold, silver" in headwater("tags", "list")
    assert "one of gold, silver" in headwater("tag", "data/a", "tier=bronze", code=1)
    assert headwater.json("tag", "data/a", "tier=GOLD")["after"]["tag:tier"]["value"] == "gold"
    shown = headwater("datasets", "data/a")
    assert "what it is" in shown
    assert "tier:gold" in shown
    headwater("describe", "data/a", "--remove")
    headwater("tag", "data/a", "tier", "--remove")
    assert (
        headwater("own", "one", "ops", "--remove", "--as", "ada") == "job:test:one: owner ops removed (said by ada)\n"
    )
    assert headwater("describe", "data/a") == "(no description)\n"
    authors = {one["author"] for one in headwater.json("changes", "data/a")["changes"]}
    assert authors == {getpass.getuser(), "ada"}
    assert "what it is" in headwater("changes", "--action", "describe")
    headwater("tags", "remove", "tier")
    assert headwater.json("tags", "list") == {"tags": []}


def test_edges_and_aliases(headwater: Terminal) -> None:
    headwater("edge", "add", "data/b", "dataset:dash:sales", "--column", "x=y")
    found = headwater.json("lineage", "data/b", "--downstream", "--columns")
    assert {edge["origin"] for edge in found["edges"]} == {"MANUAL"}
    assert [(c["source_field"], c["target_field"]) for c in found["column_edges"]] == [("x", "y")]
    headwater("edge", "remove", "data/b", "dataset:dash:sales")
    assert headwater.json("lineage", "data/b", "--downstream")["edges"] == []
    headwater("alias", "add", "data/a", "dataset:hive:db.a")
    assert headwater.json("datasets", "db.a")["id"] == "dataset:file:/data/a"
    headwater("alias", "remove", "data/a", "dataset:hive:db.a")
    assert headwater.json("datasets", "db.a")["id"] == "dataset:hive:db.a"


def test_what_is_not_there_is_said(headwater: Terminal) -> None:
    assert "nothing is named" in headwater("describe", "nothing-of-the-kind", "x", code=1)
    assert "has no column" in headwater("tag", "data/a", "x", "--column", "nothing", code=1)
    assert "no manual link between" in headwater("alias", "remove", "data/a", "data/b", code=1)
