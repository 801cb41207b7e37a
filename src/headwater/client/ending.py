"""The end of a block in words: the exception that ended its run.

Never fails, even if an exception fails to produce its text.
"""

from headwater.client.given import text

_TRACE = 16 * 1024
_MESSAGE = 4 * 1024


def is_stop(error: BaseException) -> bool:
    """Return whether the block was stopped from outside: a signal, `sys.exit(1)`, a cancelled task."""
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        return True
    return type(error).__name__ == "CancelledError"  # asyncio's, and those that anyio and trio raise


def message(error: BaseException | str) -> tuple[str, str | None]:
    if not isinstance(error, BaseException):
        return text(error)[:_MESSAGE], None
    import traceback

    name = type(error).__name__
    try:
        trace = text("".join(traceback.format_exception(error)))[-_TRACE:]
    except Exception:  # noqa: BLE001 - an exception whose own text raises is still this one
        return name, None
    said = line(error)
    return (f"{name}: {said}" if said else name)[:_MESSAGE], trace


def line(error: BaseException) -> str:
    try:
        return text(" ".join(str(error).split()))
    except Exception:  # noqa: BLE001 - see above
        return ""
