"""Every knob, one class for each part. Read once at an entry point and passed down as plain values; nothing reads it at import time.

`HEADWATER_DATABASE__URL` is `Settings().database.url`. What runs inside other people's processes (the client, the collectors) has its
few knobs in `headwater.client.config`, because this module costs an import of pydantic.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from headwater.errors import InvalidSettings


class DatabaseSettings(BaseModel):
    """Where the facts are kept."""

    url: str | None = Field(
        None, description="A PostgreSQL 15+ to use. Without it, Headwater runs its own in HEADWATER_HOME."
    )
    pool_size: int = Field(8, ge=2, le=200, description="Connections each server process may hold.")
    statement_timeout_seconds: float = Field(60.0, gt=0, description="A statement slower than this is cancelled.")


class ServerSettings(BaseModel):
    """The HTTP side."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(5000, ge=1, le=65535, description="Port to listen on.")
    max_body_bytes: int = Field(64 * 1024 * 1024, ge=1024, description="A larger request body is refused with 413.")
    root_path: str = Field("", description="The path a proxy serves Headwater below, such as /lineage.")
    public_url: str | None = Field(None, description="Where browsers reach the page; sign-in comes back to it.")
    workers: int = Field(1, ge=1, le=64, description="Server processes.")
    max_concurrent: int = Field(256, ge=1, description="Requests one process answers at once; more are told 503.")
    max_waiting: int = Field(4096, ge=1, description="Requests one process lets wait for news at once, beside those.")
    request_seconds: float = Field(120.0, gt=0, description="An answer that has not begun by then is a 503.")
    header_seconds: float = Field(30.0, gt=0, le=60, description="A client that sends its headers slower is let go.")
    body_seconds: float = Field(30.0, gt=0, description="A body may take this, and 1 s more for each 16 KiB that came.")
    shutdown_seconds: int = Field(20, ge=1, description="Requests in flight have this long to finish at the end.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="debug has a line a request.")

    @field_validator("root_path")
    @classmethod
    def _rooted(cls, path: str) -> str:
        trimmed = path.strip("/")
        return f"/{trimmed}" if trimmed else ""


class OidcSettings(BaseModel):
    """Signing in with an OpenID Connect provider. On when `issuer` is set."""

    issuer: str | None = Field(None, description="Address of the provider, as its tokens name it.")
    client_id: str = Field("", description="What the provider calls Headwater.")
    client_secret: str = Field("", repr=False, description="Empty for a public client: PKCE alone protects the code.")
    scopes: str = Field("openid profile email", description="What is asked of the provider.")
    role_claim: str = Field("groups", description="The claim that holds a person's groups; a.b is b inside a.")
    roles: str = Field("", description="group=role, separated by commas: data-platform=admin,analysts=read.")
    default_role: Literal["none", "read", "write", "admin"] | None = Field(
        None, description="Of whom no group speaks; without it read where allowed_domains is set, else none."
    )
    allowed_domains: str = Field("", description="Mail domains that may come in, separated by commas; empty: any.")
    audiences: str = Field("", description="Audiences whose tokens the API takes, besides client_id.")


class AccessSettings(BaseModel):
    """Who may ask and who may change."""

    mode: Literal["auto", "open", "keys"] = Field(
        "auto", description="auto: open on a loopback address where no access was set up, keys everywhere else."
    )
    admin_key: str | None = Field(
        None, min_length=16, repr=False, description="A key with every right that needs no database."
    )
    public_metrics: bool = Field(False, description="/metrics is answered without a key.")
    session_hours: float = Field(12.0, gt=0, le=720, description="How long a person stays signed in.")
    oidc: OidcSettings = Field(default_factory=lambda: OidcSettings())

    @field_validator("admin_key", mode="before")
    @classmethod
    def _blank_to_none(cls, key: object) -> object:
        return key or None  # an empty variable is how some tools leave one out


class LineageSettings(BaseModel):
    """How an answer is made from the evidence."""

    live_runs: int = Field(
        10, ge=1, le=1000, description="An edge is live while one of the job's last N reporting runs has it."
    )


class MetadataSettings(BaseModel):
    """What people may say."""

    strict_tags: bool = Field(False, description="People may use only tags that are defined.")


class RetentionSettings(BaseModel):
    """How long what is kept. Without a number it is kept for ever."""

    events_days: int | None = Field(None, ge=1, description="Months of the event log that are older are dropped.")
    runs_days: int | None = Field(None, ge=1, description="Older runs go, but for the last of each job.")
    warnings_days: int | None = Field(None, ge=1, description="Warnings about older events go.")
    audit_days: int | None = Field(None, ge=1, description="Older rows of the audit log go.")
    every_minutes: float = Field(60.0, gt=0, description="How often a server looks, more or less.")


class AmqpSettings(BaseModel):
    """Where `headwater receive` takes events from."""

    url: str = Field("amqp://guest:guest@localhost:5672/", repr=False, description="The broker, with its virtual host.")
    queue: str = Field("headwater.events", min_length=1, description="Events wait here; made when it is not there.")
    dead_letters: str = Field("headwater.dead-letters", min_length=1, description="What can never be accepted.")
    prefetch: int = Field(250, ge=1, le=65535, description="Messages one receiver holds unacknowledged.")
    batch: int = Field(500, ge=1, le=50_000, description="Events at which a transaction begins without waiting.")
    wait_ms: int = Field(50, ge=0, le=60_000, description="How long the first event of a batch waits for others.")


class ListenerSettings(BaseModel):
    """Delivery of events to listeners."""

    enabled: bool = Field(True, description="Without it this server delivers nothing: for a copy of a database.")
    batch_events: int = Field(100, ge=1, le=1000, description="Events of one delivery at most.")
    timeout_seconds: float = Field(30.0, ge=0.1, le=600, description="A receiver that answers later has failed.")
    lease_seconds: float = Field(
        15.0, ge=3, le=600, description="How long a server that was killed keeps others from delivering."
    )


class EntitySettings(BaseModel):
    """Datasets cut by time."""

    feed: bool = Field(True, description="Without it this server does not tell events to the status of instances.")


class PipelineSettings(BaseModel):
    """The jobs on Spark."""

    store: str | None = Field(None, description="Folder of the query log's tables; else query-log in HEADWATER_HOME.")
    master: str | None = Field(None, description="Spark master; else local[*], or what spark-submit says.")
    memory: str | None = Field(None, description="Memory of Spark's driver, which is all of Spark on one machine.")
    prices: str | None = Field(None, description="A YAML file: what work and storage cost.")
    config: str | None = Field(None, description="A YAML file: what is known of the warehouse besides its log.")
    batch_files: int = Field(2_000, ge=1, description="Files taken in at once, at most.")
    batch_bytes: int = Field(4 << 30, ge=1, description="Bytes of files taken in at once, at most.")


class Settings(BaseSettings):
    """Everything, read from the environment (`HEADWATER_…`, nested with `__`).

    Raises InvalidSettings, which names the variables and never their values: some are secrets.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADWATER_", env_nested_delimiter="__", extra="ignore", hide_input_in_errors=True
    )

    home: Path = Field(Path("~/.headwater"), description="Data of the embedded database, logs and the process file.")
    database: DatabaseSettings = Field(default_factory=lambda: DatabaseSettings())
    server: ServerSettings = Field(default_factory=lambda: ServerSettings())
    lineage: LineageSettings = Field(default_factory=lambda: LineageSettings())
    metadata: MetadataSettings = Field(default_factory=lambda: MetadataSettings())
    access: AccessSettings = Field(default_factory=lambda: AccessSettings())
    retention: RetentionSettings = Field(default_factory=lambda: RetentionSettings())
    amqp: AmqpSettings = Field(default_factory=lambda: AmqpSettings())
    listeners: ListenerSettings = Field(default_factory=lambda: ListenerSettings())
    entities: EntitySettings = Field(default_factory=lambda: EntitySettings())
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
