"""The rules about names, over HTTP and by command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.app import Client
from tests.fixtures.servers import Make

from headwater.store.embedded import EmbeddedPostgres

RULES = {"rules": [{"kind": "name", "match": "/mnt/", "to": "/data/", "namespace": "file"}]}


@pytest.fixture
def server(served: Make) -> Any:
    return served()


def test_rules_are_shown_and_replaced(server: Any) -> None:
    assert server.get("/api/v2/admin/identity").json() == {"rules": [], "behind": False}
    server.post("/api/v1/lineage", content=encoded(run_event("COMPLETE", 1, "one", ["/mnt/a"], ["/b"])))
    tried = server.ask("PUT", "/api/v2/admin/identity?dry_run=true", json=RULES).json()
    assert (tried["names"], tried["moving"], tried["dry_run"]) == (2, 1, True)
    assert server.get("/api/v2/admin/identity").json()["rules"] == []
    kept = server.ask("PUT", "/api/v2/admin/identity", json=RULES)
    assert kept.status_code == 200
    assert "headwater server rebuild" in kept.json()["next"]
    assert server.get("/api/v2/admin/identity").json() == {**RULES, "behind": True}
    entries = server.get("/api/v2/admin/audit", params={"target": "identity", "limit": "2"}).json()["entries"]
    assert [(one["action"], one["status"], one["detail"].get("dry_run")) for one in entries] == [
        ("set_identity", 200, None),
        ("set_identity", 200, True),
    ]
    assert entries[0]["detail"] == RULES


def test_rules_without_sense_are_refused_and_change_nothing(server: Any) -> None:
    for body, words in (
        ({"rules": [{"kind": "name", "match": "", "to": "x"}]}, "rule 0"),
        ({"rules": [{"kind": "name", "match": "a", "too": "x"}]}, "too"),
        ({"rules": [{"kind": "rename", "match": "a"}]}, "rename"),
        ({}, "rules"),
    ):
        told = server.ask("PUT", "/api/v2/admin/identity", json=body)
        assert told.status_code == 400, told.text
        assert words in told.text
    assert server.get("/api/v2/admin/identity").json()["rules"] == []


def test_only_an_admin_may(served: Make, key: Any) -> None:
    write, read = key("write").key, key("read").key
    server = served(access={"mode": "keys"})
    assert server.get("/api/v2/admin/identity", write).status_code == 403
    assert server.ask("PUT", "/api/v2/admin/identity", write, json=RULES).status_code == 403
    assert server.get("/api/v2/identity/try", read, params={"namespace": "file", "name": "/x"}).status_code == 200
    assert server.get("/api/v2/identity/try", params={"namespace": "file", "name": "/x"}).status_code == 401


def test_a_name_is_tried(server: Any) -> None:
    server.ask("PUT", "/api/v2/admin/identity", json=RULES)
    told = server.get("/api/v2/identity/try", params={"namespace": "file://", "name": "/mnt/t/day=1"}).json()
    assert told == {
        "namespace": "file://",
        "name": "/mnt/t/day=1",
        "id": "dataset:file:/data/t",
        "part": {"day": "1"},
        "steps": [
            {"by": "spelling", "rule": None, "namespace": "file", "name": "/mnt/t/day=1", "part": {}},
            {"by": "rule", "rule": 0, "namespace": "file", "name": "/data/t/day=1", "part": {}},
            {"by": "fold", "rule": None, "namespace": "file", "name": "/data/t", "part": {"day": "1"}},
        ],
        "known": False,
        "stands_for": None,
    }
    server.post("/api/v1/lineage", content=encoded(run_event("COMPLETE", 1, "one", ["/mnt/t"])))
    assert server.get("/api/v2/identity/try", params={"namespace": "file", "name": "/data/t"}).json()["known"]


def test_links_are_said(server: Any) -> None:
    symlinks = {"identifiers": [{"namespace": "hive", "name": "db.t", "type": "TABLE"}]}
    event = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": {"namespace": "file", "name": "/t", "facets": {"symlinks": symlinks}}}  # fmt: skip
    server.post("/api/v1/lineage", content=encoded(event))
    told = server.get("/api/v2/identity/try", params={"namespace": "hive", "name": "db.t"}).json()
    assert (told["id"], told["known"], told["stands_for"]) == ("dataset:hive:db.t", True, "dataset:file:/t")


def test_the_commands(postgres: EmbeddedPostgres, client: Client, tmp_path: Path) -> None:
    env = {**os.environ, "HEADWATER_HOME": str(tmp_path / "home"), "HEADWATER_DATABASE__URL": postgres.url}

    def command(*words: str, code: int = 0, stdin: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "headwater", "identity", *words],
            check=False,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    file = tmp_path / "rules.yaml"
    file.write_text("- {kind: name, match: /mnt/, to: /data/, namespace: file}\n")
    client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "one", ["/mnt/a"], ["/b"])))
    assert "1 of 2 dataset names would move\nnothing was changed" in command("set", str(file), "--dry-run")
    assert "headwater server rebuild" in command("set", str(file))
    shown = command("show")
    assert "match: /mnt/" in shown
    assert "headwater server rebuild" in shown
    assert json.loads(command("set", "-", "--json", stdin=shown))["rules"] == RULES["rules"]
    assert json.loads(command("show", "--json"))["rules"] == RULES["rules"]
    tried = command("try", "s3a://b/t/day=1")
    assert "dataset:s3://b:t, part day=1" in tried
    assert json.loads(command("try", "/mnt/x", "--json"))["id"] == "dataset:file:/data/x"
    assert json.loads(command("try", "dataset:s3://b:9000:x/y", "--json"))["namespace"] == "s3://b:9000"
    assert json.loads(command("try", "t_20260101", "--namespace", "hive", "--json"))["id"] == "dataset:hive:t"
    assert "--namespace" in command("try", "orders", code=2)
    file.write_text("rules: [{kind: name, match: ''}]")
    assert "rule 0: match must not be empty" in command("set", str(file), code=2)
    file.write_text("rule: []")
    assert "unknown keys rule" in command("set", str(file), code=2)
