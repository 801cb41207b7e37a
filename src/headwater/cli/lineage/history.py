"""`headwater log`: earlier facets, versions and schemas, and what changed."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server

Name = Annotated[str, typer.Argument(help="A dataset or job: its name, the end of its name, or a node id.")]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_LONGEST = 100


def _place(url: str | None, name: str, what: str, kind: str | None = None) -> str:
    node = server.resolve(url, name, kind)
    kinds = "jobs" if node["type"] == "JOB" else "datasets"
    return server.path(kinds, node["namespace"], node["name"], *what.split("/"))


def facets(
    name: Name,
    facet: Annotated[str | None, typer.Option("--facet", "-f", help="Show only this facet.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 200,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show earlier facets of a dataset or job, when each was valid, and what changed.

    Examples:

      headwater log clean/flights --facet documentation
    """
    body = server.ask(url, _place(url, name, "facets"), name=facet, limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    for past in found["facets"]:
        output.line(output.printable(past["name"]) + ("" if past["current"] else "  (deleted)"), "bold")
        for period in past["bodies"]:
            output.line(f"  {_span(period)}  " + ("deleted" if period["deleted"] else _count(period)))
            for change in (period["changes"] or [])[:20]:
                output.line(f"    {_change(change)}", "dim")
            if (period["change_count"] or 0) > 20:
                output.line(f"    … and {period['change_count'] - 20} more; --json shows them", "dim")
    if found["truncated"]:
        output.line("there are older ones: raise --limit", "dim")


def _span(period: dict[str, Any]) -> str:
    return f"{output.moment(period['first_at'])} … {output.moment(period['last_at'])}"


def _count(period: dict[str, Any]) -> str:
    count = period["change_count"]
    return "first reported" if count is None else f"{count} change{'' if count == 1 else 's'}"


def _change(change: dict[str, Any]) -> str:
    signs = {"added": "+", "removed": "-", "changed": "~", "moved": "↕"}
    before, after = (
        None if change[side] is None else msgspec.json.encode(change[side]).decode() for side in ("before", "after")
    )
    values = " → ".join(_short(value) for value in (before, after) if value is not None)
    return f"{signs[change['op']]} {output.printable(change['path'])}  {values}"


def _short(text: str) -> str:
    return output.printable(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def versions(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=2_000, help="Show at most this many rows.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List versions of a dataset or job, with what changed. A job's version is its code, SQL, inputs and outputs.

    Examples:

      headwater log clean/flights

      headwater log job:flights:clean-flights --json
    """
    body = versions_of(url, name, limit)
    found = msgspec.json.decode(body)
    if json:
        output.raw(body)
    elif "runs" in found:
        _job_versions(found, limit)
    else:
        _dataset_versions(found)


def versions_of(url: str | None, name: str, limit: int) -> bytes:
    """Return the server's answer: versions of a dataset, or of a job, which also has `runs`."""
    place = _place(url, name, "versions")
    of_job = place.startswith("/api/v2/jobs/")
    return server.ask(url, place, limit=max(limit, 500) if of_job else limit)


def _dataset_versions(found: dict[str, Any]) -> None:
    output.table(
        ("version", "written (UTC)", "state", "rows", "size", "by", "schema"),
        [
            (
                v["external_version"] or v["id"],
                output.moment(v["created_at"]),
                v["state"],
                None if v["rows"] is None else f"{v['rows']:,}",
                output.size(v["bytes"]),
                v["run"]["job"].removeprefix("job:") if v["run"] else None,
                "changed" if v["schema_changed"] else None,
            )
            for v in found["versions"]
        ],
        styles={2: output.STATE_STYLES},
    )
    if found["total"] > len(found["versions"]):
        output.line(f"{len(found['versions'])} of {found['total']:,}; --limit shows more", "dim")


def _job_versions(found: dict[str, Any], limit: int) -> None:
    for v in found["versions"][:limit]:
        code = (v["code"] or {}).get("version") or "no code reported"
        mark = "  (current)" if v["current"] else ""
        output.line(f"{output.printable(str(code)[:12])}  {v['statement'] or ''}{mark}", "bold")
        output.line(f"  {output.moment(v['first_at'])} … {output.moment(v['last_at'])}  {v['runs']:,} runs")
        for side in ("inputs", "outputs"):
            for sign, change in (("+", "added"), ("-", "removed")):
                for node in (v["changes"] or {}).get(f"{side}_{change}", ()):
                    output.line(f"  {sign} {side[:-1]} {output.printable(node.removeprefix('dataset:'))}")
        for line in ((v["changes"] or {}).get("sql_diff") or ())[:20]:
            output.line(f"    {output.printable(line)}", "dim")
    output.line(f"as {found['examined']:,} of {found['runs']:,} runs report it", "dim")


def diff(
    name: Name,
    before: Annotated[
        str | None,
        typer.Argument(metavar="[FROM]", help="A version, by its id or external version. Default: the one before."),
    ] = None,
    after: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="The version to compare with. Default: the latest.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Compare two versions of a dataset: columns, counts, the writer, its code and parameters.

    Examples:

      headwater diff clean/flights

      headwater diff clean/flights 41 42
    """
    body = server.ask(url, _place(url, name, "versions/diff", "dataset"), **{"from": before, "to": after})
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    for side in ("before", "after"):
        period = found[side]
        by = period["run"]["job"].removeprefix("job:") if period["run"] else "an event without a run"
        version = output.printable(period["external_version"] or period["id"])
        output.line(f"{side:<7}{version}  {output.moment(period['created_at'])}  {output.printable(by)}", "bold")
    if found["same"]:
        output.line("nothing changed")
        return
    schema_changes(found["schema"])
    for key in ("rows", "bytes", "files", "external_version", "job", "code"):
        if found[key]:
            ratio = f"  (×{found[key]['ratio']:g})" if found[key]["ratio"] is not None else ""
            output.line(f"~ {key.replace('_', ' ')}  {_pair(found[key])}{ratio}")
    for key, change in found["parameters"].items():
        output.line(f"~ parameter {output.printable(key)}  {_pair(change)}")
    for sign, key in (("+", "parts_added"), ("-", "parts_removed")):
        for part in found[key]:
            output.line(f"{sign} part {output.printable(', '.join(f'{k}={v}' for k, v in part.items()))}")


def _pair(change: dict[str, Any]) -> str:
    return " → ".join("nothing" if change[side] is None else _short(str(change[side])) for side in ("before", "after"))


def schema_changes(period: dict[str, Any], indent: str = "") -> None:
    """Yield lines for the changes between two schemas."""
    for sign, key in (("+", "added"), ("-", "removed")):
        for field in period[key]:
            output.line(
                f"{indent}{sign} column {output.printable(field['name'])}  {output.printable(field['type'] or '')}"
            )
    for key, word in (("retyped", "type"), ("redescribed", "description"), ("moved", "place")):
        for change in period[key]:
            output.line(f"{indent}~ {word} of {output.printable(change['column'])}  {_pair(change)}")


def schema(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 200,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show every schema that a dataset has had, when each was valid, and what changed.

    Examples:

      headwater log clean/flights
    """
    body = server.ask(url, _place(url, name, "schema-history", "dataset"), limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    for period in found["schemas"]:
        by = f"  {period['run']['job'].removeprefix('job:')}" if period["run"] else ""
        output.line(f"{_span(period)}  {len(period['fields'])} columns{output.printable(by)}", "bold")
        if period["changes"]:
            schema_changes(period["changes"], "  ")
        else:
            output.line("  " + output.printable(", ".join(field["name"] for field in period["fields"])), "dim")
    if found["truncated"]:
        output.line("there are older ones: raise --limit", "dim")
