"""The commands grouped under headings, in the order of a day's questions, for `headwater --help`.

Each command's first line of help comes from the command itself.
"""

from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "Look": ("search", "datasets", "sources", "lineage", "runs", "run", "status", "log", "history", "diff", "trace", "paths"),
    "Understand": (
        "freshness", "slower", "usage", "cost", "prune", "recurrence", "quality", "conflicts", "perspectives", "sql", "fingerprint",
    ),
    "Fix": ("ready", "suspects", "taint", "verdict", "repair", "incident", "impact", "backfill", "report", "reconcile"),
    "Describe": ("describe", "own", "tag", "tags", "edge", "alias", "changes"),
    "Feed": (
        "jvm", "entities", "sync", "pull", "pipeline", "producers", "receipts", "receipt", "spool", "receive", "dead-letters", "listeners",
    ),
    "Run the server": (
        "up", "down", "doctor", "keys", "identity", "audit", "retention", "backup", "restore", "export", "replay", "rebuild", "watch", "dev",
    ),
}  # fmt: skip
WIDTH = 100


class GroupedCommands(TyperGroup):
    """A command that lists its subcommands under the headings of GROUPS."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(WIDTH)) for name in names])
