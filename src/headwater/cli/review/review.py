"""`headwater review`: what the changes of a branch would break."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output

if TYPE_CHECKING:
    from headwater.cli.review.broken_policies import BrokenPolicy, Policies
    from headwater.cli.review.noticed import Noticed
    from headwater.cli.review.results import Review

_STYLES = {
    "breaks": "bold red",
    "changes values": "yellow",
    "may change on other data": "dim yellow",
    "cosmetic": "dim",
}
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
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Fail by this policy. Default: .headwater/review.yaml here, of the project or of its repository."
        ),
    ] = None,
    policies: Annotated[
        list[Path] | None,
        typer.Option(
            "--policies",
            help="Fail if the branch breaks these policies (repeatable; tags need --url). Default: those applied on the server of --url.",
        ),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the comment to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF to this file.")] = None,
    result: Annotated[
        Path | None, typer.Option(help="Read this JSON of an earlier review instead of reviewing; needs no files.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Ask this Headwater server who notices: dashboards, people, pipelines, and what tables cost."
        ),
    ] = None,
    send: Annotated[
        Path | None, typer.Option(help="Send this comment of an earlier review to its pull request; review nothing.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the changes of a branch would break, from files or with a server.

    Exits with 3 if the policy fails the change.

    Examples:

      headwater review --base main

      headwater review --send comment.md

      headwater review --result review.json --url https://headwater.example --markdown comment.md

      headwater review dbt queries --base origin/main --markdown comment.md --sarif review.sarif
    """
    import msgspec

    from headwater.cli.review import noticed, written
    from headwater.cli.review.broken_policies import load_policies
    from headwater.cli.review.policy import find_policy, read_policy

    if send is not None:
        from headwater.cli.review.comment import send_comment

        output.line(send_comment(send, dict(os.environ)))
        return
    policy = policy or find_policy(paths or ["."])
    rules = read_policy(policy)
    held = load_policies(policies or [], url)
    found, problems, broken = (
        _earlier(result) if result is not None else _compare(base, paths or ["."], dialect, tuple(schemas or ()), held)
    )
    parties = noticed.ask_server(url, found, with_tiers=rules.has_tiers) if url else None
    if parties is not None:
        found = noticed.put_tiers(found, parties.tiers)
    problems += [one for one in rules.missing_tiers(found) if one not in problems]
    fails = sum(rules.fails(one) for one in found.affected) + len(broken)
    if parties is not None:
        fails += sum(
            rules.fails_by((table,), severity, parties.tiers.get(table, ""))
            for table, severity in parties.tables.items()
        )
    if markdown is not None:
        markdown.write_text(written.markdown(found, problems, parties, broken), encoding="utf-8")
    if sarif is not None:
        sarif.write_bytes(msgspec.json.format(msgspec.json.encode(written.sarif(found))))
    if json:
        answer = msgspec.to_builtins(found) | {"problems": problems, "fails": fails}
        answer["policy"] = str(policy) if policy is not None else None
        answer["policies"] = msgspec.to_builtins(broken)
        output.json_line(answer | ({"noticed": msgspec.to_builtins(parties)} if parties else {}))
    else:
        _print(found, problems, parties, broken)
        if policy is not None:
            output.line(f"Policy: {output.printable(str(policy))}", "dim")
    if fails:
        raise typer.Exit(_FAILS)


def _print(found: Review, problems: list[str], parties: Noticed | None, broken: list[BrokenPolicy]) -> None:
    from headwater.cli.review import written
    from headwater.cli.review.results import WORDS

    if found.affected:
        with_tiers = any(one.tier for one in found.affected)
        rows = [
            (
                f"{one.place}:{one.line}",
                WORDS[one.severity],
                *((one.tier,) if with_tiers else ()),
                one.reason if one.certain else f"perhaps: {one.reason}",
                ", ".join(one.columns),
                " → ".join(one.path),
            )
            for one in found.affected
        ]
        tier = ("tier",) if with_tiers else ()
        output.table(("text", "effect", *tier, "why", "columns", "by way of"), rows, styles={1: _STYLES})
        output.line()
    if parties is not None and parties.parties:
        told = [
            (one.kind, one.name, WORDS[one.severity], str(one.runs or ""), output.moment(one.last_at))
            for one in parties.parties
        ]
        output.table(("who", "name", "effect", "runs", "last (UTC)"), told, styles={2: _STYLES})
        output.line()
    if broken:
        output.table(
            ("policy", "text", "breaks it in", "by way of"),
            [
                (
                    one.policy,
                    f"{one.place}:{one.line}",
                    f"{one.table}#{one.column}" if one.column else one.table,
                    " → ".join(one.path),
                )
                for one in broken
            ],
        )
        output.line()
    if found.changes:
        changed = [(one.action.replace("_", " "), one.table, one.column, one.to) for one in found.changes]
        output.table(("change of a table", "of", "column", "to"), changed)
        output.line()
    for place in found.same:
        output.line(f"{output.printable(place)}: nothing changes", "dim")
    for problem in problems:
        output.line(output.printable(problem), "yellow")
    output.line(written.summary(found), "bold")


def _compare(
    base: str, paths: list[str], dialect: str, schemas: tuple[Path, ...], policies: Policies
) -> tuple[Review, list[str], list[BrokenPolicy]]:
    from headwater.cli.review.sides import compare_with
    from headwater.cli.sql.reading import Options

    return compare_with(base, paths, Options(dialect=dialect, schemas=schemas), policies)


def _earlier(path: Path) -> tuple[Review, list[str], list[BrokenPolicy]]:
    """Read what `--json` of an earlier call printed. Raises InvalidQuestion for another file."""
    import msgspec

    from headwater.cli.review.broken_policies import BrokenPolicy
    from headwater.cli.review.results import Review
    from headwater.errors import InvalidQuestion

    try:
        told = msgspec.json.decode(path.read_bytes())
        problems = msgspec.convert(told.get("problems", []), list[str])
        return msgspec.convert(told, Review), problems, msgspec.convert(told.get("policies", []), list[BrokenPolicy])
    except (OSError, AttributeError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InvalidQuestion(f"{path}: {error}; write it with headwater review --json >{path}") from error
