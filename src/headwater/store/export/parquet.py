"""Write the views of the schema `lineage` as Parquet files: one moment of the database, each file whole or not at all."""

import uuid
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from headwater.errors import InvalidQuestion
from headwater.store.database import Database
from headwater.store.export import views
from headwater.store.export.views import ViewColumn


class WrittenFile(NamedTuple):
    """A view and the file that has its rows."""

    view: str
    file: Path
    rows: int


async def export(
    database: Database, folder: Path, only: Iterable[str] = (), progress: Callable[[str, int], None] = lambda *_: None
) -> list[WrittenFile]:
    """Write each view (or `only` these) to `folder/VIEW.parquet`, replacing what is there once all are complete.

    `progress` is called with the view and the rows written so far. Raises InvalidQuestion for a view that there is not, before anything is written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    written: list[WrittenFile] = []
    async with database.transaction() as connection:
        await connection.execute("set transaction isolation level repeatable read, read only")
        # A whole view has no time limit, and PostgreSQL plans a cursor for its first tenth unless this setting asks for all of it.
        await connection.execute("set local statement_timeout = 0")
        await connection.execute("set local cursor_tuple_fraction = 1")
        shapes = {name: list(of) for name, of in groupby(await views.columns(connection), lambda each: each.view)}
        wanted = list(dict.fromkeys(only)) or list(shapes)
        if unknown := [name for name in wanted if name not in shapes]:
            raise InvalidQuestion(f"there is no view {unknown[0]}; there are {', '.join(shapes)}", view=unknown[0])
        try:
            for name in wanted:
                schema = pa.schema([_field(pa, column) for column in shapes[name]])
                unfinished, rows = folder / f"{name}.parquet.part", 0
                with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
                    async for portion in views.rows(connection, name):
                        # A portion comes as rows; pyarrow wants columns.
                        columns = [
                            pa.array([_plain(value) for value in column], type=field.type)
                            for column, field in zip(zip(*portion, strict=True), schema, strict=True)
                        ]
                        writer.write_batch(pa.record_batch(columns, schema=schema))
                        rows += len(portion)
                        progress(name, rows)
                written.append(WrittenFile(name, folder / f"{name}.parquet", rows))
            for each in written:
                each.file.with_name(f"{each.view}.parquet.part").replace(each.file)
        finally:
            for name in wanted:
                (folder / f"{name}.parquet.part").unlink(missing_ok=True)
    return written


def _field(pa: Any, column: ViewColumn) -> Any:
    types = {
        "text": pa.string(),
        "text[]": pa.list_(pa.string()),
        "uuid": pa.string(),
        "bigint": pa.int64(),
        "integer": pa.int32(),
        "smallint": pa.int16(),
        "boolean": pa.bool_(),
        "double precision": pa.float64(),
        "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    }
    return pa.field(column.name, types[column.type], metadata={"description": column.description})


def _plain(value: object) -> object:
    return str(value) if isinstance(value, uuid.UUID) else value
