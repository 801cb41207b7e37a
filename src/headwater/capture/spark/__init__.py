"""Capture what Spark reads and writes, at column level, from Python: `attach(spark)`, or `environment(os.environ)` for a child process.

Imports nothing heavy until a session is attached.
"""

from typing import TYPE_CHECKING, Any

from headwater.capture.spark.config import environment

if TYPE_CHECKING:
    from headwater.capture.spark.attachment import Attachment
    from headwater.capture.spark.connect import attachment as connect

__all__ = ["attach", "environment"]


def attach(spark: Any, *, emitter: Any = None) -> "Attachment | connect.Attachment":
    """Capture what `spark` does from this call on; see `headwater.capture.spark.attachment`."""
    from headwater.capture.spark.attachment import attach as attach_now

    return attach_now(spark, emitter=emitter)
