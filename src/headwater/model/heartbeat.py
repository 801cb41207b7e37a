"""The signs of life that a run announces (`headwater_heartbeat`): at least one event every so many seconds, until it ends."""

from collections.abc import Mapping

import msgspec

FACET = "headwater_heartbeat"
_LONGEST_MS = 7 * 86_400_000


class _Heartbeat(msgspec.Struct):
    seconds: float


def heartbeat_ms(run_facets: Mapping[str, bytes | msgspec.Raw]) -> int | None:
    """Return the announced interval in milliseconds, or None. A malformed facet announces nothing."""
    if FACET not in run_facets:
        return None
    try:
        interval = round(msgspec.json.decode(bytes(run_facets[FACET]), type=_Heartbeat).seconds * 1000)
    except (ValueError, OverflowError):
        return None
    return interval if 0 < interval <= _LONGEST_MS else None
