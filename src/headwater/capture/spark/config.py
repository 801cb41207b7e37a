"""What can be set for the Spark collector, and the environment that turns it on in a child process.

Everything has a default that suits; nothing here reads Spark's own configuration. Knobs come from the environment alone, because the collector
starts inside other people's programs.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

CAPTURE = "HEADWATER_CAPTURE"
SITE = Path(__file__).parent / "site"


class Config(msgspec.Struct, frozen=True):
    """`namespace`: of the application's job if it has no parent. The rest bounds the work."""

    namespace: str = "default"
    # Events waiting in the JVM; beyond, they are dropped there and counted.
    queue: int = 10_000
    # Characters of a plan's text beyond which only its tables are reported: the JSON is some 20 times that.
    largest_plan: int = 400_000
    # Column dependencies of one event.
    largest_lineage: int = 20_000
    # Seconds between two events of a streaming query that tell how far it is; its end is told at once.
    stream_seconds: float = 60.0
    # Seconds the end of the program may wait for what is still to be told.
    patience: float = 10.0


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """The configuration. A value that is no number is ignored."""
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
        patience=number("HEADWATER_SPARK_PATIENCE", default.patience),
    )


def environment(current: Mapping[str, str]) -> dict[str, str]:
    """The variables that make any Python child process capture its Spark sessions, with no line of code: `current` is left as it is."""
    paths = [path for path in current.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(SITE)]
    return {"PYTHONPATH": os.pathsep.join([str(SITE), *paths]), CAPTURE: "spark"}
