"""`headwater fingerprint PATH…`: compare the content of files, however they are packed, without a server."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.errors import InvalidQuestion


def fingerprint(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="Files, folders, URLs (s3://…), or - for standard input.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Hash the stored bytes without unpacking them.")] = False,
    check: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Exit with 1 if the fingerprint differs from this one.")
    ] = None,
) -> None:
    """Print the fingerprint of a file's content.

    It is xxh3-128 over the content after unpacking gzip, zstd, bz2, xz or zip.

    The fingerprint of a folder covers the names and contents of all its files.

    Examples:

      headwater fingerprint readings.csv.gz

      headwater fingerprint s3://lake/readings/2026-11-21/ --json

      headwater fingerprint readings.csv --check xxh3-128:018137666eb5d75229084719caa1a611
    """
    from headwater.cli.sql.fingerprint_lines import print_fingerprints

    if check is not None and len(paths) > 1:
        raise InvalidQuestion("--check takes exactly one path")
    raise typer.Exit(print_fingerprints(paths, json=json, raw=raw, check=check))
