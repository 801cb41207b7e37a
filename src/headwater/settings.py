"""Every setting, one class for each part. Read once at an entry point and passed down as plain values; no module reads settings at import.

`HEADWATER_DATABASE__URL` is `Settings().database.url`. The client and the collectors run inside other programs and have their few settings
in `headwater.client.config`, because this module imports pydantic.
"""

import ipaddress
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from headwater.errors import InvalidSettings


def _check_networks(text: str) -> str:
    for part in text.split(","):
        if part.strip():
            ipaddress.ip_network(part.strip(), strict=False)
    return text


class DatabaseSettings(BaseModel):
    """The database that stores events and their projections."""

    url: str | None = Field(None, description="The PostgreSQL 15+ to use. Default: an embedded one in HEADWATER_HOME.")
    pool_size: int = Field(8, ge=2, le=200, description="Connections that each server process may hold.")
    statement_timeout_seconds: float = Field(60.0, gt=0, description="Cancel statements that take longer.")


class ServerSettings(BaseModel):
    """The HTTP side."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(5000, ge=1, le=65535, description="Port to listen on.")
    max_body_bytes: int = Field(64 * 1024 * 1024, ge=1024, description="Refuse larger request bodies with 413.")
    max_datasets_per_event: int = Field(
        50_000, ge=1, description="Refuse events with more inputs, or more outputs, with 413."
    )
    max_correlated_pairs_per_event: int = Field(
        250_000, ge=1, description="Refuse correlated events with more inputs times outputs with 413."
    )
    root_path: str = Field("", description="The path below which a proxy serves Headwater, such as /lineage.")
    public_url: str | None = Field(None, description="Where browsers reach the page; sign-in redirects to it.")
    allowed_hosts: str = Field(
        "",
        description="Host names to answer to, separated by commas. On a loopback address also localhost and PUBLIC_URL's; else empty means any.",
    )
    workers: int = Field(1, ge=1, le=64, description="Server processes.")
    max_concurrent: int = Field(256, ge=1, description="Requests that one process answers at once; more get 503.")
    max_waiting: int = Field(4096, ge=1, description="Long-poll requests that one process holds, in addition.")
    max_connections: int = Field(10_000, ge=64, description="Connections that one process accepts.")
    max_connections_per_address: int = Field(
        1024, ge=16, description="Of these, of one address; beyond, connections without a request are closed."
    )
    trusted_proxies: str = Field(
        "", description="Addresses and networks, separated by commas, whose connections are not limited by address."
    )
    request_seconds: float = Field(120.0, gt=0, description="Answer 503 when the answer has not begun by then.")
    header_seconds: float = Field(30.0, gt=0, le=60, description="Disconnect clients that send headers slower.")
    body_seconds: float = Field(30.0, gt=0, description="Time for a body, plus 1 s for each 16 KiB received.")
    shutdown_seconds: int = Field(20, ge=1, description="Time for requests in flight when the server stops.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="`debug` logs each request.")

    @field_validator("host")
    @classmethod
    def _without_brackets(cls, host: str) -> str:
        return host.strip().removeprefix("[").removesuffix("]")

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, text: str) -> str:
        return _check_networks(text)

    @property
    def url(self) -> str:
        """The address on this machine, without the sub-path."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @field_validator("root_path")
    @classmethod
    def _rooted(cls, path: str) -> str:
        trimmed = path.strip("/")
        return f"/{trimmed}" if trimmed else ""


LIMIT = re.compile(r"(?P<group>.+?)=(?P<limit>(namespace|tag):\s*\S.*)")
"""A group of the identity provider, and what its readers may see; the group's own name may have `=` in it."""


class OidcSettings(BaseModel):
    """Sign-in with an OpenID Connect provider. On when `issuer` is set."""

    issuer: str | None = Field(None, description="Address of the provider: the `iss` of its tokens.")
    client_id: str = Field("", description="Headwater's client id at the provider.")
    client_secret: str = Field("", repr=False, description="Empty for a public client, which has PKCE alone.")
    scopes: str = Field("openid profile email", description="Scopes to request from the provider.")
    role_claim: str = Field("groups", description="The claim with a user's groups; a.b is b inside a.")
    roles: str = Field("", description="group=role, separated by commas: data-platform=admin,analysts=read.")
    default_role: Literal["none", "read", "write", "admin"] | None = Field(
        None, description="Role of users in no mapped group. Default: read if allowed_domains is set, else none."
    )
    allowed_domains: str = Field(
        "", description="Mail domains whose users may sign in, separated by commas. Empty: any."
    )
    limits: str = Field(
        "",
        description="group=namespace:PATTERN or group=tag:NAME, separated by commas: readers of the group see these datasets only.",
    )
    audiences: str = Field("", description="Audiences whose tokens the API accepts, besides client_id.")

    @field_validator("limits")
    @classmethod
    def _limits(cls, text: str) -> str:
        for part in filter(None, map(str.strip, text.split(","))):
            if not LIMIT.fullmatch(part):
                raise ValueError(f"{part!r} is not group=namespace:PATTERN or group=tag:NAME")
        return text


