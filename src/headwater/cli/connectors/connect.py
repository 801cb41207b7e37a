"""`headwater connect`: systems that the server reads on a schedule. A secret is asked for, or read from a file or the environment, and is never an
option, which other users of a machine can see."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, server
from headwater.errors import InvalidQuestion
from headwater.model.connector_kinds import KINDS, ConnectorKind, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.store.database import Database

connect = typer.Typer(
    help="Connect systems that the server reads on a schedule.", rich_markup_mode=None, no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="The connector's name.")]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_PATH = "/api/v2/connectors"
_STYLES = {"works": "green", "failing": "bold red", "pulling": "cyan", "new": "dim", "paused": "dim"}
_CHECKS = {"ok": "green", "missing": "yellow", "failed": "bold red"}
_LONGEST_WAIT = 1800.0


@connect.command("list")
def list_connectors(url: Url = None, json: Json = False) -> None:
    """List connectors with their lag, rows, errors and next pull.

    Examples:

      headwater connect list
    """
    import msgspec

    body = server.ask(url, _PATH)
    if json:
        output.raw(body)
        return
    output.table(
        ("connector", "kind", "state", "lag", "rows", "last pull (UTC)", "next pull (UTC)", "error"),
        [
            (
                one["name"],
                one["kind"],
                one["state"],
                _lag(one),
                one["last"] and one["last"]["rows"],
                one["last"] and output.moment(one["last"]["started_at"]),
                output.moment(one["next_pull_at"]),
                one["last_error"],
            )
            for one in msgspec.json.decode(body)["connectors"]
        ],
        styles={2: _STYLES},
        empty="There is no connector. Connect one: `headwater connect postgres`",
    )


@connect.command("show")
def show_connector(name: Name, url: Url = None, json: Json = False) -> None:
    """Show one connector and its last pulls.

    Examples:

      headwater connect show shop
    """
    body = server.ask(url, server.path("connectors", name))
    if json:
        output.raw(body)
    else:
        _print_history(body)


@connect.command("test")
def try_connector(name: Name, url: Url = None, json: Json = False) -> None:
    """Try what a pull needs, and say which grants are missing. Exit code 1 if a check fails.

    Examples:

      headwater connect test shop
    """
    body = server.send(url, "POST", server.path("connectors", name, "test"))
    _print_tested(body, json)


@connect.command("pull")
def pull_connector(
    name: Name,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the pull has ended.")] = True,
    url: Url = None,
    json: Json = False,
) -> None:
    """Pull a connector now, also a paused one. Exit code 1 if the pull fails. For cron: pause the connector, and call this.

    Examples:

      headwater connect pull shop
    """
    body = server.send(url, "POST", server.path("connectors", name, "pull"))
    if wait:
        body = _wait_for_pull(url, name, body)
    if json:
        output.raw(body)
    else:
        _print_history(body)
    if wait:
        _exit_of_pull(body)


@connect.command("pause")
def pause_connector(
    name: Name,
    off: Annotated[bool, typer.Option("--off", help="Resume the schedule.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Stop the schedule of a connector; --off resumes it.

    Examples:

      headwater connect pause shop

      headwater connect pause shop --off
    """
    body = server.send(url, "POST", server.path("connectors", name, "resume" if off else "pause"))
    if json:
        output.raw(body)
    else:
        output.line(f"{output.printable(name)} {'is pulled on its schedule again' if off else 'is paused'}")


@connect.command("remove")
def remove_connector(name: Name, url: Url = None, json: Json = False) -> None:
    """Remove a connector and its secrets. What it reported stays.

    Examples:

      headwater connect remove shop
    """
    body = server.send(url, "DELETE", server.path("connectors", name))
    if json:
        output.raw(body)
    else:
        output.line(f"{output.printable(name)} is removed")


