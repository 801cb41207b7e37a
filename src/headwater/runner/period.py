"""The period of a run: from the text of a dk.yaml to two instants.

Uses calendar steps (a month is a month). Does not know when a package should run.
"""

from datetime import UTC, datetime, timedelta

from headwater.model.moments import aware

EVERY = ("hour", "day", "week", "month", "year")


def read_bounds(every: str, start: str | None, end: str | None) -> tuple[str | None, str | None]:
    """Read both bounds as ISO-8601 UTC with `Z`. A missing end is one step after the start. Raises ValueError with the reason."""
    if start is None:
        if end is not None:
            raise ValueError("has an end and no start")
        return None, None
    first = _instant(start)
    last = _instant(end) if end is not None else _step(first, every)
    if last is not None and last <= first:
        raise ValueError(f"ends ({end}) before it starts ({start})")
    return _written(first), _written(last) if last else None


def _instant(text: str) -> datetime:
    padded = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text)
    try:
        moment = datetime.fromisoformat(padded)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write 2013, 2013-01, 2013-01-31, or 2013-01-31T06:00:00Z") from None
    return aware(moment).astimezone(UTC)


def _step(moment: datetime, every: str) -> datetime | None:
    match every:
        case "hour":
            return moment + timedelta(hours=1)
        case "day":
            return moment + timedelta(days=1)
        case "week":
            return moment + timedelta(weeks=1)
        case "month":
            return (moment.replace(day=1) + timedelta(days=32)).replace(day=1)
        case "year":
            return moment.replace(year=moment.year + 1, month=1, day=1)
    return None


def _written(moment: datetime) -> str:
    return moment.isoformat().removesuffix("+00:00") + "Z"
