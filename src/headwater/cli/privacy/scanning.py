"""`headwater privacy scan`: prove that files have a value no more, or find those that have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli import output

_FOUND = 3


def scan(
    subject: Annotated[str, typer.Argument(help="The value, such as ann@example.com. It never leaves this machine.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders of this machine.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search files for a value: also compressed ones, Parquet, ORC, Avro, archives, and dumps of PostgreSQL. Exits with 3 unless all are clean.

    Examples:

      headwater privacy scan ann@example.com /exports /lake/customers /backups
    """
    from headwater.cli.privacy import stored_values

    files = list(stored_values.scan(subject, paths))
    found = [one for one in files if one.state == "found"]
    unread = [one for one in files if one.state == "unread"]
    if json:
        output.json_line(
            {
                "files": len(files),
                "found": [one._asdict() for one in found],
                "unread": [one._asdict() for one in unread],
            }
        )
    else:
        for one in found:
            output.line(
                f"has it    {output.printable(one.path)}" + (f" ({output.printable(one.why)})" if one.why else ""),
                "bold red",
            )
        for one in unread:
            output.line(f"not read  {output.printable(one.path)}: {output.printable(one.why)}", "yellow")
        words = f"{output.counted(len(files), 'file')}: {len(found):,} with it, {len(unread):,} not read"
        output.line(words, "green" if not found and not unread else None)
    if found or unread:
        raise typer.Exit(_FOUND)