class AccessSettings(BaseModel):
    """The rights to read and to change."""

    mode: Literal["auto", "open", "keys"] = Field(
        "auto", description="auto: open on a loopback address without admin key and provider, else keys."
    )
    admin_key: str | None = Field(
        None, min_length=16, repr=False, description="A key with every right, which works without the database."
    )
    secret_key: str | None = Field(
        None,
        min_length=32,
        repr=False,
        description="Signs sessions and encrypts listeners' secrets; the same on all servers. Default: secret.key in HEADWATER_HOME.",
    )
    public_metrics: bool = Field(False, description="Answer /metrics without a key.")
    session_hours: float = Field(12.0, gt=0, le=720, description="How long a user stays signed in.")
    oidc: OidcSettings = Field(default_factory=lambda: OidcSettings())

    @field_validator("admin_key", "secret_key", mode="before")
    @classmethod
    def _blank_to_none(cls, key: object) -> object:
        return key or None  # some tools pass an unset variable as an empty one


_ORIGIN = re.compile(r"'self'|https?://[A-Za-z0-9*.-]+(:[0-9]{1,5}|:\*)?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?")


class EmbedSettings(BaseModel):
    """The graph and status of datasets in frames of other pages. Off unless `frame_ancestors` is set."""

    badges: bool = Field(False, description="Answer `/badge/NAME.svg`, the state of a dataset, without a key.")
    frame_ancestors: str = Field(
        "", description="Origins whose pages may frame `/embed/…`, separated by spaces. Empty: none, and no such page."
    )

    @field_validator("frame_ancestors")
    @classmethod
    def _origins(cls, text: str) -> str:
        for one in text.split():
            if not _ORIGIN.fullmatch(one):
                raise ValueError("name origins as https://wiki.example.com, separated by spaces")
        return " ".join(text.split())


class MetadataSettings(BaseModel):
    """Descriptions, owners and tags that people set."""

    strict_tags: bool = Field(False, description="Refuse tags from people that are not defined.")


class RetentionSettings(BaseModel):
    """The time for which records are kept. Without a number they are kept for ever."""

    events_days: int | None = Field(None, ge=1, description="Drop months of the event log that are older.")
    runs_days: int | None = Field(None, ge=1, description="Delete older runs, except the last of each job.")
    warnings_days: int | None = Field(None, ge=1, description="Delete warnings about older events.")
    audit_days: int | None = Field(None, ge=1, description="Delete older rows of the audit log.")
    every_minutes: float = Field(60.0, gt=0, description="How often a server checks, varied by up to half.")


class AmqpSettings(BaseModel):
    """The broker and queue that `headwater events receive` takes events from."""

    url: str = Field("amqp://guest:guest@localhost:5672/", repr=False, description="The broker, with its virtual host.")
    queue: str = Field("headwater.events", min_length=1, description="The queue of events; created if it is missing.")
    dead_letters: str = Field(
        "headwater.dead-letters", min_length=1, description="The queue of messages that cannot be accepted."
    )
    prefetch: int = Field(250, ge=1, le=65535, description="Messages that one receiver holds unacknowledged.")
    batch: int = Field(500, ge=1, le=50_000, description="Events that begin a transaction at once; also its maximum.")
    wait_ms: int = Field(50, ge=0, le=60_000, description="How long the first event of a batch waits for others.")


class ListenerSettings(BaseModel):
    """Delivery of events to listeners."""

    allowed_networks: str = Field(
        "", description="Networks, separated by commas, to send events to, besides public addresses."
    )

    enabled: bool = Field(True, description="false: deliver nothing, for a copy of a database.")
    batch_events: int = Field(100, ge=1, le=1000, description="Maximum number of events in one delivery.")
    timeout_seconds: float = Field(
        30.0, ge=0.1, le=600, description="Time for a receiver to answer before the delivery fails."
    )
    lease_seconds: float = Field(
        15.0, ge=3, le=600, description="Seconds after a server was killed until others deliver."
    )

    @field_validator("allowed_networks")
    @classmethod
    def _networks(cls, text: str) -> str:
        return _check_networks(text)


