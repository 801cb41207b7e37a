"""Add, change, test and remove connectors. Each change writes an audit row in its transaction. Secrets are encrypted, and never shown."""

from collections.abc import Mapping

import msgspec

from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.connectors.working import run_task
from headwater.intake.people.audit import Change
from headwater.model.connector_kinds import NAME, check_every, check_options, kind_of
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask
from headwater.store.connectors import connectors as store
from headwater.store.database import Connection, Database
from headwater.store.people import audit as audit_store
from headwater.store.people.secrets import SecretKey, check

_TEST_SECONDS = 60.0


class ConnectorRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A connector to add. `settings`: options and secrets of its kind. `every_seconds`: between two pulls; by default as its kind says.

    `test`: try it first, and add nothing if it fails. `replace`: the connector of this name is changed: its cursor stays, and secrets that are not
    given stay as they are.
    """

    name: str
    kind: str
    settings: dict[str, str] = {}
    every_seconds: int | None = None
    test: bool = True
    replace: bool = False


class TestedConnector(msgspec.Struct, frozen=True):
    """`ok`: no check failed; what is missing lessens what a pull reads."""

    name: str
    ok: bool
    checks: list[ConnectorCheck]


async def add_connector(database: Database, wanted: ConnectorRequest, key: SecretKey, *, by: Change) -> TestedConnector:
    """Test and add it. If the test fails, nothing is added.

    Raises InvalidQuestion for invalid values or a name in use, NotFound for one to replace, SecretKeyDiffers if the key is not the servers'.
    """
    if not NAME.fullmatch(wanted.name):
        raise InvalidQuestion(
            "a connector's name must have 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
            name=wanted.name[:100],
        )
    kind = kind_of(wanted.kind)
    given = dict(wanted.settings)
    async with database.connection() as connection:
        await check(connection, key)
        held = await _held(connection, wanted.name)
    if held is not None and not wanted.replace:
        raise InvalidQuestion(
            f"a connector is already called {wanted.name!r}; choose another name, or replace it", name=wanted.name
        )
    if wanted.replace:
        if held is None:
            raise unknown_connector(wanted.name)
        if held.kind != kind.name:
            raise InvalidQuestion(f"{wanted.name} is of the kind {held.kind}; remove it first", field="kind")
        given = {**_secrets(held, key), **given}
    options, secrets = check_options(kind, given)
    every = check_every(wanted.every_seconds or (held.every_seconds if held else kind.every_seconds))
    tested = await _test(wanted.name, kind.name, {**options, **secrets}) if wanted.test else []
    outcome = TestedConnector(wanted.name, all(one.state != "failed" for one in tested), tested)
    if not outcome.ok:
        return outcome
    encrypted = key.encrypt(msgspec.json.encode(secrets)) if secrets else None
    async with database.transaction() as connection:
        await check(connection, key)
        if wanted.replace:
            if not await store.change(connection, wanted.name, options, encrypted, every):
                raise unknown_connector(wanted.name)
        elif not await store.add(connection, wanted.name, kind.name, options, encrypted, every, by.actor):
            raise InvalidQuestion(
                f"a connector is already called {wanted.name!r}; choose another name", name=wanted.name
            )
        await audit_store.append(connection, by)
    return outcome


async def test_connector(database: Database, name: str, key: SecretKey, *, by: Change) -> TestedConnector:
    """Try what a pull needs. Raises NotFound."""
    async with database.transaction() as connection:
        held = await _held(connection, name)
        if held is None:
            raise unknown_connector(name)
        await audit_store.append(connection, by)
    checks = await _test(name, held.kind, {**held.options, **_secrets(held, key)})
    return TestedConnector(name, all(one.state != "failed" for one in checks), checks)


async def pause_connector(database: Database, name: str, paused: bool, *, by: Change) -> None:
    """Stop or resume its schedule. Raises NotFound."""
    async with database.transaction() as connection:
        if not await store.pause(connection, name, paused):
            raise unknown_connector(name)
        await audit_store.append(connection, by)


async def request_pull(database: Database, name: str, *, by: Change) -> None:
    """Ask for a pull now, also of a connector that is paused. Raises NotFound."""
    async with database.transaction() as connection:
        if not await store.request(connection, name):
            raise unknown_connector(name)
        await audit_store.append(connection, by)


async def remove_connector(database: Database, name: str, *, by: Change) -> None:
    """Remove it and its secrets. What it reported stays. Raises NotFound."""
    async with database.transaction() as connection:
        if not await store.remove(connection, name):
            raise unknown_connector(name)
        await audit_store.append(connection, by)


def unknown_connector(name: str) -> NotFound:
    return NotFound(f"no connector is called {name!r}; list them with `headwater connect list`", name=name)


async def _held(connection: Connection, name: str) -> store.StoredConnector | None:
    return next(iter(await store.connectors(connection, name)), None)


def _secrets(held: store.StoredConnector, key: SecretKey) -> Mapping[str, str]:
    return msgspec.json.decode(key.decrypt(held.secrets), type=dict[str, str]) if held.secrets else {}


async def _test(name: str, kind: str, settings: dict[str, str]) -> list[ConnectorCheck]:
    ending = await run_task(ConnectorTask("test", kind, name, settings), None, _TEST_SECONDS)
    if ending.line.failure is not None:
        return [ConnectorCheck("connect", "failed", ending.line.failure.message)]
    return ending.line.checks or []
