"""`headwater export`: the lineage as files that any tool reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.serve.backup import database_in_use

if TYPE_CHECKING:
    from headwater.store.export.parquet import WrittenFile

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def export(
    parquet: Annotated[
        Path, typer.Option("--parquet", metavar="FOLDER", help="The folder to write, a Parquet file for each view.")
    ],
    view: Annotated[
        list[str] | None, typer.Option("--view", metavar="NAME", help="Write this view only. Give it once for each.")
    ] = None,
    json: Json = False,
) -> None:
    """Export the lineage as Parquet files.

    There is a file for each view of the schema `lineage`, all of one moment. Existing files are replaced once all are complete.

    Examples:

      headwater export --parquet lineage/

      headwater export --parquet lineage/ --view edges --view column_edges

      duckdb -c "from 'lineage/edges.parquet'"
    """
    need("server", "`headwater export`")
    need("export", "`headwater export`")
    import asyncio

    with database_in_use() as url:
        written = asyncio.run(_export(url, parquet, view or [], quiet=json))
    if json:
        output.json_line([{"view": each.view, "file": str(each.file), "rows": each.rows} for each in written])
        return
    output.table(["view", "rows", "file"], [[each.view, f"{each.rows:,}", str(each.file)] for each in written])


async def _export(url: str, folder: Path, only: list[str], quiet: bool) -> list[WrittenFile]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from headwater.store.database import Database
    from headwater.store.export import parquet
    from headwater.store.migrate import migrate

    database = await Database(url, pool_size=2).open()
    try:
        await migrate(database)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
            disable=quiet,
        ) as bar:
            task = bar.add_task("export")
            return await parquet.export(
                database, folder, only, lambda view, rows: bar.update(task, description=f"{view}: {rows:,} rows")
            )
    finally:
        await database.close()
