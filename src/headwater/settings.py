"""Every setting, one class for each part. Read once at an entry point and passed down as plain values; no module reads settings at import.

`HEADWATER_DATABASE__URL` is `Settings().database.url`. The client and the collectors run inside other programs and have their few settings
in `headwater.client.config`. The parts are structs: a validation library would take 25 MiB of each process of a server (decision 069).
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

import msgspec
from msgspec import Meta

from headwater.environment import PREFIX, SECRET, Checks, InvalidPart, Part, is_part, make_part, nest, read_environment
from headwater.errors import InvalidSettings


def _check_networks(text: str) -> str:
    for part in text.split(","):
        if part.strip():
            ipaddress.ip_network(part.strip(), strict=False)
    return text


class DatabaseSettings(Part):
    """The database that stores events and their projections."""

    url: Annotated[
        str | None, Meta(description="The PostgreSQL 15+ to use. Default: an embedded one in HEADWATER_HOME.")
    ] = None
    pool_size: Annotated[int, Meta(ge=2, le=200, description="Connections that each server process may hold.")] = 8
    statement_timeout_seconds: Annotated[float, Meta(gt=0, description="Cancel statements that take longer.")] = 60.0


class ServerSettings(Part):
    """The HTTP side."""

    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 5000
    max_body_bytes: Annotated[int, Meta(ge=1024, description="Refuse larger request bodies with 413.")] = (
        64 * 1024 * 1024
    )
    max_datasets_per_event: Annotated[
        int, Meta(ge=1, description="Refuse events with more inputs, or more outputs, with 413.")
    ] = 50_000
    max_correlated_pairs_per_event: Annotated[
        int, Meta(ge=1, description="Refuse correlated events with more inputs times outputs with 413.")
    ] = 250_000
    root_path: Annotated[str, Meta(description="The path below which a proxy serves Headwater, such as /lineage.")] = ""
    public_url: Annotated[str | None, Meta(description="Where browsers reach the page; sign-in redirects to it.")] = (
        None
    )
    allowed_hosts: Annotated[
        str,
        Meta(
            description="Host names to answer to, separated by commas. On a loopback address also localhost and PUBLIC_URL's; else empty means any."
        ),
    ] = ""
    workers: Annotated[int, Meta(ge=1, le=64, description="Server processes.")] = 1
    max_concurrent: Annotated[
        int, Meta(ge=1, description="Requests that one process answers at once; more get 503.")
    ] = 256
    max_waiting: Annotated[int, Meta(ge=1, description="Long-poll requests that one process holds, in addition.")] = (
        4096
    )
    max_connections: Annotated[int, Meta(ge=64, description="Connections that one process accepts.")] = 10_000
    max_connections_per_address: Annotated[
        int, Meta(ge=16, description="Of these, of one address; beyond, connections without a request are closed.")
    ] = 1024
    trusted_proxies: Annotated[
        str,
        Meta(description="Addresses and networks, separated by commas, whose connections are not limited by address."),
    ] = ""
    request_seconds: Annotated[float, Meta(gt=0, description="Answer 503 when the answer has not begun by then.")] = (
        120.0
    )
    header_seconds: Annotated[float, Meta(gt=0, le=60, description="Disconnect clients that send headers slower.")] = (
        30.0
    )
    body_seconds: Annotated[float, Meta(gt=0, description="Time for a body, plus 1 s for each 16 KiB received.")] = 30.0
    shutdown_seconds: Annotated[int, Meta(ge=1, description="Time for requests in flight when the server stops.")] = 20
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="`debug` logs each request.")
    ] = "info"

    checks: ClassVar[Checks] = {
        "host": lambda host: host.strip().removeprefix("[").removesuffix("]"),
        "root_path": lambda path: f"/{trimmed}" if (trimmed := path.strip("/")) else "",
        "trusted_proxies": _check_networks,
    }

    @property
    def url(self) -> str:
        """The address on this machine, without the sub-path."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