@connect.command("rotate")
def rotate(json: Json = False) -> None:
    """Replace the key that encrypts all secrets of the server. Works on the database; restart the servers after it.

    The key is the file secret.key in HEADWATER_HOME. If it is HEADWATER_ACCESS__SECRET_KEY instead, set that to the new key, and
    HEADWATER_FORMER_SECRET_KEY to the one before.

    Examples:

      headwater connect rotate
    """
    from headwater.cli.serve.database import on_database

    async def encrypt_anew(database: Database) -> bytes:
        import msgspec

        from headwater.home import home
        from headwater.intake.people.audit import by_command
        from headwater.intake.people.key_rotation import rotate_key
        from headwater.settings import Settings

        former = os.environ.get("HEADWATER_FORMER_SECRET_KEY")
        change = by_command("connect rotate", "rotate_key", "secrets")
        return msgspec.json.encode(await rotate_key(database, home(), Settings().access.secret_key, former, by=change))

    body = on_database("connect rotate", encrypt_anew)
    if json:
        output.raw(body)
        return
    import msgspec

    told = msgspec.json.decode(body)
    output.line(
        f"{output.counted(told['secrets'], 'secret')} encrypted with the key {told['key']} instead of {told['former']}"
    )
    output.line("Restart every server over this database with it. People sign in again.", "dim")


def _add(kind: ConnectorKind, given: Mapping[str, Any]) -> None:
    url, json = given["url"], given["json"]
    settings = {one.name: value for one in kind.options if (value := _value(kind, one, given))}
    name = given["name"] or kind.name
    body = server.send(
        url, "POST", _PATH,
        {
            "name": name, "kind": kind.name, "settings": settings, "every_seconds": given["every"],
            "test": not given["no_test"], "replace": given["replace"],
        },
    )  # fmt: skip
    _print_tested(body, json)
    if not json:
        output.line(f"{output.printable(name)} is {'replaced' if given['replace'] else 'connected'}", "green")
        output.line(f"The server pulls it now. Look with `headwater connect show {output.printable(name)}`.", "dim")


def _value(kind: ConnectorKind, one: Option, given: Mapping[str, Any]) -> str | None:
    """Return the value of an option or a secret: as given, else of the environment, else asked for at a terminal."""
    if not one.secret:
        value = given[one.name]
        if value is None and one.required and sys.stdin.isatty():
            value = typer.prompt(f"{one.name} ({one.text})")
        return None if value is None else str(value)
    if file := given[f"{one.name}_file"]:
        try:
            return Path(file).expanduser().read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidQuestion(f"{file}: {error}; name a readable file with the {one.name}") from error
    if (value := os.environ.get(_variable(one))) is not None:
        return value
    if sys.stdin.isatty():
        return str(typer.prompt(f"{one.name} ({one.text})", default="", show_default=False, hide_input=True)) or None
    return None


def _variable(one: Option) -> str:
    return f"HEADWATER_CONNECT_{one.name.upper()}"


def _command(kind: ConnectorKind) -> Callable[..., None]:
    """Return the command of a kind, with an option for each thing that the kind asks for."""
    parameters: dict[str, tuple[Any, Any]] = {}
    for one in kind.options:
        if one.secret:
            text = f"Read {one.text} from this file. Default: {_variable(one)}, else you are asked."
            flag = f"--{one.name.replace('_', '-')}-file"
            parameters[f"{one.name}_file"] = Annotated[str | None, typer.Option(flag, metavar="FILE", help=text)], None
        else:
            text = f"{one.text[:1].upper()}{one.text[1:]}." + (f" Default: {one.default}." if one.default else "")
            parameters[one.name] = (
                Annotated[str | None, typer.Option(f"--{one.name.replace('_', '-')}", help=text)],
                None,
            )
    parameters |= {
        "name": (Annotated[str | None, typer.Option(help=f"Call it this. Default: {kind.name}.")], None),
        "every": (
            Annotated[
                int | None,
                typer.Option(metavar="SECONDS", help=f"Pull this often. Default: {kind.every_seconds}."),
            ],
            None,
        ),
        "replace": (Annotated[bool, typer.Option("--replace", help="Change the connector of this name.")], False),
        "no_test": (Annotated[bool, typer.Option("--no-test", help="Add it without a test.")], False),
        "url": (Url, None),
        "json": (Json, False),
    }

    def add_connector(**given: Any) -> None:
        _add(kind, given)

    title, example = _COMMANDS[kind.name]
    add_connector.__doc__ = (
        f"Connect {title}: {kind.reads}.\n\nExamples:\n\n  headwater connect {kind.name.replace('_', '-')} {example}"
    )
    add_connector.__annotations__ = {name: type_ for name, (type_, _) in parameters.items()}
    add_connector.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)
            for name, (type_, default) in parameters.items()
        ]
    )
    return add_connector


