"""`headwater privacy delete` and `headwater privacy verify`: where a subject's data may be, in a signed report."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli import output, server

_INVALID = 3
_STYLES = {"delete": "bold red", "rewrite": "bold red", "expire": "bold red", "make again": "yellow"}


def delete(
    subject: Annotated[str, typer.Argument(help="The value of the key, such as 4711. It never leaves this machine.")],
    key: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that names the subject: NAME, or DATASET.NAME.")
    ],
    tag: Annotated[str | None, typer.Option(help="Also follow values with this tag of the same datasets.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the signed report to this file.")] = None,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the signed report as JSON.")] = False,
) -> None:
    """List where one subject's data may be, in which order to delete it, what to make again, and how to prove it. Deletes nothing.

    Examples:

      headwater privacy delete 4711 --key customer_id

      headwater privacy delete ann@example.com --key shop.customers.email --tag pii --report 4711.json
    """
    import msgspec

    wanted = {"key": key, "tag": tag, "subject_sha256": hashlib.sha256(subject.encode()).hexdigest()}
    body = server.send(url, "POST", "/api/v2/privacy/deletion", wanted)
    if report is not None:
        report.write_bytes(msgspec.json.format(body))
    if json:
        output.raw(body)
    else:
        _show(msgspec.json.decode(msgspec.json.decode(body)["document"]), subject)
        if report is not None:
            output.line(f"the signed report is in {output.printable(str(report))}", "dim")


def verify(
    file: Annotated[Path, typer.Argument(help="A report that `privacy delete --report` wrote.")],
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether this server signed a report, and nothing in it was changed. Exits with 3 if not.

    Examples:

      headwater privacy verify 4711.json
    """
    import msgspec

    from headwater.errors import UnreadableContent

    try:
        signed = msgspec.json.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableContent(f"{file} cannot be read: {error}", path=str(file)) from error
    body = server.send(url, "POST", "/api/v2/privacy/verify", signed)
    told = msgspec.json.decode(body)
    if json:
        output.raw(body)
    elif told["by_this_server"]:
        output.line("signed by this server, and unchanged", "green")
    else:
        output.line("signed by another key" if told["valid"] else "not as it was signed", "bold red")
    if not told["by_this_server"]:
        raise typer.Exit(_INVALID)


def _show(found: dict[str, Any], subject: str) -> None:
    output.table(
        ("order", "dataset", "columns", "do", "versions", "instances", "owners"),
        [
            (
                one["order"],
                one["dataset"].removeprefix("dataset:"),
                ", ".join(_column(each) for each in one["columns"]),
                one["action"],
                one["versions"]["total"],
                ", ".join(one["instances"][:3]) + (" …" if len(one["instances"]) > 3 else ""),
                ", ".join([*one["owners"], *(f"team {team}" for team in one["teams"])]),
            )
            for one in found["places"]
        ],
        styles={3: _STYLES},
    )
    literal = "'" + subject.replace("'", "''") + "'"
    output.line()
    _show_steps(found["places"], literal)
    if found["make_again"]:
        output.line("then run again, in this order:", "bold")
        for job in found["make_again"]:
            output.line(f"  {output.printable(job.removeprefix('job:'))}")
    output.line("proof: each of these must find 0, or nothing:", "bold")
    for one in found["places"]:
        for proof in one["prove"]:
            written = literal if proof.startswith("select") else shlex.quote(subject)
            output.line(f"  {output.escaped(proof.replace(':subject', written))}")
    output.line("what the lineage does not know:", "bold")
    for text in found["elsewhere"]:
        output.line(f"  {output.escaped(text)}")
    if found["hidden_columns"]:
        output.line(f"{output.counted(len(found['hidden_columns']), 'column')} hold only a hash or mask of it", "dim")
    if found["left_out"]:
        output.line(f"{found['left_out']:,} datasets further down were not looked at", "yellow")


def _show_steps(places: list[dict[str, Any]], literal: str) -> None:
    output.line("delete, in this order:", "bold")
    for one in places:
        for text in one["before"]:
            output.line(f"  {output.escaped(text.replace(':subject', literal))};")
        if one["delete"]:
            output.line(f"  {output.escaped(one['delete'].replace(':subject', literal))};")
        elif one["action"] == "rewrite":
            output.line(f"  rewrite the files of {output.printable(one['dataset'])} without the subject")
        elif one["action"] == "expire":
            output.line(f"  let the records of {output.printable(one['dataset'])} expire")
        for text in one["then"]:
            output.line(f"    then {output.escaped(text)};")


def _column(one: dict[str, Any]) -> str:
    name = one["column"] or "(any column)"
    words = [word for word, holds in (("key", one["is_key"]), ("perhaps", not one["certain"])) if holds]
    return f"{name} ({', '.join(words)})" if words else str(name)
