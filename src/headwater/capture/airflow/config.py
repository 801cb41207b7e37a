"""The configuration for Airflow, from the environment of its processes: the server, and the name of this Airflow.

The server is found as every client of Headwater finds it (`headwater.client.config`). Workers and triggerers need the same variables.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.capture.airflow.rest import Airflow
from headwater.client.config import DEFAULT_URL, destination


class Config(msgspec.Struct, frozen=True):
    """`name`: this Airflow's, as in `produced_by: airflow://NAME/dag/task`. `outbox`: the folder of undelivered reports."""

    url: str
    outbox: Path
    api_key: str | None = None
    name: str = "airflow"

    def __repr__(self) -> str:
        """Omit the key, because Airflow logs its arguments."""
        return f"Config({self.url}, {self.name})"


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration anew; this opens no connection."""
    env = os.environ if environ is None else environ
    found = destination(env)
    server = next((each for each in found.each if each.base), None)
    return Config(
        url=server.base if server else DEFAULT_URL,
        outbox=found.spool / "reports",
        api_key=server.api_key if server else env.get("HEADWATER_API_KEY") or None,
        name=env.get("HEADWATER_AIRFLOW_NAME") or "airflow",
    )


def rest(url: str, environ: Mapping[str, str] | None = None) -> Airflow:
    """Return Airflow's own API at `url`, with HEADWATER_AIRFLOW_USERNAME and HEADWATER_AIRFLOW_PASSWORD, or HEADWATER_AIRFLOW_TOKEN."""
    env = os.environ if environ is None else environ
    username, password, token = (env.get(f"HEADWATER_AIRFLOW_{word}") for word in ("USERNAME", "PASSWORD", "TOKEN"))
    return Airflow(url, username=username, password=password, token=token)
