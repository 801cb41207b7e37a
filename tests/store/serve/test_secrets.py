"""Secrets: no file, backup or table holds one that another user of the machine could read."""

import os
import shutil
import stat
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.errors import DatabaseUnavailable, NotSecured, SecretKeyDiffers
from headwater.home import make_home, write_private
from headwater.store import embedded, embedded_root
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events import backup
from headwater.store.people import listeners, secrets
from headwater.store.people.secrets import SecretKey

KEY, OTHER = SecretKey(bytes(32)), SecretKey(bytes([1]) * 32)
PLAIN = b"a secret of at least 24 bytes"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_key_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    made = secrets.load_key(None, tmp_path / "home")
    assert secrets.load_key(None, tmp_path / "home").id == made.id
    assert (mode(tmp_path / "home"), mode(tmp_path / "home/secret.key")) == (0o700, 0o600)
    configured = secrets.load_key("x" * 32, tmp_path / "elsewhere")
    assert configured.id == secrets.load_key("x" * 32, tmp_path / "home").id != made.id
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("content", ["", "c2hvcnQ=", "not base64!"])
def test_a_key_that_is_none_is_refused_with_the_way_out(tmp_path: Path, content: str) -> None:
    (tmp_path / "secret.key").write_text(content)
    with pytest.raises(NotSecured, match="set HEADWATER_ACCESS__SECRET_KEY"):
        secrets.load_key(None, tmp_path)


def test_a_folder_that_cannot_be_written_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotSecured, match="set HEADWATER_ACCESS__SECRET_KEY"):
        secrets.load_key(None, tmp_path / "file")


def test_encryption_is_undone_by_its_key_alone() -> None:
    stored = KEY.encrypt(PLAIN)
    assert PLAIN not in stored
    assert KEY.decrypt(stored) == PLAIN
    assert KEY.encrypt(PLAIN) != stored
    assert len({KEY.derive("sessions"), KEY.derive("encryption"), OTHER.derive("sessions")}) == 3
    for damaged in (OTHER.encrypt(PLAIN), stored[:-3]):
        with pytest.raises(SecretKeyDiffers, match="listeners rotate"):
            KEY.decrypt(damaged)


async def add_listener(database: Database, secret: bytes | None, name: str) -> None:
    async with database.transaction() as connection:
        await listeners.add(
            connection, name, "webhook", url="http://h/", secret=secret, filter="{}", created_by="ann", paused=True,
            arrived=1, since=None,
        )  # fmt: skip


def test_secrets_of_an_earlier_version_are_encrypted_and_no_backup_has_one(
    database: Database, postgres: EmbeddedPostgres, run: Any, tmp_path: Path
) -> None:
    async def adopt(key: SecretKey) -> str | None:
        async with database.transaction() as connection:
            return await secrets.adopt(connection, key)

    async def stored(name: str) -> bytes | None:
        async with database.connection() as connection:
            listener = await listeners.named(connection, name)
            assert listener is not None
            return listener.secret

    async def check(key: SecretKey) -> None:
        async with database.connection() as connection:
            await secrets.check(connection, key)

    old, new, none = (f"{word}-{uuid.uuid4().hex[:8]}" for word in ("old", "new", "none"))
    run(adopt(KEY))
    run(add_listener(database, PLAIN, old))
    run(add_listener(database, KEY.encrypt(PLAIN), new))
    run(add_listener(database, None, none))
    kept = run(stored(new))
    assert run(adopt(KEY)) is None
    assert KEY.decrypt(run(stored(old))) == PLAIN
    assert (run(stored(new)), run(stored(none))) == (kept, None)
    run(check(KEY))
    with pytest.raises(SecretKeyDiffers, match="HEADWATER_ACCESS__SECRET_KEY"):
        run(check(OTHER))

    dump = tmp_path / "headwater.dump"
    (tmp_path / "headwater.dump.part").write_text("left by a dump that was killed")
    (tmp_path / "headwater.dump.part").chmod(0o644)
    backup.dump(postgres.url, dump)
    assert mode(dump) == 0o600
    text = backup._command("pg_restore", None, ["--file=-", str(dump)])
    sql = subprocess.run(text, capture_output=True, check=True).stdout
    assert old.encode() in sql
    assert not any(form in sql for form in (PLAIN, PLAIN.hex().encode(), KEY.derive("sessions").hex().encode()))

    assert run(adopt(OTHER)) == KEY.id
    assert run(adopt(KEY)) == OTHER.id
    assert run(adopt(secrets.load_key(os.environ["HEADWATER_ACCESS__SECRET_KEY"], tmp_path))) == KEY.id


def test_private_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "a/home"))
    assert mode(make_home()) == 0o700
    target = tmp_path / "a/home/server.json"
    target.write_text("earlier")
    target.chmod(0o644)
    write_private(target, b"{}")
    assert (mode(target), target.read_bytes()) == (0o600, b"{}")
    (tmp_path / "theirs").mkdir(mode=0o755)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "theirs"))
    assert mode(make_home()) == 0o755


def test_no_folder_changes_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as root, whose PostgreSQL runs as another user: its data is where that user may go, and no other user reaches its socket."""
    monkeypatch.setattr(embedded_root, "HOME", tmp_path.parents[2] / f"headwater-{uuid.uuid4().hex[:8]}")
    closed = tmp_path / "closed"
    (closed / "home").mkdir(parents=True)
    closed.chmod(0o700)
    above = [closed / "home", *(closed / "home").parents]
    before = [mode(path) for path in above]
    for _ in range(2):
        server = EmbeddedPostgres(closed / "home/postgres")
        try:
            with psycopg.connect(server.url) as connection:
                connection.execute("create table if not exists kept ()")
        finally:
            server.stop()
    assert [mode(path) for path in above] == before
    assert mode((closed / "home/postgres").resolve()) == 0o700
    assert mode(embedded._runtime_folder(closed / "home/postgres")) == 0o700


def test_databases_of_temporary_homes_that_are_gone_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that is used still, that runs, or whose folder may come back with its disk."""
    home = tmp_path / "moved"
    monkeypatch.setattr(embedded_root, "HOME", home)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    places = {}
    for name in ("gone", "used", "running", "away"):
        (closed / name).mkdir()
        places[name] = embedded_root.reachable_folder(closed / name / "postgres").parent
    (places["running"] / "postgres/postmaster.pid").write_text(f"{os.getpid()}\n")
    (places["away"] / "origin").write_text("/srv/headwater/postgres\n")
    for name in ("gone", "running", "away"):
        shutil.rmtree(closed / name)
    (closed / "next").mkdir()
    last = embedded_root.reachable_folder(closed / "next/postgres").parent
    assert {place.name for place in home.iterdir()} == {
        last.name,
        *(places[each].name for each in ("used", "running", "away")),
    }


def test_a_long_path_has_its_socket_elsewhere_and_for_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_root, "HOME", tmp_path.parents[2] / f"headwater-{uuid.uuid4().hex[:8]}")
    runtime = embedded._runtime_folder(tmp_path / ("a" * 200) / "postgres")
    assert (mode(runtime), runtime.parent, len(str(runtime)) < 60) == (0o700, Path(tempfile.gettempdir()), True)
    runtime.rmdir()
    runtime.symlink_to(tmp_path)
    with pytest.raises(DatabaseUnavailable, match="set HEADWATER_HOME to a shorter path"):
        embedded._runtime_folder(tmp_path / ("a" * 200) / "postgres")
    runtime.unlink()
    folder = tmp_path / ("b" * 200)
    server = EmbeddedPostgres(folder / "postgres")
    try:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        server.stop()
