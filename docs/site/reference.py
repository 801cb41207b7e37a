"""Reference pages generated from the code: every command, every route, and the SQL dialects."""

import re
from collections.abc import Iterator
from typing import Any


def pages() -> dict[str, str]:
    """Markdown by the page's address on the site."""
    return {
        "reference/commands.md": commands(),
        "reference/routes.md": routes(),
        "reference/sql-dialects.md": sql_dialects(),
    }


def commands() -> str:
    """Each command with its help and options, in the groups of `headwater --help`."""
    from typer.main import get_command

    from headwater.cli.groups import GROUPS
    from headwater.cli.program import program

    root: Any = get_command(program)
    lines = ["# Commands", "", "Generated from the program: what `headwater COMMAND --help` prints.", ""]
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            for path, command in _below(f"headwater {name}", root.commands[name]):
                lines += _command(path, command)
    return "\n".join(lines)


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            yield from _below(f"{path} {name}", child)


def _command(path: str, command: Any) -> list[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    words = " ".join(command.collect_usage_pieces(context))
    lines = [f"### {path}", "", "```", f"{path} {words}", "```", ""]
    for part in (command.help or "").replace("\f", "").split("\n\n"):
        text = part.replace("\b\n", "").strip()
        lines += ["```", text, "```", ""] if text.startswith("headwater ") else [_plain(text), ""]
    rows = [record for option in command.params if (record := option.get_help_record(context))]
    if rows:
        lines += ["| option | |", "|---|---|", *(f"| {_code(name)} | {_cell(text)} |" for name, text in rows), ""]
    return lines


def sql_dialects() -> str:
    """Each SQL dialect, with what its names mean and where its texts come from."""
    from headwater.columns.dialect import ALIASES, NAMES, rules
    from headwater.pipeline.query_log.sources import SOURCES

    folds = {"lower": "lower case", "upper": "upper case", "same": "stay as written"}
    lines = [
        "# SQL dialects", "",
        "Generated from the column engine. Give a dialect, or one of its other names, to `headwater sql --dialect`, or as the `dialect` of a job's",
        "`sql` facet.", "",
        "A statement that the parser reads whole gives columns. One that it cannot read gives the tables that its words name, and says so",
        "(`tables`); what is unclear lowers the level to `partial`.", "",
        "| dialect | other names | unquoted names | names that differ in case | aliases | query log |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in ("", *NAMES):
        rule = rules(name)
        others = ", ".join(f"`{alias}`" for alias, dialect in sorted(ALIASES.items()) if dialect == name)
        case = (
            "one name"
            if rule.insensitive or rule.quoted_folds
            else "one name unless quoted"
            if rule.fold != "same"
            else "different names"
        )
        if rule.tables_sensitive:
            case += "; tables: different names"
        aliases = [
            text
            for flag, text in (
                (rule.lateral_aliases, "an output may use the alias of an earlier one"),
                (rule.alias_in_where, "WHERE may use aliases"),
                (rule.alias_first, "in GROUP BY an alias hides a column"),
            )
            if flag
        ]
        log = "yes" if name in SOURCES else ""
        lines.append(
            f"| {f'`{name}`' if name else 'standard SQL'} | {others} | {folds[rule.fold]} | {case} | {'; '.join(aliases)} | {log} |"
        )
    return "\n".join([*lines, ""])


def routes() -> str:
    """Each route of the API with its parameters, from the OpenAPI document that the server serves at `/schema`."""
    from litestar import Litestar

    from headwater.api import openapi
    from headwater.api.app import HANDLERS

    described = Litestar(list(HANDLERS), openapi_config=openapi.config(), plugins=[openapi.VerbatimJson()])
    found: dict[str, Any] = described.openapi_schema.to_schema()
    lines = ["# Routes", "", "Generated from the OpenAPI document, which a server has at `/schema/openapi.json`.", ""]
    by_tag: dict[str, list[str]] = {}
    for path, item in sorted(found["paths"].items()):
        for method, operation in item.items():
            if isinstance(operation, dict) and "responses" in operation:
                tag = next(iter(operation.get("tags", [])), "other")
                by_tag.setdefault(tag, []).extend(_route(method, path, operation))
    for tag, text in sorted(by_tag.items()):
        lines += [f"## {tag}", "", *text]
    return "\n".join(lines)


def _route(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"### {method.upper()} {_plain(path)}", ""]
    # A route without a description has its function's name: AuditLog.
    text = (
        operation.get("description") or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", operation.get("summary", "")).capitalize()
    )
    lines += [_plain(text), ""]
    if rows := operation.get("parameters"):
        lines += ["| parameter | in | |", "|---|---|---|"]
        for row in rows:
            needed = "**required.** " if row.get("required") else ""
            lines.append(f"| {_code(row['name'])} | {row['in']} | {needed}{_cell(row.get('description', ''))} |")
        lines.append("")
    return lines


def _code(text: str) -> str:
    return f"`{_bar(text)}`"


def _cell(text: str) -> str:
    return _plain(_bar(text).replace("\n", " "))


def _bar(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Text that Markdown does not read as HTML or as a link."""
    return text.replace("<", "&lt;").replace("[", "\\[")