LIMIT = re.compile(r"(?P<group>.+?)=(?P<limit>(namespace|tag):\s*\S.*)")
"""A group of the identity provider, and what its readers may see; the group's own name may have `=` in it."""


def _check_limits(text: str) -> str:
    for part in filter(None, map(str.strip, text.split(","))):
        if not LIMIT.fullmatch(part):
            raise ValueError(f"{part!r} is not group=namespace:PATTERN or group=tag:NAME")
    return text


class OidcSettings(Part):
    """Sign-in with an OpenID Connect provider. On when `issuer` is set."""

    issuer: Annotated[str | None, Meta(description="Address of the provider: the `iss` of its tokens.")] = None
    client_id: Annotated[str, Meta(description="Headwater's client id at the provider.")] = ""
    client_secret: Annotated[
        str, Meta(extra=SECRET, description="Empty for a public client, which has PKCE alone.")
    ] = ""
    scopes: Annotated[str, Meta(description="Scopes to request from the provider.")] = "openid profile email"
    role_claim: Annotated[str, Meta(description="The claim with a user's groups; a.b is b inside a.")] = "groups"
    roles: Annotated[str, Meta(description="group=role, separated by commas: data-platform=admin,analysts=read.")] = ""
    default_role: Annotated[
        Literal["none", "read", "write", "admin"] | None,
        Meta(description="Role of users in no mapped group. Default: read if allowed_domains is set, else none."),
    ] = None
    allowed_domains: Annotated[
        str, Meta(description="Mail domains whose users may sign in, separated by commas. Empty: any.")
    ] = ""
    limits: Annotated[
        str,
        Meta(
            description="group=namespace:PATTERN or group=tag:NAME, separated by commas: readers of the group see these datasets only."
        ),
    ] = ""
    audiences: Annotated[str, Meta(description="Audiences whose tokens the API accepts, besides client_id.")] = ""

    checks: ClassVar[Checks] = {"limits": _check_limits}


class AccessSettings(Part):
    """The rights to read and to change."""

    mode: Annotated[
        Literal["auto", "open", "keys"],
        Meta(description="auto: open on a loopback address without admin key and provider, else keys."),
    ] = "auto"
    admin_key: Annotated[
        Annotated[str, Meta(min_length=16)] | None,
        Meta(description="A key with every right, which works without the database.", extra=SECRET),
    ] = None
    secret_key: Annotated[
        Annotated[str, Meta(min_length=32)] | None,
        Meta(
            description="Signs sessions and encrypts listeners' secrets; the same on all servers. Default: secret.key in HEADWATER_HOME.",
            extra=SECRET,
        ),
    ] = None
    public_metrics: Annotated[bool, Meta(description="Answer /metrics without a key.")] = False
    session_hours: Annotated[float, Meta(gt=0, le=720, description="How long a user stays signed in.")] = 12.0
    oidc: OidcSettings = msgspec.field(default_factory=OidcSettings)

    def __post_init__(self) -> None:
        # Some tools pass an unset variable as an empty one.
        self.admin_key, self.secret_key = self.admin_key or None, self.secret_key or None
        super().__post_init__()


_ORIGIN = re.compile(r"'self'|https?://[A-Za-z0-9*.-]+(:[0-9]{1,5}|:\*)?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?")


def _check_origins(text: str) -> str:
    for one in text.split():
        if not _ORIGIN.fullmatch(one):
            raise ValueError("name origins as https://wiki.example.com, separated by spaces")
    return " ".join(text.split())


class EmbedSettings(Part):
    """The graph and status of datasets in frames of other pages. Off unless `frame_ancestors` is set."""

    badges: Annotated[bool, Meta(description="Answer `/badge/NAME.svg`, the state of a dataset, without a key.")] = (
        False
    )
    frame_ancestors: Annotated[
        str,
        Meta(
            description="Origins whose pages may frame `/embed/…`, separated by spaces. Empty: none, and no such page."
        ),
    ] = ""

    checks: ClassVar[Checks] = {"frame_ancestors": _check_origins}


