"""Headwater's spool as a transport of the official OpenLineage Python client, for unchanged producers such as Airflow and dbt:

    OPENLINEAGE__TRANSPORT__TYPE=headwater.client.openlineage.HeadwaterTransport

The destination is that of `headwater.client.config`, unless the client's own configuration has `url`, `api_key` (or
`apiKey`), `spool`, `flush_seconds`. `emit` writes a local file and returns; it never raises and never waits for a server. Only that
client imports this module: it needs openlineage-python, which Headwater does not install.
"""

from typing import Any, TypeVar

import attr
from openlineage.client.client import Event
from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Config, Transport

from headwater.client import emitter_from_environment

Ours = TypeVar("Ours", bound="HeadwaterConfig")


@attr.define
class HeadwaterConfig(Config):
    """The options beside `type`. Any others belong to other transports and are ignored."""

    url: str | None = None
    api_key: str | None = None
    spool: str | None = None
    flush_seconds: float | None = None

    @classmethod
    def from_dict(cls: type[Ours], params: dict[str, Any]) -> Ours:
        """Read the options. Raises ValueError if `flush_seconds` is not a number. Names may be in any case: the client's variables lose it."""
        given = {name.replace("_", "").lower(): value for name, value in params.items() if value is not None}
        seconds = given.get("flushseconds")
        return cls(
            url=_text(given.get("url")),
            api_key=_text(given.get("apikey")),
            spool=_text(given.get("spool")),
            flush_seconds=None if seconds is None else float(seconds),
        )


class HeadwaterTransport(Transport):
    """One emitter; see `headwater.client.Emitter` for its guarantees."""

    kind = "headwater"
    config_class = HeadwaterConfig

    def __init__(self, config: HeadwaterConfig) -> None:
        self.emitter = emitter_from_environment(
            url=config.url, api_key=config.api_key, spool=config.spool, flush_seconds=config.flush_seconds
        )

    def emit(self, event: Event) -> None:
        self.emitter.emit_encoded(lambda: Serde.to_json(event).encode())

    def close(self, timeout: float = -1) -> bool:
        """Deliver for at most `timeout` seconds (negative: `flush_seconds`); the rest stays in the spool.
        True if nothing is left.
        """
        self.emitter.close(None if timeout < 0 else timeout)
        return self.emitter.stats().pending == 0


def _text(value: object) -> str | None:
    return None if value is None else str(value)
