"""What can be set for Airflow, from the environment of its processes alone: which server is told, and by which name this Airflow goes.

The server is found as every client of Headwater finds it (`headwater.client.config`). Workers and triggerers need the same variables.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.capture.airflow.rest import Airflow
from headwater.client.config import DEFAULT_URL, destination


class Config(msgspec.Struct, frozen=True):
    """`name`: of this Airflow, as it stands in `produced_by: airflow://NAME/dag/task`. `outbox`: where undelivered reports wait."""

    url: str
    outbox: Path
    api_key: str | None = None
    name: str = "airflow"

    def __repr__(self) -> str:
        """Without the key: Airflow logs what it is given."""
        return f"Config({self.url}, {self.name})"


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Settled anew each time it is asked for, which costs no connection."""
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
    """Airflow's own API at `url`, by HEADWATER_AIRFLOW_USERNAME and HEADWATER_AIRFLOW_PASSWORD, or HEADWATER_AIRFLOW_TOKEN."""
    env = os.environ if environ is None else environ
    username, password, token = (env.get(f"HEADWATER_AIRFLOW_{word}") for word in ("USERNAME", "PASSWORD", "TOKEN"))
    return Airflow(url, username=username, password=password, token=token)
