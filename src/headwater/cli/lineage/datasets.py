"""`headwater datasets`: list datasets, or show one in full."""

from typing import Annotated, Any

import typer

from headwater.cli import output, server


def datasets(
    name: Annotated[str | None, typer.Argument(help="Show this dataset in full.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", "-s", help="List only names that contain this text.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List datasets, or show one with its schema, versions and tags.

    The dataset with the latest event comes first.

    Examples:

      headwater datasets --search traffic

      headwater datasets marts/daily_traffic
    """
    if name is not None:
        node = server.resolve(url, name, "dataset")
        place = server.path("datasets", node["namespace"], node["name"])
        if json:
            output.raw(server.ask(url, place))
        else:
            _show(server.get(url, place))
        return
    if json:
        output.raw(server.ask(url, "/api/v2/datasets", q=search, limit=limit))
        return
    found = server.get(url, "/api/v2/datasets", q=search, limit=limit)
    output.table(
        ("dataset", "namespace", "columns", "versions", "updated (UTC)", "tags"),
        [
            (
                d["name"],
                d["namespace"],
                len(d["fields"]) or None,
                d["version_count"],
                output.moment(d["updated_at"]),
                ", ".join(d["tags"]),
            )
            for d in found["datasets"]
        ],
        empty="No datasets found. Record a job with `headwater run DIR`, or send OpenLineage events to the server.",
    )
    if found["total"] > len(found["datasets"]):
        output.line(f"{len(found['datasets'])} of {found['total']:,}; --limit shows more", "dim")


def schedule_words(one: dict[str, Any]) -> str:
    """Return a schedule in words: `words_count, every day, Europe/Paris; latest 2019-03-31; 2 wrong`."""
    parts = [f"{one['entity']}, {'every ' + one['period'] if one['period'] else 'static'}"]
    if one["latest"]:
        parts.append(f"latest {one['latest']}")
    if one["wrong"]:
        parts.append(f"{one['wrong']:,} wrong")
    return "; ".join(parts)


def _show(dataset: dict[str, Any]) -> None:
    output.line(output.printable(dataset["label"]), "bold")
    output.line(f"  {output.printable(dataset['namespace'])}  {output.printable(dataset['name'])}", "dim")
    if dataset["description"]:
        output.line("  " + output.printable(dataset["description"]))
    facts = [
        ("owners", ", ".join(o["name"] for o in dataset["owners"])),
        ("tags", ", ".join(dataset["tags"])),
        (
            "inherits",
            ", ".join(f"{t['tag']} (from {t['dataset'].rsplit('/', 1)[-1]})" for t in dataset["inherited_tags"]),
        ),
        *(("schedule", schedule_words(one)) for one in dataset["schedules"]),
        ("written by", ", ".join(j.removeprefix("job:") for j in dataset["producers"])),
        ("lineage", dataset["completeness"]["summary"]),
        ("traits", ", ".join(dataset["traits"])),
        ("read by", ", ".join(j.removeprefix("job:") for j in dataset["consumers"])),
    ]
    for key, value in facts:
        if value:
            output.line(f"  {key:<11}{output.printable(value)}")
    if dataset["fields"]:
        output.line()
        output.table(
            ("  column", "type", "tags", "description"),
            [(f"  {f['name']}", f["type"], ", ".join(f["tags"]), f["description"]) for f in dataset["fields"]],
        )
    if dataset["versions"]:
        output.line()
        output.table(
            ("  version", "written (UTC)", "rows", "size", "how", "by", "schema"),
            [
                (
                    f"  {v['external_version'] or v['id'][:13]}",
                    output.moment(v["created_at"]),
                    None if v["rows"] is None else f"{v['rows']:,}",
                    output.size(v["bytes"]),
                    v["lifecycle"],
                    (v["job"] or "").removeprefix("job:"),
                    "changed" if v["schema_changed"] else "",
                )
                for v in dataset["versions"]
            ],
        )
