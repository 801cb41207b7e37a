"""Every knob, one class for each part. Read once at an entry point and passed down as plain values; nothing reads it at import time.

`HEADWATER_DATABASE__URL` is `Settings().database.url`. What runs inside other people's processes (the client, the collectors) has its
few knobs in `headwater.client.config`, because this module costs an import of pydantic.
"""

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import BaseSettings, SettingsConfigDict


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


class LineageSettings(BaseModel):
    """How an answer is made from the evidence."""

    live_runs: int = Field(
        10, ge=1, le=1000, description="An edge is live while one of the job's last N reporting runs has it."
    )


class MetadataSettings(BaseModel):
    """What people may say."""

    strict_tags: bool = Field(False, description="People may use only tags that are defined.")


class Settings(BaseSettings):
    """Everything, read from the environment (`HEADWATER_…`, nested with `__`)."""

    model_config = SettingsConfigDict(env_prefix="HEADWATER_", env_nested_delimiter="__", extra="ignore")

    home: Path = Field(Path("~/.headwater"), description="Data of the embedded database, logs and the process file.")
    database: DatabaseSettings = Field(default_factory=lambda: DatabaseSettings())
    server: ServerSettings = Field(default_factory=lambda: ServerSettings())
    lineage: LineageSettings = Field(default_factory=lambda: LineageSettings())
    metadata: MetadataSettings = Field(default_factory=lambda: MetadataSettings())
