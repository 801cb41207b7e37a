"""`headwater rules`: check, apply and test rules of alerts, and the channels that their messages go to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli import declared_text, output, server
from headwater.cli.alerts.channels import channels
from headwater.cli.people.metadata import author

rules = typer.Typer(
    help="Say who must know of what: check, apply and test rules.", rich_markup_mode=None, no_args_is_help=True
)
rules.add_typer(channels, name="channels")
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files of rules.")]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
As = Annotated[str | None, typer.Option("--as", help="Name the author, on a server without sign-in.")]


@rules.command()
def check(files: Files, json: Json = False) -> None:
    """Read rules and say what is wrong with them. Asks no server, so it fits CI.

    Examples:

      headwater rules check alerts.yaml
    """
    from headwater.entities.alerts.rules import RuleFile, read_rules

    found = read_rules([RuleFile(**one) for one in _texts(files)])
    if json:
        output.json_line({"rules": [rule.name for rule in found.rules], "slas": [sla.name for sla in found.slas]})
        return
    output.line(f"{_counted(len(found.rules), len(found.slas))}, no mistake", "green")


@rules.command()
def apply(files: Files, as_: As = None, url: Url = None, json: Json = False) -> None:
    """Replace the rules on the server by those of these files. Wrong rules change nothing.

    A rule tells what begins after it was applied. Each version is kept, with its author.

    Examples:

      headwater rules apply alerts.yaml
    """
    import msgspec

    body = server.send(url, "PUT", "/api/v2/rules", {"files": _texts(files)}, **author(as_))
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    words = (
        f"version {told['version']} holds" if told["changed"] else f"nothing changed: version {told['version']} holds"
    )
    output.line(f"{_counted(told['rules'], told['slas'])}; {words}")
    for text in told.get("unmatched") or []:
        output.line(f"selects nothing now: {output.printable(text)}", "yellow")


@rules.command("test")
def try_on_the_past(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="YAML files of rules. Default: the rules that hold."),
    ] = None,
    since: Annotated[
        str, typer.Option(help="Begin at this time, as in 2026-11-21, or so long ago, as in 28d.")
    ] = "28d",
    until: Annotated[str | None, typer.Option(help="End at this time. Default: now.")] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List what rules would have told of the past, and to whom. Sends and stores nothing.

    Examples:

      headwater rules test alerts.yaml --since 28d

      headwater rules test --since 2026-11-01 --until 2026-11-08 --json
    """
    import msgspec

    wanted = {"files": _texts(files or []), "since": server.time(since), "until": server.time(until)}
    body = server.send(url, "POST", "/api/v2/rules/test", wanted)
    if json:
        output.raw(body)
    else:
        _show_tested(msgspec.json.decode(body))


@rules.command()
def show(
    version: Annotated[int | None, typer.Option(help="Print the texts of this version.")] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show the rules that hold, and their versions.

    Examples:

      headwater rules show

      headwater rules show --version 3
    """
    import msgspec

    path = "/api/v2/rules" if version is None else server.path("rules", "versions", str(version))
    body = server.ask(url, path)
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    if version is not None:
        for file in told["files"]:
            output.line(f"# {output.printable(file['name'])}", "dim")
            output.line(file["text"])
        return
    output.table(
        ("rule", "when", "of", "to", "from", "since (UTC)"),
        [
            (
                one["name"],
                ", ".join(one["when"]),
                " ".join([*one["of"], *(f"except {each}" for each in one["but"])]) or "everything",
                ", ".join(one["to"]),
                f"{one['file']}:{one['line']}",
                output.moment(one["since"]),
            )
            for one in told["rules"]
        ],
        empty="No rule holds. Write some, and apply them with `headwater rules apply FILE`.",
    )
    if told["slas"]:
        output.table(
            ("SLA", "of", "deadline", "goal", "from"),
            [
                (
                    one["name"],
                    " ".join([*one["of"], *(f"except {each}" for each in one["but"])]),
                    one["deadline"],
                    _share(one["goal"]),
                    f"{one['file']}:{one['line']}",
                )
                for one in told["slas"]
            ],
        )
    if told["problems"]:
        output.line("the server does not look for what these say, until they are mended and applied again:", "bold red")
    for problem in told["problems"]:
        output.line(output.printable(problem), "bold red")
    if told["trouble"]:
        output.line(f"the server cannot look now: {output.printable(told['trouble'])}", "bold red")
    for one in told["versions"]:
        output.line(
            f"version {one['version']}: {output.moment(one['applied_at'])} by {output.printable(one['applied_by'])}",
            "dim",
        )


@rules.command()
def sla(
    since: Annotated[str, typer.Option(help="Begin at this time, or so long ago, as in 8w.")] = "8w",
    of: Annotated[
        str | None,
        typer.Option(metavar="SELECTOR", help="Only of what it selects: product:funnel, tag:tier:gold, a dataset."),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show how SLAs, and the deadlines that rules declare, were met, week by week.

    Examples:

      headwater rules sla --since 12w

      headwater rules sla --of product:funnel
    """
    import msgspec

    body = server.ask(url, "/api/v2/rules/sla", since=server.time(since), of=of)
    if json:
        output.raw(body)
        return
    output.table(
        ("SLA or rule", "deadline", "week of", "due", "missed", "met", "goal", "whole", "missed most by"),
        [
            (
                one["rule"],
                one["deadline"],
                one["week"],
                one["due"],
                one["missed"],
                _share(one["share"]),
                _share(one["goal"]) + {True: " kept", False: " missed", None: ""}[one["kept"]],
                "" if one["whole"] is None else f"{one['whole']} of {one['deadlines']}",
                ", ".join(one["datasets"]),
            )
            for one in msgspec.json.decode(body)["weeks"]
        ],
        empty="No SLA holds, and no rule declares a deadline. Write one below `slas:`, or `by:` or `within:` beside `when: late`.",
    )


def _share(share: float | None) -> str:
    return "" if share is None else f"{round(share * 100, 2):g}%"


def _counted(rules: int, slas: int) -> str:
    return output.counted(rules, "rule") + (f", {output.counted(slas, 'SLA')}" if slas else "")


def _texts(files: list[Path]) -> list[dict[str, str]]:
    return [{"name": str(file), "text": declared_text.read_text(file)} for file in files]


def _show_tested(found: dict[str, Any]) -> None:
    alike = Counter(label for label, _ in {(one["label"], one["subject"]) for one in found["alerts"]})
    output.table(
        ("since (UTC)", "until (UTC)", "event", "object", "tells", "by rules", "to"),
        [
            (
                output.moment(one["since"]),
                output.moment(one["until"]),
                one["event"].replace("_", " "),
                one["label"] if alike[one["label"]] == 1 else one["subject"].partition(":")[2],
                output.counted(len(one["members"]), "object"),
                ", ".join(sorted({rule for each in one["members"] for rule in each["rules"]})),
                ", ".join(_address(each) for each in one["messages"]) or "no address",
            )
            for one in found["alerts"]
        ],
        empty="These rules would have told nothing.",
    )
    missing = sorted({name for one in found["alerts"] for name in one["unaddressed"]})
    if missing:
        output.line(f"without an address: {output.printable(', '.join(missing))}; add them to `people:`", "yellow")
    if found["alerts"]:
        words = f"{output.counted(len(found['alerts']), 'alert')}, {output.counted(found['messages'], 'message')}; none was sent"
        output.line(words, "bold")


def _address(message: dict[str, Any]) -> str:
    return f"{message['address']} (escalation {message['stage']})" if message["stage"] else str(message["address"])
