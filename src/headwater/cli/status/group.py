"""`headwater status team:NAME`: what a team or product has, what is wrong with it, and which groups it exchanges data with."""

from typing import Any

from headwater.cli import output, server
from headwater.cli.status.incidents import KIND_STYLES


def show_group(url: str | None, tag: str, *, json: bool) -> None:
    """Print the group of a tag."""
    if json:
        output.raw(server.ask(url, "/api/v2/groups", tag=tag))
        return
    found: dict[str, Any] = server.get(url, "/api/v2/groups", tag=tag)
    output.pieces([(output.printable(found["tag"]), "bold")])
    facts = (
        ("has", f"{output.counted(found['total_datasets'], 'dataset')}, {output.counted(found['total_jobs'], 'job')}"),
        ("freshness", ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in found["freshness"].items())),
        ("cost", "" if found["money"] is None else f"{found['money']:,.2f}"),
        ("reads from", ", ".join(f"{one['value']} ({one['count']:,})" for one in found["upstream"])),
        ("is read by", ", ".join(f"{one['value']} ({one['count']:,})" for one in found["downstream"])),
    )
    for name, value in facts:
        if value:
            output.line(f"  {name:<11}{output.printable(value)}")
    output.table(
        ("what", "is", "since (UTC)", "because"),
        [(one["label"], one["kind"], output.moment(one["since"]), one["text"]) for one in found["incidents"]],
        styles={1: KIND_STYLES},
        empty="Nothing of it needs you: nothing is wrong, doubted, fails, is late or fell silent.",
    )
