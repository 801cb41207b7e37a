"""Join the parts of a time in file names and partition columns into one text: `year`, `month` and `day`, or a `period` and an `hour`."""

from collections.abc import Collection, Mapping

from headwater.errors import InvalidQuestion

STATIC = "static"
"""The text for storage without any time in its names."""
FIELDS = ("period", "year", "quarter", "month", "week", "day", "hour", "minute")
_ALIASES = {
    "dt": "period",
    "date": "period",
    "ds": "period",
    "yyyy": "year",
    "mm": "month",
    "dd": "day",
    "hh": "hour",
    "hr": "hour",
}
_NEEDS = {"quarter": "year", "month": "year", "week": "year", "day": "month", "hour": "day", "minute": "hour"}


def field_of(column: str) -> str | None:
    """Return the usual field of a partition column of this name: `dt` is a period, `hr` an hour. None if the name is not about time."""
    name = column.lower()
    return name if name in FIELDS else _ALIASES.get(name)


def columns_of(asked: str | None, there: Collection[str]) -> dict[str, str]:
    """Return the field of each column, from `--columns dt,hour=h` or, by default, from columns whose names are about time.

    Raises InvalidQuestion if a column is missing, a field is unknown or named twice, or no column is a time.
    """
    found: dict[str, str] = {}
    for part in (asked or "").split(","):
        given, equals, named = (each.strip() for each in part.partition("="))
        if not given:
            continue
        column = named if equals else given
        field = given if equals else field_of(given) or "period"
        if field not in FIELDS:
            raise InvalidQuestion(f"{field!r} is not a part of a time; use one of {', '.join(FIELDS)}", columns=asked)
        if column not in there:
            raise InvalidQuestion(
                f"no such partition column: {column!r}; there are {', '.join(sorted(there)) or 'none'}",
                columns=asked,
            )
        found[column] = field
    if not asked:
        found = {column: known for column in there if (known := field_of(column)) is not None}
    if not found:
        raise InvalidQuestion(
            f"none of the partition columns is a time by its name ({', '.join(sorted(there)) or 'there are none'}); "
            "name them: --columns event_date, --columns year=y,month=m",
            columns=asked,
        )
    check(found.values())
    return found


def check(fields: Collection[str]) -> None:
    """Raise InvalidQuestion if these fields do not form a time: a day without a month, or a field twice."""
    twice = sorted({each for each in fields if list(fields).count(each) > 1})
    if twice:
        raise InvalidQuestion(f"{twice[0]!r} is there twice; one time has one", field=twice[0])
    if "period" in fields:
        return
    for field in fields:
        if field == "day" and len(fields) == 1:
            continue  # a whole date is often named day
        if (needed := _NEEDS.get(field)) and needed not in fields:
            raise InvalidQuestion(f"a time that has {field!r} needs {needed!r} as well", field=field)


def text(found: Mapping[str, str]) -> str:
    """Join the values of fields into one text, also an invalid time, which the server then reports."""
    if not found:
        return STATIC
    date = found.get("period")
    if date is None and set(found) == {"day"}:
        date = found["day"]
    if date is None:
        date = found["year"]
        if "quarter" in found:
            date += f"-Q{found['quarter'].lstrip('Qq')}"
        if "month" in found:
            date += f"-{found['month'].zfill(2)}"
        if "week" in found:
            date += f"-W{found['week'].lstrip('Ww').zfill(2)}"
        if "day" in found:
            date += f"-{found['day'].zfill(2)}"
    if "hour" not in found:
        return date
    minute = f":{found['minute'].zfill(2)}" if "minute" in found else ""
    return f"{date}T{found['hour'].zfill(2)}{minute}"
