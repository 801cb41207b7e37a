"""`headwater server keys`: create, list and revoke API keys. Works on the database: the first key can be created before a server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.intake.people.audit import Change
    from headwater.store.database import Database

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

keys = typer.Typer(help="Create, list and revoke API keys.", rich_markup_mode=None, no_args_is_help=True)


@keys.command()
def create(
    name: Annotated[
        str, typer.Argument(help="What the key is for, such as airflow-prod; it is shown next to changes.")
    ],
    role: Annotated[str, typer.Option(help="Grant this role: read, write (send events, edit) or admin.")] = "read",
    expires: Annotated[
        str | None, typer.Option(help="Let the key expire after this long: 12h, 90d, 4w, 1y. Default: never.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Let the reader see these datasets only: namespace:PATTERN, tag:NAME or tag:NAME:VALUE; repeatable."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a key. It is shown once: only its digest is stored.

    Examples:

      headwater server keys create airflow-prod --role write

      headwater server keys create ci --role read --expires 90d --json

      headwater server keys create marketing --only 'namespace:postgres://crm*' --only tag:team:marketing
    """

    async def create_key(database: Database) -> bytes:
        import msgspec

        from headwater.intake.people import keys as writes

        span = writes.age(expires) if expires else None
        detail: dict[str, object] = {"role": role, "expires": expires} | ({"limits": only} if only else {})
        change = _change("create", "create_key", name, detail)
        made = await writes.create(database, name, role, expires=span, by=change, limits=only or ())
        return msgspec.json.encode(made)

    answer = on_database("keys create", create_key)
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    output.line(reply["key"])
    end = f" until {output.moment(reply['expires_at'])} UTC" if reply["expires_at"] else ""
    what = f" {', '.join(reply['limits'])}" if reply["limits"] else ""
    output.line(
        f"{reply['name']} may {reply['role']}{what}{end}. The key is not shown again. Send it as HEADWATER_API_KEY.",
        "dim",
    )


@keys.command("list")
def list_keys(json: Json = False) -> None:
    """List all keys, also revoked ones, without their secrets.

    Examples:

      headwater server keys list

      headwater server keys list --json
    """

    async def load_keys(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import keys as known

        return msgspec.json.encode(await known.keys(database))

    answer = on_database("keys list", load_keys)
    if json:
        output.raw(answer)
        return
    import datetime as dt

    import msgspec

    now = dt.datetime.now(dt.UTC).isoformat()
    output.table(
        ("id", "name", "role", "only", "state", "created", "by", "last used", "expires"),
        [
            (
                key["id"],
                key["name"],
                key["role"],
                ", ".join(key["limits"]),
                "revoked" if key["revoked_at"] else "expired" if (key["expires_at"] or "9") < now else "live",
                output.moment(key["created_at"]),
                key["created_by"],
                output.moment(key["last_used_at"]) or "never",
                output.moment(key["expires_at"]),
            )
            for key in msgspec.json.decode(answer)["keys"]
        ],
        styles={4: {"live": "green", "revoked": "dim", "expired": "yellow"}},
        empty="There are no keys. Create one with `headwater server keys create NAME`.",
    )


@keys.command()
def revoke(key: Annotated[str, typer.Argument(help="The key's name or id.")], json: Json = False) -> None:
    """Revoke a key. Servers refuse it within five seconds.

    Examples:

      headwater server keys revoke airflow-prod

      headwater server keys revoke 4f0c2a9be113
    """

    async def revoke_key(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import keys as known
        from headwater.intake.people import keys as writes

        revoked = await writes.revoke(database, key, by=_change("revoke", "revoke_key", key, {}))
        return msgspec.json.encode(known.describe_key(revoked))

    answer = on_database("keys revoke", revoke_key)
    if json:
        output.raw(answer)
        return
    import msgspec

    reply = msgspec.json.decode(answer)
    output.line(f"{reply['name']} ({reply['id']}) is revoked; servers refuse it within five seconds.")


def _change(command: str, action: str, target: str, detail: dict[str, object]) -> Change:
    from headwater.intake.people.audit import by_command

    return by_command(f"keys {command}", action, target, **detail)
