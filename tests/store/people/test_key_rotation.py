"""The key of secrets is replaced: every secret is encrypted anew, or none; a process that dies leaves a key that works."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidQuestion, SecretKeyDiffers
from headwater.intake.people import key_rotation
from headwater.intake.people.audit import by_command
from headwater.intake.people.key_rotation import RotatedKey, rotate_key
from headwater.store.alerts import channels
from headwater.store.connectors import connectors
from headwater.store.database import Database
from headwater.store.people import secrets
from headwater.store.people.secrets import SecretKey, configured_key, load_key

BY = by_command("connect rotate", "rotate_key", "secrets")


@pytest.fixture(autouse=True)
def key_of_the_tests(database: Database, run: Any) -> Any:
    """The database's key is that of the session's servers again after each test."""
    yield

    async def put_back() -> None:
        async with database.transaction() as connection:
            await connection.execute("delete from connectors; delete from alert_channels")
            await secrets.adopt(connection, configured_key(os.environ["HEADWATER_ACCESS__SECRET_KEY"]))

    run(put_back())


async def fill(database: Database, key: SecretKey) -> None:
    async with database.transaction() as connection:
        await secrets.adopt(connection, key)
        await connectors.add(connection, "shop", "postgres", {"host": "db"}, key.encrypt(b"one"), 3600, "test")
        await channels.add(connection, "chat", "slack", key.encrypt(b"two"), key.encrypt(b"three"), "test")


async def secrets_of(database: Database, key: SecretKey) -> list[bytes]:
    async with database.connection() as connection:
        await secrets.check(connection, key)
        (connector,) = await connectors.connectors(connection)
        (channel,) = await channels.all_channels(connection)
    return [key.decrypt(one or b"") for one in (connector.secrets, channel.url, channel.secret)]


def test_a_file_is_replaced_and_every_secret_opens_with_it(database: Database, run: Any, tmp_path: Path) -> None:
    old = load_key(None, tmp_path)
    run(fill(database, old))
    rotated: RotatedKey = run(rotate_key(database, tmp_path, None, None, by=BY))
    key = load_key(None, tmp_path)
    assert (rotated.secrets, rotated.former, rotated.key) == (3, old.id, key.id)
    assert key.id != old.id
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    assert run(secrets_of(database, key)) == [b"one", b"two", b"three"]
    with pytest.raises(SecretKeyDiffers):
        run(secrets_of(database, old))


def test_a_setting_is_replaced_with_the_one_before(database: Database, run: Any, tmp_path: Path) -> None:
    run(fill(database, configured_key("before")))
    with pytest.raises(InvalidQuestion, match="HEADWATER_FORMER_SECRET_KEY"):
        run(rotate_key(database, tmp_path, "after", None, by=BY))
    with pytest.raises(SecretKeyDiffers):
        run(rotate_key(database, tmp_path, "after", "a third", by=BY))
    assert run(rotate_key(database, tmp_path, "after", "before", by=BY)).file is None
    assert run(secrets_of(database, configured_key("after"))) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("dies", ["before the database changes", "before the file takes its place"])
def test_a_process_that_dies_leaves_a_key_that_works(
    database: Database, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    run(fill(database, load_key(None, tmp_path)))

    def killed(*_given: object) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if dies == "before the database changes":
            patch.setattr(key_rotation.secrets, "rotate", killed)
        else:
            move = Path.replace
            patch.setattr(
                Path, "replace", lambda path, to: killed() if Path(to).name == "secret.key" else move(path, to)
            )
        with pytest.raises(KeyboardInterrupt):
            run(rotate_key(database, tmp_path, None, None, by=BY))
    assert (tmp_path / "secret.key.new").exists()
    run(rotate_key(database, tmp_path, None, None, by=BY))
    assert not (tmp_path / "secret.key.new").exists()
    assert run(secrets_of(database, load_key(None, tmp_path))) == [b"one", b"two", b"three"]
