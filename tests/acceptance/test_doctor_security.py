"""`headwater doctor --security` against a real server and real files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.processes import Process

ADMIN = "an-admin-key-of-the-tests"


def findings(server: Process, **env: str) -> tuple[int, list[tuple[str, str, str]]]:
    where = {"HEADWATER_URL": f"http://127.0.0.1:{server.port}"} | env
    done = subprocess.run(
        [sys.executable, "-m", "headwater", "doctor", "--security", "--json"],
        env=server.env | where, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, [(one["name"], one["verdict"], one["finding"]) for one in json.loads(done.stdout)]


def said(found: list[tuple[str, str, str]], name: str, verdict: str, text: str) -> bool:
    return any(one[:2] == (name, verdict) and text in one[2] for one in found)


def test_an_open_server_on_this_machine(serve: Any) -> None:
    server = serve().ready()
    code, found = findings(server)
    assert code == 0, found
    assert said(found, "access", "ok", "open, with the role admin, to programs of this machine")
    home = Path(server.env["HEADWATER_HOME"])
    for name in ("secret.key", "server.json"):
        (home / name).chmod(0o644)
    code, found = findings(server)
    assert code == 1
    assert said(found, "files", "bad", f"chmod 600 {home / 'secret.key'}")
    assert said(found, "files", "bad", f"chmod 600 {home / 'server.json'}")


def test_a_closed_server(serve: Any) -> None:
    server = serve(HEADWATER_ACCESS__ADMIN_KEY=ADMIN, HEADWATER_ACCESS__MODE="keys").ready()
    code, found = findings(server, HEADWATER_API_KEY="")
    assert said(found, "server", "warn", "HEADWATER_API_KEY")
    listener = {"name": "inside", "kind": "marquez", "url": "http://127.0.0.1:9/api", "secret": "k"}
    key = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    assert server.ask("POST", "/api/v2/admin/listeners", json.dumps(listener).encode(), **key)[0] == 201
    made = json.dumps({"name": "for-ever", "role": "admin"}).encode()
    assert server.ask("POST", "/api/v2/admin/keys", made, **key)[0] == 201
    code, found = findings(server, HEADWATER_API_KEY=ADMIN)
    assert said(found, "access", "ok", "only callers with a key")
    assert said(found, "listeners", "warn", "inside sends events to http://127.0.0.1:9/api, which is 127.0.0.1")
    assert said(found, "listeners", "warn", "without TLS")
    assert said(found, "keys", "warn", "never expire: for-ever")
    assert code == 0


@pytest.mark.parametrize("days", [89, 91])
def test_keys_that_are_not_used(days: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import datetime as dt

    from headwater.cli.serve import security_checks

    now = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    used = (now - dt.timedelta(days=days)).isoformat()
    key = {
        "name": "old",
        "role": "write",
        "created_at": "2025-01-01T00:00:00Z",
        "last_used_at": used,
        "expires_at": None,
        "revoked_at": None,
    }
    gone = key | {"name": "gone", "revoked_at": used}
    past = key | {"name": "past", "expires_at": used}
    monkeypatch.setattr(security_checks.server, "get", lambda *_: {"keys": [key, gone, past]})
    found = [one.finding for one in security_checks._keys(None, now)]
    assert any("headwater server keys revoke old" in finding for finding in found) is (days > 90)
    assert not any("gone" in finding or "past" in finding for finding in found)
