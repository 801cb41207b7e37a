"""The commands grouped under headings, in the order of a day's questions, for `headwater --help`; and the old names, which go on working.

Each command's first line of help comes from the command itself.
"""

import sys
from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "Look": (
        "search",
        "datasets",
        "jobs",
        "sources",
        "dashboards",
        "views",
        "lineage",
        "runs",
        "run",
        "status",
        "log",
        "blame",
        "diff",
    ),
    "Understand": (
        "why",
        "whatif",
        "order",
        "review",
        "usage",
        "cost",
        "prune",
        "recurrence",
        "coverage",
        "claims",
        "privacy",
        "sql",
        "fingerprint",
    ),
    "Fix": (
        "incident",
        "alerts",
        "subscribe",
        "badge",
        "taint",
        "verdict",
        "repair",
        "ready",
        "backfill",
        "report",
        "reconcile",
    ),
    "Describe": ("describe", "own", "tag", "tags", "edge", "alias"),
    "Feed": ("connect", "capture", "entities", "sync", "pull", "pipeline", "jvm", "events"),
    "Run the server": ("up", "down", "doctor", "rules", "export", "mcp", "server"),
}
RENAMED = {
    "freshness": "status",
    "slower": "status",
    "quality": "coverage",
    "conflicts": "claims",
    "perspectives": "claims --sources",
    "changes": "log",
    "history": "log",
    "impact": "repair",
    "receipts": "events list",
    "receipt": "events show",
    "producers": "events producers",
    "spool": "events spool",
    "receive": "events receive",
    "dead-letters": "events dead-letters",
    "listeners": "events listeners",
    "keys": "server keys",
    "identity": "server identity",
    "audit": "server audit",
    "retention": "server retention",
    "backup": "server backup",
    "restore": "server restore",
    "replay": "server replay",
    "rebuild": "server rebuild",
    "watch": "server watch",
    "dev": "up",
    "trace": "lineage X",
    "paths": "lineage A --to B",
    "suspects": "lineage ENTITY@INSTANCE --wrong",
}
"""Old commands, each with the words that replaced it. They are hidden, work as before, and say the new words on standard error."""
WIDTH = 100


class GroupedCommands(TyperGroup):
    """A command that lists its subcommands under the headings of GROUPS."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(WIDTH)) for name in names])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, *_ = args
        if name in RENAMED and not ctx.resilient_parsing:
            sys.stderr.write(
                f"headwater: `headwater {name}` is now `headwater {RENAMED[name]}`; the old name goes on working\n"
            )
        return super().resolve_command(ctx, args)