_COMMANDS = {
    "postgres": ("PostgreSQL", "--host db.example.com --database shop --user headwater"),
    "dbt": ("dbt", "--artifacts /srv/shop/target --namespace postgres://db.example.com:5432"),
    "airflow": ("Airflow", "--address https://airflow.example.com"),
    "metabase": ("Metabase", "--address https://metabase.example.com"),
    "superset": (
        "Superset",
        "--address https://superset.example.com --user headwater --namespaces shop=postgres://db.example.com:5432",
    ),
    "looker": (
        "Looker",
        "--address https://shop.looker.com:19999 --client-id abc123 --namespaces shop_db=postgres://db.example.com:5432",
    ),
    "tableau": (
        "Tableau",
        "--address https://tableau.example.com --site shop --token-name headwater --namespaces shop=postgres://db.example.com:5432",
    ),
    "powerbi": (
        "Power BI",
        "--tenant shop.example.com --client-id abc123 --namespaces shop=postgres://db.example.com:5432",
    ),
    "schema_registry": (
        "a schema registry",
        "--address http://registry.example.com:8081 --namespace kafka://broker.example.com:9092",
    ),
    "snowflake": ("Snowflake", "--account myorg-myaccount --user HEADWATER --warehouse COMPUTE_WH"),
    "bigquery": ("BigQuery", "--project my-project --region eu"),
    "redshift": ("Redshift", "--host shop.abc123.eu-west-1.redshift.amazonaws.com --database shop --user headwater"),
    "databricks": ("Databricks", "--host dbc-a1b2.cloud.databricks.com --http-path /sql/1.0/warehouses/abc123"),
    "trino": ("Trino", "--host trino.example.com --user headwater"),
}
"""By kind: its name in words, and the options of an example."""

for _kind in KINDS.values():
    connect.command(_kind.name.replace("_", "-"))(_command(_kind))


def _wait_for_pull(url: str | None, name: str, body: bytes) -> bytes:
    """Return the connector once a pull has ended that `body` does not have."""
    import time

    import msgspec

    until = time.monotonic() + _LONGEST_WAIT
    pulls = {one["started_at"] for one in msgspec.json.decode(body)["pulls"]}
    while time.monotonic() < until:
        body = server.ask(url, server.path("connectors", name))
        told = msgspec.json.decode(body)
        if told["connector"]["state"] != "pulling" and any(one["started_at"] not in pulls for one in told["pulls"]):
            return body
        time.sleep(0.3)
    raise InvalidQuestion(
        f"no server has pulled {name} within {_LONGEST_WAIT:,.0f} s; is HEADWATER_CONNECTORS__ENABLED false on all of them?"
    )


def _exit_of_pull(body: bytes) -> None:
    import msgspec

    if msgspec.json.decode(body)["pulls"][0]["error"] is not None:
        raise typer.Exit(1)


def _print_tested(body: bytes, json: bool) -> None:
    import msgspec

    told = msgspec.json.decode(body)
    if json:
        output.raw(body)
    for one in told["checks"] if not json else ():
        output.line(f"{one['state']:8}{output.printable(one['text'])}", _CHECKS.get(one["state"]))
        if one["remedy"]:
            output.line(f"        {output.printable(one['remedy'])}")
    if not told["ok"]:
        raise typer.Exit(1)


def _print_history(body: bytes) -> None:
    import msgspec

    told = msgspec.json.decode(body)
    one = told["connector"]
    about = ", ".join(f"{name} {value}" for name, value in one["options"].items())
    output.line(f"{output.printable(one['name'])} ({one['kind']}): {one['state']}, every {one['every_seconds']} s")
    output.line(output.printable(about), "dim")
    if one["lag_seconds"] is not None:
        output.line(f"{_lag(one)} behind")
    for words in told["pulls"][0]["warnings"] if told["pulls"] else ():
        output.line(output.printable(words), "yellow")
    output.table(
        ("pull (UTC)", "took", "rows", "events", "refused", "error"),
        [
            (
                output.moment(each["started_at"]),
                output.duration(each["seconds"] * 1000),
                each["rows"],
                each["events"],
                each["refused"] or "",
                each["error"],
            )
            for each in told["pulls"][:20]
        ],
        empty="No pull has ended yet.",
    )


def _lag(one: Mapping[str, Any]) -> str:
    return "" if one["lag_seconds"] is None else output.duration(one["lag_seconds"] * 1000)
