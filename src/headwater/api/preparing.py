"""The steps before a server serves: its schema, its projections, its key of secrets, and whether callers identify themselves.

The process that watches the workers takes them too, before any starts (`serving`), so little is imported here.
"""

from headwater import telemetry
from headwater.answer.people import keys as known_keys
from headwater.errors import NotSecured
from headwater.home import home
from headwater.intake.upkeep import rebuild
from headwater.settings import Settings
from headwater.store.database import Database
from headwater.store.events import server_state
from headwater.store.migrate import migrate
from headwater.store.people import secrets
from headwater.store.people.secrets import SecretKey, load_key


async def check(settings: Settings) -> None:
    """Report what would stop a worker before one starts: the database, its schema, or access."""
    async with Database(settings.database.url or "", pool_size=2) as database:
        await prepare(settings, database)
        await is_closed(settings, database)


async def prepare(settings: Settings, database: Database) -> None:
    """Migrate the schema to this version and bring the projections up to date with the log."""
    for name in await migrate(database):
        telemetry.say(telemetry.MigrationApplied(name))
    if await rebuild.needed(database):
        telemetry.say(telemetry.RebuildStarted())
        await rebuild.rebuild(database)
    key = secret_key(settings)
    async with database.transaction() as connection:
        await server_state.set_parsed_sql(connection, settings.lineage.parsed_sql)
        former = await secrets.adopt(connection, key)
    if former is not None:
        telemetry.say(telemetry.SecretKeyChanged(former, key.id))


def secret_key(settings: Settings) -> SecretKey:
    """Return the key that encrypts secrets in the database, made at the first start if none is set."""
    return load_key(settings.access.secret_key, home())


async def is_closed(settings: Settings, database: Database) -> bool:
    """Return whether callers must identify themselves: `HEADWATER_ACCESS__MODE`, resolved for this address.

    Raises NotSecured when the server would listen to a network with no way to sign in.
    """
    access, host = settings.access, settings.server.host
    configured = bool(access.admin_key or access.oidc.issuer)
    if access.mode == "open":
        if not loopback(host):
            telemetry.say(telemetry.OpenToNetwork(host))
        return False
    if access.mode == "auto" and loopback(host) and not configured:
        return False
    if not configured and not await known_keys.any_live(database):
        raise NotSecured(
            f"the server would listen on {host} without a key and without sign-in, and refuse every request. "
            "Make a key with `headwater server keys create NAME --role admin`, "
            "set HEADWATER_ACCESS__ADMIN_KEY, or set up HEADWATER_ACCESS__OIDC__ISSUER; HEADWATER_ACCESS__MODE=open opens the server to all.",
            host=host,
        )
    return True


def loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    import ipaddress

    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
