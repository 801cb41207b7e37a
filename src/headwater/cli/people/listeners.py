"""`headwater events listeners`: forward accepted events to other systems. Works on the database; servers see a change within five seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.moment import moment
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from headwater.intake.people.audit import Change
    from headwater.store.database import Database

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="The listener's name.")]
Secret = Annotated[
    str | None,
    typer.Option(
        envvar="HEADWATER_LISTENER_SECRET",
        show_envvar=True,
        help="Use this webhook secret (whsec_…; default: a new one) or API key. Prefer the variable: the shell keeps a history.",
    ),
]

listeners = typer.Typer(
    help="Forward events to webhooks, Marquez, DataHub, OpenMetadata and others.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@listeners.command("list")
def list_listeners(json: Json = False) -> None:
    """List all listeners, and how far each has come.

    Examples:

      headwater events listeners list

      headwater events listeners list --json
    """

    async def load_listeners(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import listeners as answers

        return msgspec.json.encode(await answers.listeners(database))

    answer = on_database("listeners list", load_listeners)
    if json:
        output.raw(answer)
        return
    import msgspec

    output.table(
        ("name", "kind", "address", "state", "waiting", "lag", "delivered", "refused", "last error"),
        [
            (
                one["name"],
                one["kind"],
                one["url"],
                one["state"],
                _waiting(one),
                output.duration(round(one["lag_seconds"] * 1000)),
                one["delivered"],
                one["refused"],
                one["last_error"],
            )
            for one in msgspec.json.decode(answer)["listeners"]
        ],
        styles={3: {"active": "green", "failing": "bold red", "paused": "yellow"}},
        empty="There are no listeners. Add one with `headwater events listeners add NAME`.",
    )


@listeners.command()
def add(
    name: Name,
    kind: Annotated[
        str,
        typer.Argument(
            help="One of webhook, openlineage, marquez, datahub, openmetadata, snowflake, databricks, or python:ENTRY_POINT."
        ),
    ],
    url: Annotated[
        str | None, typer.Argument(help="Its address. If it has no path, the kind's usual path is added.")
    ] = None,
    secret: Secret = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Send only events of these namespaces (a glob). Repeatable.")
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Send only events of these jobs, NAME or NAMESPACE/NAME (a glob). Repeatable."),
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            help="Send only these types: START, RUNNING, COMPLETE, ABORT, FAIL, OTHER, JOB, DATASET. Repeatable."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Send also events from the log with this event time or a later one.")
    ] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Deliver nothing until `resume`.")] = False,
    json: Json = False,
) -> None:
    """Add a listener. It receives every event that is accepted from now on.

    Examples:

      headwater events listeners add team webhook https://hooks.example.org/lineage --type COMPLETE --type FAIL

      headwater events listeners add catalog datahub https://datahub.example.org:8080 --since 2026-01-01
    """
    from headwater.intake.listeners.changes import ListenerRequest
    from headwater.intake.listeners.filter import Filter

    filter = Filter(tuple(namespace or ()), tuple(job or ()), tuple(type or ()))
    wanted = ListenerRequest(name, kind, url, secret or None, filter, moment(since) if since else None, paused)

    async def add_listener(database: Database) -> bytes:
        import msgspec

        from headwater.intake.listeners import changes as writes

        options = {
            "kind": kind,
            "url": (url or "").partition("?")[0],
            "filter": msgspec.to_builtins(filter),
            "since": since or "",
        }
        return msgspec.json.encode(await writes.add(database, wanted, _outbound(), by=_change("add", name, **options)))

    _print_secret(on_database("listeners add", add_listener), json, "is added")


@listeners.command()
def show(name: Name, json: Json = False) -> None:
    """Show one listener, and the last events that it refused.

    Examples:

      headwater events listeners show catalog

      headwater events listeners show catalog --json
    """

    async def load_listener(database: Database) -> bytes:
        return await _find_listener(database, name)

    _print_answer(on_database("listeners show", load_listener), json)


@listeners.command()
def pause(name: Name, json: Json = False) -> None:
    """Pause a listener until `resume`. Meanwhile events wait in the log.

    Examples:

      headwater events listeners pause catalog
    """
    _changed("pause", name, json, lambda database, by: _writes().pause(database, name, by=by))


@listeners.command()
def resume(name: Name, json: Json = False) -> None:
    """Resume a paused listener where it stopped.

    Examples:

      headwater events listeners resume catalog
    """
    _changed("resume", name, json, lambda database, by: _writes().resume(database, name, by=by))


@listeners.command()
def remove(name: Name, json: Json = False) -> None:
    """Remove a listener and its records.

    Examples:

      headwater events listeners remove catalog
    """

    async def remove_listener(database: Database) -> bytes:
        was = await _find_listener(database, name)
        await _writes().remove(database, name, by=_change("remove", name))
        return was

    answer = on_database("listeners remove", remove_listener)
    if json:
        output.raw(answer)
    else:
        output.line(f"{output.printable(name)} is removed")


@listeners.command()
def replay(
    name: Name,
    since: Annotated[str, typer.Option(help="Begin at this event time (ISO 8601; UTC unless it names a zone).")],
    json: Json = False,
) -> None:
    """Deliver again what has this event time or a later one, then continue.

    Examples:

      headwater events listeners replay catalog --since 2026-11-01
    """
    at = moment(since)
    _changed("replay", name, json, lambda database, by: _writes().replay(database, name, at, by=by), since=since)


@listeners.command()
def rotate(name: Name, secret: Secret = None, json: Json = False) -> None:
    """Replace a listener's secret. For a day, a webhook is also signed with the old one.

    Examples:

      headwater events listeners rotate team

      HEADWATER_LISTENER_SECRET=… headwater events listeners rotate catalog
    """

    async def rotate_secret(database: Database) -> bytes:
        import msgspec

        by = _change("rotate", name)
        return msgspec.json.encode(await _writes().rotate(database, name, secret or None, _outbound(), by=by))

    _print_secret(on_database("listeners rotate", rotate_secret), json, "has a new secret")


@listeners.command("test")
def ping(name: Name, json: Json = False) -> None:
    """Send a listener one test event from this machine, and print its answer. Exit code 1 if it refuses the event.

    Examples:

      headwater events listeners test team

      headwater events listeners test catalog --json
    """

    async def ping_listener(database: Database) -> bytes:
        import msgspec

        return msgspec.json.encode(await _writes().ping(database, name, _outbound(), by=_change("test", name)))

    answer = on_database("listeners test", ping_listener)
    import msgspec

    reply = msgspec.json.decode(answer)
    if json:
        output.raw(answer)
    else:
        output.line(f"{reply['name']}: {output.printable(reply['said'])} ({reply['seconds']:.2f} s)")
    if not reply["ok"]:
        raise typer.Exit(1)


def _changed(
    command: str,
    name: str,
    json: bool,
    change: Callable[[Database, Change], Awaitable[None]],
    **detail: object,
) -> None:
    async def change_listener(database: Database) -> bytes:
        await change(database, _change(command, name, **detail))
        return await _find_listener(database, name)

    _print_answer(on_database(f"listeners {command}", change_listener), json)


async def _find_listener(database: Database, name: str) -> bytes:
    import msgspec

    from headwater.answer.people import listeners as answers

    return msgspec.json.encode(await answers.listener(database, name))


def _print_answer(answer: bytes, json: bool) -> None:
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    one = reply["listener"]
    lines = {
        "listener": one["name"],
        "kind": one["kind"],
        "address": one["url"],
        "only": msgspec.json.encode(one["filter"]).decode() if one["filter"] else None,
        "state": f"failing since {output.moment(one['failing_since'])}" if one["state"] == "failing" else one["state"],
        "waiting": _waiting(one),
        "lag": output.duration(round(one["lag_seconds"] * 1000)),
        "replaying from": output.moment(one["replaying_from"]) or None,
        "delivered": one["delivered"],
        "refused": one["refused"],
        "last delivery": output.moment(one["last_delivery_at"]) or "never",
        "last error": one["last_error"],
        "added": f"{output.moment(one['created_at'])} by {one['created_by']}",
    }
    output.table(("", ""), [(key, value) for key, value in lines.items() if value is not None])
    if reply["refusals"]:
        output.table(
            ("refused at", "event time", "event", "why"),
            [
                (output.moment(each["at"]), output.moment(each["event_time"]), each["event"][:16], each["reason"])
                for each in reply["refusals"][:20]
            ],
        )


def _print_secret(answer: bytes, json: bool, what: str) -> None:
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    if reply["secret"]:
        output.line(reply["secret"])
        output.line(f"{reply['name']} {what}. It is signed with this secret, which is not shown again.", "dim")
    else:
        output.line(f"{reply['name']} {what}")


def _waiting(one: dict[str, Any]) -> str:
    return f"{one['backlog']:,}{'+' if one['backlog_more'] else ''}"


def _writes() -> Any:
    from headwater.intake.listeners import changes as writes

    return writes


def _outbound() -> Any:
    from headwater.home import home
    from headwater.intake.listeners.networks import Networks, Outbound
    from headwater.settings import Settings
    from headwater.store.people.secrets import load_key

    settings = Settings()
    return Outbound(load_key(settings.access.secret_key, home()), Networks(settings.listeners.allowed_networks))


def _change(command: str, name: str, **detail: object) -> Change:
    from headwater.intake.people.audit import by_command

    return by_command(f"listeners {command}", f"{command}_listener", name, **detail)
