"""`headwater review`: what the changes of a branch would break."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli import output

_STYLES = {"breaks": "bold red", "changes values": "yellow", "cosmetic": "dim"}
_FAILS = 3


def review(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Review these dbt projects, folders and files of SQL. Default: this folder."),
    ] = None,
    base: Annotated[
        str, typer.Option(metavar="REVISION|FOLDER", help="Compare with this revision of git, or with this folder.")
    ] = "main",
    dialect: Annotated[str, typer.Option(help="Read the SQL as this dialect. Default: that of the dbt project.")] = "",
    schemas: Annotated[
        list[Path] | None, typer.Option("--schema", help="Read columns of tables from this file (repeatable).")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Fail by this policy. Default: .headwater/review.yaml.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the comment to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF to this file.")] = None,
    send: Annotated[
        Path | None, typer.Option(help="Send this comment of an earlier review to its pull request; review nothing.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the changes of a branch would break, from files alone.

    Exits with 3 if the policy fails the change.

    Examples:

      headwater review --base main

      headwater review --send comment.md

      headwater review dbt queries --base origin/main --markdown comment.md --sarif review.sarif
    """
    import msgspec

    from headwater.cli.review import written
    from headwater.cli.review.policy import read_policy
    from headwater.cli.review.sides import compare_with
    from headwater.cli.sql.reading import Options

    if send is not None:
        from headwater.cli.review.comment import send_comment

        output.line(send_comment(send, dict(os.environ)))
        return
    rules = read_policy(policy)
    found, problems = compare_with(base, paths or ["."], Options(dialect=dialect, schemas=tuple(schemas or ())))
    fails = [one for one in found.affected if rules.fails(one)]
    if markdown is not None:
        markdown.write_text(written.markdown(found, problems), encoding="utf-8")
    if sarif is not None:
        sarif.write_bytes(msgspec.json.format(msgspec.json.encode(written.sarif(found))))
    if json:
        output.json_line(msgspec.to_builtins(found) | {"problems": problems, "fails": len(fails)})
    else:
        if found.affected:
            rows = [
                (
                    f"{one.place}:{one.line}",
                    one.severity.replace("_", " "),
                    one.reason if one.certain else f"perhaps: {one.reason}",
                    ", ".join(one.columns),
                    " → ".join(one.path),
                )
                for one in found.affected
            ]
            output.table(("text", "effect", "why", "columns", "by way of"), rows, styles={1: _STYLES})
            output.line()
        for place in found.same:
            output.line(f"{output.printable(place)}: nothing changes", "dim")
        for problem in problems:
            output.line(output.printable(problem), "yellow")
        output.line(written.summary(found), "bold")
    if fails:
        raise typer.Exit(_FAILS)
