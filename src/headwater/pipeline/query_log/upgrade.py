"""A store that an earlier format wrote, rewritten in the present one.

Format 2 had whole milliseconds. Their fractions are not in the store: to have them, sync the files again into a new store.
"""

from dataclasses import replace
from typing import Final

from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import LongType, StructField, StructType

from headwater.pipeline.query_log.schema import COST, DAILY, EXECUTIONS, LANDED
from headwater.pipeline.tables import Store, Table

_WHOLE_MILLISECONDS: Final = 2


def upgrade(store: Store) -> None:
    """Rewrite tables with whole milliseconds, in one change. Does nothing to a store of the present format."""
    if store.format > _WHOLE_MILLISECONDS:
        return
    with store.change() as change:
        for table in (LANDED, EXECUTIONS, DAILY, COST):
            rows = store.read(_as_it_was(table))
            kinds = {field.name: field.dataType for field in table.schema.fields if field.name.endswith("_ms")}
            change.replace(table, rows.withColumns({name: F.col(name).cast(kind) for name, kind in kinds.items()}))


def _as_it_was(table: Table) -> Table:
    fields = [
        StructField(field.name, LongType(), field.nullable) if field.name.endswith("_ms") else field
        for field in table.schema.fields
    ]
    return replace(table, schema=StructType(fields))