class MetadataSettings(Part):
    """Descriptions, owners and tags that people set."""

    strict_tags: Annotated[bool, Meta(description="Refuse tags from people that are not defined.")] = False


class RetentionSettings(Part):
    """The time for which records are kept. Without a number they are kept for ever."""

    events_days: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Drop months of the event log that are older.")
    ] = None
    runs_days: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Delete older runs, except the last of each job.")
    ] = None
    warnings_days: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Delete warnings about older events.")
    ] = None
    audit_days: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Delete older rows of the audit log.")
    ] = None
    every_minutes: Annotated[float, Meta(gt=0, description="How often a server checks, varied by up to half.")] = 60.0


LOCAL_BROKER = "amqp://guest:guest@localhost:5672/"


class AmqpSettings(Part):
    """The broker and queue that `headwater events receive` takes events from."""

    url: Annotated[
        str | None, Meta(extra=SECRET, description=f"The broker, with its virtual host. Default: {LOCAL_BROKER}.")
    ] = None
    queue: Annotated[str, Meta(min_length=1, description="The queue of events; created if it is missing.")] = (
        "headwater.events"
    )
    dead_letters: Annotated[str, Meta(min_length=1, description="The queue of messages that cannot be accepted.")] = (
        "headwater.dead-letters"
    )
    prefetch: Annotated[int, Meta(ge=1, le=65535, description="Messages that one receiver holds unacknowledged.")] = 250
    batch: Annotated[
        int, Meta(ge=1, le=50000, description="Events that begin a transaction at once; also its maximum.")
    ] = 500
    wait_ms: Annotated[
        int, Meta(ge=0, le=60000, description="How long the first event of a batch waits for others.")
    ] = 50

    @property
    def broker(self) -> str:
        """The broker that is set, or the one of this machine."""
        return self.url or LOCAL_BROKER


class ListenerSettings(Part):
    """Delivery of events to listeners."""

    allowed_networks: Annotated[
        str, Meta(description="Networks, separated by commas, to send events to, besides public addresses.")
    ] = ""

    enabled: Annotated[bool, Meta(description="false: deliver nothing, for a copy of a database.")] = True
    batch_events: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of events in one delivery.")] = 100
    timeout_seconds: Annotated[
        float, Meta(ge=0.1, le=600, description="Time for a receiver to answer before the delivery fails.")
    ] = 30.0
    lease_seconds: Annotated[
        float, Meta(ge=3, le=600, description="Seconds after a server was killed until others deliver.")
    ] = 15.0

    checks: ClassVar[Checks] = {"allowed_networks": _check_networks}


def _check_mail_server(url: str | None) -> str | None:
    if url and not url.startswith(("smtp://", "smtps://")):
        raise ValueError("begin with smtp:// or smtps://")
    return url or None


class AlertSettings(Part):
    """Alerts by rules."""

    enabled: Annotated[
        bool, Meta(description="false: look for nothing and send nothing, for a copy of a database.")
    ] = True
    every_seconds: Annotated[
        float, Meta(ge=0.1, le=3600, description="How often a server looks for what rules watch.")
    ] = 30.0
    mail_server: Annotated[
        str | None,
        Meta(description="smtp://user:password@host:587 or smtps://…; without it no mail is sent.", extra=SECRET),
    ] = None
    mail_sender: Annotated[str, Meta(description="The sender of mails.")] = "headwater@localhost"
    timeout_seconds: Annotated[float, Meta(ge=0.1, le=600, description="Time for a channel to answer.")] = 30.0
    lease_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=3600,
            description="Seconds after a server was killed until another sends the messages it had taken.",
        ),
    ] = 120.0

    checks: ClassVar[Checks] = {"mail_server": _check_mail_server}


