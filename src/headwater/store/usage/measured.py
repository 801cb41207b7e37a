"""Tables of the measurement facets: one for each facet of `model.measured`, with a column for each of its stored fields.

The structs of `model.measured` are the only declaration of the fields: rows, statements and conversions follow from them. A row holds what
the latest event reported; `deleted` marks a facet that its latest event deletes.
"""

import datetime as dt
import types
import typing
import uuid
from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from typing import Any

import msgspec

from headwater.model.measured import Cost, Pruning, QualityDay, Queries, Recurrence, Usage
from headwater.store.sqlfile import Query

# Type of a field in Python: its type in PostgreSQL. A list or mapping is stored as `jsonb`, a date is sent as text.
_TYPES: Mapping[object, str] = {
    str: "text",
    int: "int8",
    float: "float8",
    bool: "bool",
    dt.datetime: "timestamptz",
    dt.date: "date",
}
_SENT: Mapping[str, str] = {"jsonb": "text", "date": "text"}
_HEAD: dict[str, str] = {"at": "timestamptz", "digest": "bytea", "body_id": "uuid"}
_TEMPLATE = "queries/usage/measured.sql.in"


class MeasuredRow(tuple[Any, ...]):
    """A row of one of these tables: a tuple of `Measurement.columns`."""

    __slots__ = ()


class Measurement(msgspec.Struct, frozen=True, dict=True):
    """The table of one facet. `owner`: the column with the id of the dataset or job.

    `key`: fields that make a row of their own; a facet of such rows is never deleted. `unstored`: fields that are read from the facet only.
    """

    table: str
    owner: str
    facet: type[msgspec.Struct]
    key: tuple[str, ...] = ()
    unstored: frozenset[str] = frozenset()

    @cached_property
    def types(self) -> dict[str, str]:
        """PostgreSQL's type of each stored field, by column, in the struct's order."""
        hints = typing.get_type_hints(self.facet)
        return {column: _type(hints[field]) for field, column in self._fields.items()}

    @cached_property
    def _fields(self) -> dict[str, str]:
        """The stored fields, with their columns: `class_` is the column `class`."""
        return {name: name.removesuffix("_") for name in self.facet.__struct_fields__ if name not in self.unstored}

    @cached_property
    def columns(self) -> dict[str, str]:
        """PostgreSQL's type of each column of the table, in the order of a row."""
        key = {self.owner: "uuid"} | {name: self.types[name] for name in self.key}
        head = _HEAD | ({} if self.key else {"deleted": "bool"})
        return key | head | {name: kind for name, kind in self.types.items() if name not in self.key}

    @cached_property
    def row(self) -> type[MeasuredRow]:
        """The type of a row: a tuple of `columns`."""
        return type(f"{self.facet.__name__}Row", (MeasuredRow,), {})

    def make_row(
        self, owner: uuid.UUID, at: dt.datetime, digest: bytes, body_id: uuid.UUID, deleted: bool, facet: msgspec.Struct
    ) -> MeasuredRow:
        """The row of a decoded facet. A deleted facet is given with its default values."""
        values = {column: _sent(getattr(facet, field), self.types[column]) for field, column in self._fields.items()}
        values |= {self.owner: owner, "at": at, "digest": digest, "body_id": body_id, "deleted": deleted}
        return self.row(values[name] for name in self.columns)

    def read(self, row: Mapping[str, Any]) -> Any:
        """The facet of a row by column names. Other columns are ignored; absent ones have the field's default."""
        return self.facet(**{field: row[column] for field, column in self._fields.items() if column in row})

    @cached_property
    def statement(self) -> Query:
        """The statement that replaces rows by those of later events."""
        key = (self.owner, *self.key)
        template = resources.files("headwater.store").joinpath(_TEMPLATE).read_text(encoding="utf-8")
        text = template.format(
            table=self.table,
            columns=", ".join(self.columns),
            values=", ".join(f"{name}::{kind}" if kind in _SENT else name for name, kind in self.columns.items()),
            arrays=", ".join(f"%({name})b::{_SENT.get(kind, kind)}[]" for name, kind in self.columns.items()),
            key=", ".join(key),
            rest=", ".join(name for name in self.columns if name not in key),
            excluded=", ".join(f"excluded.{name}" for name in self.columns if name not in key),
        )
        return Query(f"replace_{self.table}", "exec", text.strip())


def _type(hint: Any) -> str:
    """PostgreSQL's type of a field. An optional field has the type of its value."""
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        (hint,) = (one for one in typing.get_args(hint) if one is not type(None))
    return _TYPES.get(hint, "jsonb")


def _sent(value: Any, kind: str) -> Any:
    if kind == "jsonb":
        return msgspec.json.encode(value, order="deterministic").decode()
    return value.isoformat() if kind == "date" else value


USAGE = Measurement(
    "usage", "dataset_id", Usage,
    unstored=frozenset({"last_read_by_service_at", "last_read_by_bi_at", "last_read_by_pipeline_at"}),
)  # fmt: skip
COST = Measurement("costs", "owner", Cost)
PRUNING = Measurement("pruning", "dataset_id", Pruning)
RECURRENCE = Measurement(
    "recurrence", "job_id", Recurrence,
    unstored=frozenset({"runs_per_period", "missing_at", "unexpected_at", "retired"}),
)  # fmt: skip
QUERY_COUNTS = Measurement(
    "query_counts", "job_id", Queries,
    unstored=frozenset(
        {
            "duration_ms", "queued_ms", "rows_read", "rows_written", "bytes_read", "bytes_billed", "bytes_written", "slot_ms", "cpu_ms",
            "credits", "money", "cache_hit", "actor", "actor_kind", "user",
        }
    ),
)  # fmt: skip
LINEAGE_QUALITY = Measurement("lineage_quality", "job_id", QualityDay, key=("day", "dialect"))
MEASUREMENTS = (USAGE, COST, RECURRENCE, QUERY_COUNTS, PRUNING, LINEAGE_QUALITY)
