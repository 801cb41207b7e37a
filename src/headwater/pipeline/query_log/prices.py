"""The prices of a warehouse's work: a declared list, and the money of an execution as an expression of its columns.

    currency: USD
    compute:
      - source: bigquery
        per_tib_billed: 6.25
      - source: snowflake
        warehouse: [LOAD_*, TRANSFORM]      # names; * stands for anything
        credits_per_hour: 4                 # a warehouse's size, for executions whose credits the log does not report
        per_credit: 3
      - source: databricks
        per_dbu: 0.55
    storage:
      - namespace: bigquery
        per_gib_month: 0.02

The first rule of `compute` that fits an execution (source, namespace, warehouse) prices it; its rates add up. Nothing is guessed: an execution that
no rule fits, or whose rule needs a value the log does not report, has no money, which is not the same as costing nothing.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import reduce
from pathlib import Path
from typing import Final

import msgspec
import yaml
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.errors import InvalidPrices

MONEY: Final = "decimal(28,9)"
"""Money is kept to nine places: a byte at list price is not nothing, and sums do not depend on an order."""

_HOUR = 3_600_000
_TIME: Final = "decimal(25,6)"
_MOST = 10**8
# Rate: the column it is of, and how much of the column one unit is.
RATES: Final[Mapping[str, tuple[str, int]]] = {
    "per_tb_billed": ("bytes_billed", 10**12),
    "per_tib_billed": ("bytes_billed", 2**40),
    "per_tb_scanned": ("bytes_read", 10**12),
    "per_tib_scanned": ("bytes_read", 2**40),
    "per_credit": ("credits", 1),
    "per_dbu": ("credits", 1),
    "per_slot_hour": ("slot_ms", _HOUR),
    "per_cpu_hour": ("cpu_ms", _HOUR),
    "per_second": ("duration_ms", 1000),
}
KEEPING: Final[Mapping[str, int]] = {"per_gb_month": 10**9, "per_gib_month": 2**30}
SOURCES: Final = ("bigquery", "databricks", "postgres", "redshift", "snowflake", "trino")
_MATCHES: Final = ("source", "namespace", "warehouse")
_CREDITS: Final = ("per_credit", "per_dbu")
_SPENT: Final = {"per_tb_scanned", "per_tib_scanned"}


class Rule(msgspec.Struct, frozen=True):
    """`warehouses`: names, with `*` for anything; empty fits any, also none. None fits any source or namespace."""

    source: str | None
    namespace: str | None
    warehouses: tuple[str, ...]
    rates: tuple[tuple[str, Decimal], ...]
    credits_per_hour: Decimal | None = None


class Keep(msgspec.Struct, frozen=True):
    """The price of keeping `unit` bytes for a month in `namespace` (None: in any)."""

    namespace: str | None
    rate: Decimal
    unit: int


class Prices(msgspec.Struct, frozen=True):
    currency: str
    compute: tuple[Rule, ...] = ()
    storage: tuple[Keep, ...] = ()


def read(path: Path) -> Prices:
    """The prices of a YAML file. Raises InvalidPrices with the place in it."""
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidPrices(f"{path} cannot be read: {error}", file=str(path)) from error
    return parse(told)


def parse(told: object) -> Prices:
    """The prices of a mapping, as YAML or JSON gives it. Raises InvalidPrices that names the field."""
    top = _mapping(told, "prices")
    _check_names(top, ("currency", "compute", "storage"), "prices")
    currency = top.get("currency")
    if not isinstance(currency, str) or not re.fullmatch("[A-Z]{3}", currency):
        raise _wrong("currency", currency, "three capital letters, as in USD")
    compute = tuple(_rule(one, f"compute[{place}]") for place, one in enumerate(_list(top, "compute")))
    for place, rule in enumerate(compute):
        hidden = next((first for first in range(place) if _covers(compute[first], rule)), None)
        if hidden is not None:
            raise InvalidPrices(
                f"compute[{place}] can never apply: compute[{hidden}] comes first and matches every row it matches; reorder or remove one",
                field=f"compute[{place}]",
            )
    storage = tuple(_keep(one, f"storage[{place}]") for place, one in enumerate(_list(top, "storage")))
    for place, keep in enumerate(storage):
        if any(first.namespace in {None, keep.namespace} for first in storage[:place]):
            raise InvalidPrices(
                f"storage[{place}] can never apply: an earlier rule matches every row it matches; reorder or remove one",
                field=f"storage[{place}]",
            )
    return Prices(currency, compute, storage)


def money(prices: Prices) -> Column:
    """The money of an execution (a row with EXECUTIONS' columns), decimal(28,9), null where it is not known. No Python runs for it.

    Each rate is rounded half up to nine places. Time is that of running: `duration_ms` without `queued_ms`. A cached answer scanned nothing.
    """
    return _first_that_fits([(_fits(rule), _charged(rule)) for rule in prices.compute])


def keeping(prices: Prices, namespace: Column, size: Column) -> Column:
    """The money a month that keeping `size` bytes costs in `namespace`, decimal(28,9), null where no rule fits."""
    amount = size.cast("decimal(20,0)")
    return _first_that_fits(
        [
            (
                F.lit(True) if keep.namespace is None else namespace == F.lit(keep.namespace),
                _times(amount, keep.rate, keep.unit),
            )
            for keep in prices.storage
        ]
    )


def _first_that_fits(choices: Sequence[tuple[Column, Column]]) -> Column:
    return reduce(lambda rest, one: F.when(one[0], one[1]).otherwise(rest), reversed(choices), F.lit(None).cast(MONEY))


def _fits(rule: Rule) -> Column:
    told = [
        F.col(name) == F.lit(value)
        for name, value in (("source", rule.source), ("namespace", rule.namespace))
        if value is not None
    ]
    if rule.warehouses:
        pattern = "|".join(".*".join(re.escape(part) for part in name.split("*")) for name in rule.warehouses)
        told.append(F.coalesce(F.col("warehouse").rlike(f"^(?:{pattern})$"), F.lit(False)))
    return reduce(Column.__and__, told, F.lit(True))


def _charged(rule: Rule) -> Column:
    """The sum of the charges by rates whose column the log reports; null if it reports none."""
    parts = [_part(name, rate, rule) for name, rate in rule.rates]
    known = reduce(Column.__or__, [part.isNotNull() for part in parts])
    total = reduce(Column.__add__, [F.coalesce(part, F.lit(Decimal(0)).cast(MONEY)) for part in parts])
    return F.when(known, total).cast(MONEY)


def _part(name: str, rate: Decimal, rule: Rule) -> Column:
    column, unit = RATES[name]
    running = F.greatest(F.col("duration_ms") - F.coalesce("queued_ms", F.lit(0)), F.lit(0)).cast(_TIME)
    if column == "duration_ms":
        return _times(running, rate, unit)
    if column == "credits":
        told = _times(F.col("credits").try_cast("decimal(20,9)"), rate, unit)
        if rule.credits_per_hour is None:
            return told
        return F.coalesce(told, _times(running, (rate * rule.credits_per_hour).quantize(Decimal("1e-9")), _HOUR))
    amount = F.col(column)
    if name in _SPENT:
        amount = F.when(F.coalesce("cache_hit", F.lit(False)), F.lit(0).cast("long")).otherwise(amount)
    return _times(amount.cast(_TIME if name.endswith("_hour") else "decimal(20,0)"), rate, unit)


def _times(amount: Column, rate: Decimal, unit: int) -> Column:
    """amount × rate / unit. 20 digits by 17 are 38, so nothing is lost before the division rounds."""
    return (amount * F.lit(rate).cast("decimal(17,9)") / F.lit(Decimal(unit))).try_cast(MONEY)


def _rule(told: object, where: str) -> Rule:
    rule = _mapping(told, where)
    _check_names(rule, (*_MATCHES, "credits_per_hour", *RATES), where)
    source = _name(rule, "source", where)
    if source is not None and source not in SOURCES:
        raise _wrong(f"{where}.source", source, f"one of {', '.join(SOURCES)}")
    rates = tuple((name, _number(rule[name], f"{where}.{name}")) for name in RATES if name in rule)
    if not rates:
        raise InvalidPrices(f"{where} has no rate: one of {', '.join(RATES)}", field=where)
    size = _number(rule["credits_per_hour"], f"{where}.credits_per_hour") if "credits_per_hour" in rule else None
    if size is not None and not any(name in _CREDITS for name, _ in rates):
        raise InvalidPrices(
            f"{where}.credits_per_hour needs {' or '.join(_CREDITS)}", field=f"{where}.credits_per_hour"
        )
    if size is not None and any(name in _CREDITS and rate * size >= _MOST for name, rate in rates):
        raise InvalidPrices(f"{where} makes an hour cost more than {_MOST - 1:,}", field=f"{where}.credits_per_hour")
    if all(name in rule for name in _CREDITS):
        raise InvalidPrices(f"{where} has both {' and '.join(_CREDITS)}: they price the same column", field=where)
    return Rule(source, _name(rule, "namespace", where), _warehouses(rule, where), rates, size)


def _keep(told: object, where: str) -> Keep:
    keep = _mapping(told, where)
    _check_names(keep, ("namespace", *KEEPING), where)
    rates = [name for name in KEEPING if name in keep]
    if len(rates) != 1:
        raise InvalidPrices(f"{where} needs one of {', '.join(KEEPING)}, and has {len(rates)}", field=where)
    return Keep(_name(keep, "namespace", where), _number(keep[rates[0]], f"{where}.{rates[0]}"), KEEPING[rates[0]])


def _covers(first: Rule, later: Rule) -> bool:
    """Return whether `first` fits every execution that `later` fits. Patterns are compared as they are written."""
    return (
        first.source in {None, later.source}
        and first.namespace in {None, later.namespace}
        and (
            not first.warehouses
            or "*" in first.warehouses
            or (bool(later.warehouses) and set(later.warehouses) <= set(first.warehouses))
        )
        and not (first.warehouses and not later.warehouses)
    )


def _warehouses(rule: Mapping[str, object], where: str) -> tuple[str, ...]:
    told = rule.get("warehouse")
    if told is None:
        return ()
    names = [told] if isinstance(told, str) else told
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise _wrong(f"{where}.warehouse", told, "a name or a list of names")
    return tuple(names)


def _name(rule: Mapping[str, object], field: str, where: str) -> str | None:
    told = rule.get(field)
    if told is not None and (not isinstance(told, str) or not told):
        raise _wrong(f"{where}.{field}", told, "a name")
    return told


def _number(told: object, field: str) -> Decimal:
    try:
        if isinstance(told, bool) or not isinstance(told, int | float | str | Decimal):
            raise InvalidOperation
        number = Decimal(str(told))
    except InvalidOperation:
        raise _wrong(field, told, "a number") from None
    if not number.is_finite() or number < 0 or number >= _MOST or number != number.quantize(Decimal("1e-9")):
        raise _wrong(field, told, "from 0 to 99,999,999, with at most nine places")
    return number


def _list(top: Mapping[str, object], field: str) -> Sequence[object]:
    told = top.get(field, [])
    if not isinstance(told, list):
        raise _wrong(field, told, "a list")
    return told


def _mapping(told: object, where: str) -> Mapping[str, object]:
    if not isinstance(told, dict) or not all(isinstance(name, str) for name in told):
        raise _wrong(where, told, "a mapping of names to values")
    return told


def _check_names(told: Mapping[str, object], names: Sequence[str], where: str) -> None:
    for name in told:
        if name not in names:
            raise InvalidPrices(
                f"{where}: {name!r} is nothing that is known here; there are {', '.join(names)}",
                field=f"{where}.{name}",
            )


def _wrong(field: str, told: object, wanted: str) -> InvalidPrices:
    return InvalidPrices(f"{field} is {told!r} and should be {wanted}", field=field)