class ConnectorSettings(Part):
    """Systems that are read on a schedule."""

    enabled: Annotated[bool, Meta(description="false: this server pulls nothing; another one may.")] = True
    every_seconds: Annotated[
        float, Meta(ge=0.1, le=3600, description="How often a server looks for pulls that are due.")
    ] = 5.0
    timeout_seconds: Annotated[float, Meta(ge=1, le=86400, description="Stop a pull that takes longer.")] = 1800.0
    lease_seconds: Annotated[
        float, Meta(ge=3, le=3600, description="Seconds after a server was killed until another one pulls.")
    ] = 60.0


class EntitySettings(Part):
    """Datasets with a schedule."""

    clock_ahead_seconds: Annotated[
        float,
        Meta(
            ge=0, description="How far in the future a report's time may be; beyond, its time of arrival is recorded."
        ),
    ] = 300.0
    feed: Annotated[bool, Meta(description="false: do not update the status of instances from events.")] = True


class LineageSettings(Part):
    """Lineage."""

    parsed_sql: Annotated[
        bool,
        Meta(
            description="false: jobs that report SQL and no dataset have no edges. Holds for all servers of a database."
        ),
    ] = True
    resident_mib: Annotated[
        int,
        Meta(
            ge=0, description="Memory for the graph that each worker holds to answer from. 0: ask PostgreSQL each time."
        ),
    ] = 128


class PipelineSettings(Part):
    """Jobs on Spark."""

    store: Annotated[
        str | None, Meta(description="Folder of the query log's tables. Default: query-log in HEADWATER_HOME.")
    ] = None
    master: Annotated[str | None, Meta(description="Spark master. Default: local[*], or that of spark-submit.")] = None
    memory: Annotated[str | None, Meta(description="Memory of Spark's driver: on one machine, all of Spark.")] = None
    prices: Annotated[str | None, Meta(description="A YAML file with prices of work and storage.")] = None
    config: Annotated[str | None, Meta(description="A YAML file: what the query log does not say.")] = None
    batch_files: Annotated[int, Meta(ge=1, description="Maximum number of files in one batch.")] = 2_000
    batch_bytes: Annotated[int, Meta(ge=1, description="Maximum bytes of files in one batch.")] = 4 << 30


class Settings:
    """All settings, read from the environment (`HEADWATER_…`, nested with `__`). `given`: parts, or their settings, that take precedence.

    Raises InvalidSettings, which names the variables but never their values, because some are secrets.
    """

    home: Annotated[Path, Meta(description="Data of the embedded database, logs and the process file.")]
    database: DatabaseSettings
    server: ServerSettings
    metadata: MetadataSettings
    access: AccessSettings
    embed: EmbedSettings
    retention: RetentionSettings
    amqp: AmqpSettings
    listeners: ListenerSettings
    alerts: AlertSettings
    connectors: ConnectorSettings
    entities: EntitySettings
    lineage: LineageSettings
    pipeline: PipelineSettings

    def __init__(self, **given: Any) -> None:
        kinds = {name: kind for name, kind in get_type_hints(type(self)).items() if is_part(kind)}
        read, problems = read_environment(kinds)
        self.home = Path(given.pop("home", None) or read.get("home") or "~/.headwater")
        for name, kind in kinds.items():
            try:
                setattr(self, name, make_part(kind, read.get(name, {}), given.pop(name, {})))
            except InvalidPart as error:
                problems += nest(name, error)
        if given:
            raise TypeError(f"no settings are called {', '.join(sorted(given))}")
        if problems:
            names = [PREFIX + path for path, _ in problems]
            words = "; ".join(f"{name}: {problem}" for name, (_, problem) in zip(names, problems, strict=True))
            raise InvalidSettings(words, variables=names)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def listed(text: str) -> list[str]:
    """Split `a, b` into its parts."""
    return [part.strip() for part in text.split(",") if part.strip()]
