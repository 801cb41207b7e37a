"""`headwater server identity`: the rules that decide which names are one dataset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.model.identity import Rule
    from headwater.store.database import Database

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

identity = typer.Typer(
    help="Show, set and test the rules that decide which names are one dataset.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@identity.command()
def show(json: Json = False) -> None:
    """Print the rules, as `set` reads them.

    Examples:

      headwater server identity show > rules.yaml

      headwater server identity show --json
    """

    async def load_rules(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import identity as answers

        return msgspec.json.encode(await answers.rules(database))

    answer = on_database("identity show", load_rules)
    if json:
        output.raw(answer)
        return
    import msgspec
    import yaml

    reply = msgspec.json.decode(answer)
    if reply["behind"]:
        output.line("# Earlier records still follow other rules: run `headwater server rebuild`")
    output.line(yaml.safe_dump({"rules": reply["rules"]}, sort_keys=False, allow_unicode=True).rstrip())


@identity.command("set")
def set_rules(
    file: Annotated[
        Path,
        typer.Argument(
            help="A YAML or JSON file with rules (each: kind, match, to, namespace), or - for standard input."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would move without changing anything.")] = False,
    json: Json = False,
) -> None:
    """Replace the rules for new events; `headwater server rebuild` applies them to earlier ones.

    Examples:

      headwater server identity set rules.yaml --dry-run

      headwater server identity set rules.yaml && headwater server rebuild
    """
    rules = rules_in(file)

    async def replace_rules(database: Database) -> bytes:
        import msgspec

        from headwater.intake.people import identity as writes
        from headwater.intake.people.audit import by_command

        by = by_command("identity set", "set_identity", "identity", rules=msgspec.to_builtins(rules))
        return msgspec.json.encode(await writes.store_rules(database, rules, by=by, dry_run=dry_run))

    answer = on_database("identity set", replace_rules)
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    least = "at least " if reply["at_least"] else ""
    output.line(
        f"{len(reply['rules'])} rules; {least}{reply['moving']:,} of {reply['names']:,} dataset names would move"
    )
    output.line(reply["next"], "dim")


@identity.command("try")
def try_name(
    name: Annotated[
        str, typer.Argument(help="A name as an event reports it: s3a://bucket/path, or any name with --namespace.")
    ],
    namespace: Annotated[str | None, typer.Option(help="Use this namespace and take NAME as the rest.")] = None,
    json: Json = False,
) -> None:
    """Show which dataset a name becomes, and why.

    Examples:

      headwater server identity try s3a://lake/orders/day=2026-11-21

      headwater server identity try db.orders_20261121 --namespace hive://warehouse:9083 --json
    """
    told_namespace, told_name = (namespace, name) if namespace is not None else _parted(name)

    async def place_name(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import identity as answers

        return msgspec.json.encode(await answers.place(database, told_namespace, told_name))

    answer = on_database("identity try", place_name)
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    output.table(
        ("by", "namespace", "name", "part"),
        [("as reported", reply["namespace"], reply["name"], "")]
        + [
            (_by(step), step["namespace"], step["name"], ", ".join(f"{k}={v}" for k, v in step["part"].items()))
            for step in reply["steps"]
        ],
    )
    part = "".join(f" {key}={value}" for key, value in reply["part"].items())
    output.line(f"{output.printable(reply['id'])}{', part' + output.printable(part) if part else ''}")
    if reply["stands_for"]:
        output.line(f"which is an alias of {output.printable(reply['stands_for'])}")
    elif not reply["known"]:
        output.line("nothing is recorded under that name yet", "dim")


def _by(step: Any) -> str:
    return f"rule {step['rule']}" if step["by"] == "rule" else f"kept by rule {step['rule']}" if step["by"] == "keep" else step["by"]  # fmt: skip


def _parted(name: str) -> tuple[str, str]:
    """Split a URI, an absolute path or a node id into namespace and name."""
    from headwater.errors import InvalidQuestion
    from headwater.model.names import DatasetName, node_id_readings

    scheme, separator, rest = name.partition("://")
    if name.startswith("dataset:"):
        readings = [one for one in node_id_readings(name) if isinstance(one, DatasetName)]
        # The namespace includes the address and its port.
        if readings:
            best = next((one for one in readings if not re.match(r"//|\d+:", one.name)), readings[-1])
            return best.namespace, best.name
    elif separator:
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host}", slash + path or "/"
    elif name.startswith("/"):
        return "file", name
    raise InvalidQuestion(f"{name!r} has no namespace; give it with --namespace", name=name)


def rules_in(file: Path) -> tuple[Rule, ...]:
    """Read rules from a YAML or JSON file, as `identity show` prints them; `-`: standard input. Raises InvalidQuestion."""
    import sys

    import msgspec
    import yaml

    from headwater.errors import InvalidQuestion
    from headwater.model.identity import Rule

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        document = yaml.safe_load(text)
        rules = document["rules"] if isinstance(document, dict) and "rules" in document else document
        # `show --json` prints `behind` beside the rules.
        if isinstance(document, dict) and set(document) - {"rules", "behind"}:
            raise InvalidQuestion(
                f"{file}: unknown keys {', '.join(sorted(map(str, set(document) - {'rules', 'behind'})))}"
            )
        return msgspec.convert(rules if rules is not None else [], tuple[Rule, ...])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise InvalidQuestion(f"{file}: {error}") from error