class AlertSettings(BaseModel):
    """Alerts by rules."""

    enabled: bool = Field(True, description="false: look for nothing and send nothing, for a copy of a database.")
    every_seconds: float = Field(30.0, ge=0.1, le=3600, description="How often a server looks for what rules watch.")
    mail_server: str | None = Field(
        None, repr=False, description="smtp://user:password@host:587 or smtps://…; without it no mail is sent."
    )
    mail_sender: str = Field("headwater@localhost", description="The sender of mails.")
    timeout_seconds: float = Field(30.0, ge=0.1, le=600, description="Time for a channel to answer.")
    lease_seconds: float = Field(
        120.0,
        ge=1,
        le=3600,
        description="Seconds after a server was killed until another sends the messages it had taken.",
    )

    @field_validator("mail_server")
    @classmethod
    def _smtp(cls, url: str | None) -> str | None:
        if url and not url.startswith(("smtp://", "smtps://")):
            raise ValueError("begin with smtp:// or smtps://")
        return url or None


class ConnectorSettings(BaseModel):
    """Systems that are read on a schedule."""

    enabled: bool = Field(True, description="false: this server pulls nothing; another one may.")
    every_seconds: float = Field(5.0, ge=0.1, le=3600, description="How often a server looks for pulls that are due.")
    timeout_seconds: float = Field(1800.0, ge=1, le=86_400, description="Stop a pull that takes longer.")
    lease_seconds: float = Field(
        60.0, ge=3, le=3600, description="Seconds after a server was killed until another one pulls."
    )


class EntitySettings(BaseModel):
    """Datasets with a schedule."""

    clock_ahead_seconds: float = Field(
        300.0,
        ge=0,
        description="How far in the future a report's time may be; beyond, its time of arrival is recorded.",
    )
    feed: bool = Field(True, description="false: do not update the status of instances from events.")


class LineageSettings(BaseModel):
    """Lineage."""

    parsed_sql: bool = Field(
        True,
        description="false: jobs that report SQL and no dataset have no edges. Holds for all servers of a database.",
    )
    resident_mib: int = Field(
        128,
        ge=0,
        description="Memory for the graph that each worker holds to answer from. 0: ask PostgreSQL each time.",
    )


class PipelineSettings(BaseModel):
    """Jobs on Spark."""

    store: str | None = Field(
        None, description="Folder of the query log's tables. Default: query-log in HEADWATER_HOME."
    )
    master: str | None = Field(None, description="Spark master. Default: local[*], or that of spark-submit.")
    memory: str | None = Field(None, description="Memory of Spark's driver: on one machine, all of Spark.")
    prices: str | None = Field(None, description="A YAML file with prices of work and storage.")
    config: str | None = Field(None, description="A YAML file: what the query log does not say.")
    batch_files: int = Field(2_000, ge=1, description="Maximum number of files in one batch.")
    batch_bytes: int = Field(4 << 30, ge=1, description="Maximum bytes of files in one batch.")


class Settings(BaseSettings):
    """All settings, read from the environment (`HEADWATER_…`, nested with `__`).

    Raises InvalidSettings, which names the variables but never their values, because some are secrets.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADWATER_", env_nested_delimiter="__", extra="ignore", hide_input_in_errors=True
    )

    home: Path = Field(Path("~/.headwater"), description="Data of the embedded database, logs and the process file.")
    database: DatabaseSettings = Field(default_factory=lambda: DatabaseSettings())
    server: ServerSettings = Field(default_factory=lambda: ServerSettings())
    metadata: MetadataSettings = Field(default_factory=lambda: MetadataSettings())
    access: AccessSettings = Field(default_factory=lambda: AccessSettings())
    embed: EmbedSettings = Field(default_factory=lambda: EmbedSettings())
    retention: RetentionSettings = Field(default_factory=lambda: RetentionSettings())
    amqp: AmqpSettings = Field(default_factory=lambda: AmqpSettings())
    listeners: ListenerSettings = Field(default_factory=lambda: ListenerSettings())
    alerts: AlertSettings = Field(default_factory=lambda: AlertSettings())
    connectors: ConnectorSettings = Field(default_factory=lambda: ConnectorSettings())
    entities: EntitySettings = Field(default_factory=lambda: EntitySettings())
    lineage: LineageSettings = Field(default_factory=lambda: LineageSettings())
    pipeline: PipelineSettings = Field(default_factory=lambda: PipelineSettings())

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            told = error.errors(include_input=False, include_url=False, include_context=False)
            named = [("HEADWATER_" + "__".join(map(str, one["loc"])).upper(), one["msg"]) for one in told]
            raise InvalidSettings(
                "; ".join(f"{name}: {words}" for name, words in named), variables=[name for name, _ in named]
            ) from None


def listed(text: str) -> list[str]:
    """Split `a, b` into its parts."""
    return [part.strip() for part in text.split(",") if part.strip()]
