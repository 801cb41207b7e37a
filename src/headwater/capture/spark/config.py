"""The configuration of the Spark collector, and the environment that turns it on in a child process.

Everything has a default. Settings come from the environment alone, not from Spark's configuration, because the collector starts inside
programs that it does not own.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

CAPTURE = "HEADWATER_CAPTURE"
SITE = Path(__file__).parent / "site"


class Config(msgspec.Struct, frozen=True):
    """`namespace`: of the application's job if it has no parent. The other fields bound the work."""

    namespace: str = "default"
    # Events waiting in the JVM; further ones are dropped there and counted.
    queue: int = 10_000
    # The size of a plan beyond which only its tables are reported: 1 for each mention of a column, 8 for each other node and expression.
    # Such a plan takes some two seconds and 150 MB.
    largest_plan: int = 1_200_000
    # Column dependencies of one event.
    largest_lineage: int = 20_000
    # Seconds between two progress events of a streaming query; its end is reported at once.
    stream_seconds: float = 60.0
    # Seconds between two signs of life of everything that runs; 0: none, and none is announced.
    heartbeat: float = 60.0
    # Seconds that the end of the program may wait for outstanding events.
    patience: float = 10.0
    # A folder of a file system of Hadoop for what is not delivered when the program ends; empty: none.
    spool: str = ""


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration. A value that is not a number is ignored."""
    env = os.environ if environ is None else environ
    default = Config()

    def number(key: str, fallback: float) -> float:
        try:
            return float(env[key])
        except (KeyError, ValueError):
            return fallback

    return Config(
        namespace=env.get("HEADWATER_NAMESPACE") or env.get("OPENLINEAGE_NAMESPACE") or default.namespace,
        queue=int(number("HEADWATER_SPARK_QUEUE", default.queue)),
        largest_plan=int(number("HEADWATER_SPARK_LARGEST_PLAN", default.largest_plan)),
        largest_lineage=int(number("HEADWATER_SPARK_LARGEST_LINEAGE", default.largest_lineage)),
        stream_seconds=number("HEADWATER_SPARK_STREAM_SECONDS", default.stream_seconds),
        heartbeat=max(0.0, number("HEADWATER_SPARK_HEARTBEAT", default.heartbeat)),
        patience=number("HEADWATER_SPARK_PATIENCE", default.patience),
        spool=env.get("HEADWATER_SPARK_SPOOL", default.spool),
    )


def environment(current: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a Python child process capture its Spark sessions without code. Does not change `current`."""
    paths = [path for path in current.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(SITE)]
    return {"PYTHONPATH": os.pathsep.join([str(SITE), *paths]), CAPTURE: "spark"}
