"""`headwater fingerprint PATH…`: whether two files say the same, however they are packed; no server."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.errors import InvalidQuestion


def fingerprint(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="Files, folders, URLs (s3://…), or - for standard input.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Of the stored bytes, without unpacking anything.")] = False,
    check: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Exit with 1 when the fingerprint is another.")
    ] = None,
) -> None:
    """Print the fingerprint of a file's content.

    It is xxh3-128 over the content after unpacking gzip, zstd, bz2, xz or zip.

    Of a folder: over the names and contents of all files in it.

    Examples:

      headwater fingerprint readings.csv.gz

      headwater fingerprint s3://lake/readings/2026-11-21/ --json

      headwater fingerprint readings.csv --check xxh3-128:018137666eb5d75229084719caa1a611
    """
    from headwater.cli.sql.fingerprint_lines import tell

    if check is not None and len(paths) > 1:
        raise InvalidQuestion("--check is about one path")
    raise typer.Exit(tell(paths, json=json, raw=raw, check=check))
