"""`headwater describe`, `own`, `tag`, `tags`, `edge`, `alias`, `changes`: edit metadata from a terminal."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server

Name = Annotated[str, typer.Argument(help="A dataset or job: its name, the end of its name, or a node id.")]
Column = Annotated[str | None, typer.Option("--column", "-c", help="Apply this to a column of the dataset.")]
Remove = Annotated[bool, typer.Option("--remove", help="Remove it instead of setting it.")]
As = Annotated[
    str | None, typer.Option("--as", help="Set the author, on a server without sign-in. Default: your user name here.")
]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def describe(
    name: Name,
    text: Annotated[str | None, typer.Argument(help="The description. Without it, the present one is shown.")] = None,
    column: Column = None,
    remove: Remove = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Describe a dataset, job or column.

    A person's description takes precedence over that of events.

    Examples:

      headwater describe clean/flights "One row for each flight that took off."

      headwater describe clean/flights "Minutes, negative when early." --column dep_delay
    """
    node = server.resolve(url, name)
    if text is None and not remove:
        shown = server.get(url, server.path(_kind(node), node["namespace"], node["name"]))
        if column is not None:
            shown = next((f for f in shown["fields"] if f["name"] == column), {"description": None})
        if json:
            output.raw(msgspec.json.encode({"description": shown["description"]}))
        else:
            output.line(output.escaped(shown["description"] or "(no description)"))
        return
    where = _path(node, "description")
    if remove:
        _say(json, server.send(url, "DELETE", where, column=column, **author(as_)))
    else:
        _say(json, server.send(url, "PUT", where, {"text": text}, column=column, **author(as_)))


def own(
    name: Name,
    owner: Annotated[str, typer.Argument(help="A person or a team.")],
    type: Annotated[str | None, typer.Option(help="Set the kind of ownership: steward, on-call and so on.")] = None,
    remove: Remove = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Set the owners of a dataset or job.

    Examples:

      headwater own clean/flights flights-team@example.org --type steward

      headwater own clean/flights old-team --remove
    """
    where = _path(server.resolve(url, name), "owners", owner)
    if remove:
        _say(json, server.send(url, "DELETE", where, **author(as_)))
    else:
        _say(json, server.send(url, "PUT", where, {"type": type}, **author(as_)))


def tag(
    name: Name,
    tag: Annotated[str, typer.Argument(help="TAG, or TAG=VALUE if the tag takes values.")],
    column: Column = None,
    remove: Remove = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Tag a dataset, job or column.

    A value must fit the tag's definition (`headwater tags`).

    Examples:

      headwater tag raw/customers pii --column email

      headwater tag marts/revenue tier=gold
    """
    word, has_value, value = tag.partition("=")
    where = _path(server.resolve(url, name), "tags", word)
    if remove:
        _say(json, server.send(url, "DELETE", where, column=column, **author(as_)))
    else:
        body = {"value": value if has_value else None}
        _say(json, server.send(url, "PUT", where, body, column=column, **author(as_)))


tags = typer.Typer(help="List and define tags and the values that they take.", no_args_is_help=True)


@tags.command("list")
def tags_list(url: Url = None, json: Json = False) -> None:
    """List the defined tags.

    Example: headwater tags list
    """
    answer = server.ask(url, "/api/v2/metadata/tags", limit=10_000)
    if json:
        output.raw(answer)
        return
    output.table(
        ("tag", "type", "values", "for", "description"),
        [
            (
                t["name"],
                t["schema"]["type"],
                t["schema"]["pattern"] or ", ".join(t["schema"]["values"]),
                ", ".join(t["schema"]["applies_to"]),
                t["schema"]["description"],
            )
            for t in msgspec.json.decode(answer)["tags"]
        ],
        empty="There are no tags. Define one with `headwater tags define NAME`, or set one with `headwater tag`.",
    )


@tags.command("define")
def tags_define(
    tag: Annotated[str, typer.Argument(help="The tag's name.")],
    type: Annotated[
        str, typer.Option(help="Set what values the tag takes: none, string, number, boolean, enum, date or pattern.")
    ] = "none",
    value: Annotated[list[str] | None, typer.Option("--value", help="Add a value of an enum. Repeatable.")] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Require the whole value to match this regular expression.")
    ] = None,
    applies_to: Annotated[
        list[str] | None, typer.Option("--for", help="Allow the tag for this kind: dataset, job or column. Repeatable.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="Describe the tag.")] = None,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Define a tag, or redefine it.

    Examples:

      headwater tags define pii --for column --description "Identifies a person"

      headwater tags define tier --type enum --value gold --value silver
    """
    body: dict[str, Any] = {
        "type": "enum" if value and type == "none" else type,
        "description": description,
        "values": value or [],
        "pattern": pattern,
    }
    if applies_to:
        body["applies_to"] = applies_to
    _say(json, server.send(url, "PUT", server.path("metadata", "tags", tag), body, **author(as_)))


@tags.command("remove")
def tags_remove(
    tag: Annotated[str, typer.Argument(help="The tag's name.")], as_: As = None, url: Url = None, json: Json = False
) -> None:
    """Remove a tag's definition; objects keep the tag.

    Example: headwater tags remove tier
    """
    _say(json, server.send(url, "DELETE", server.path("metadata", "tags", tag), **author(as_)))


edge = typer.Typer(help="Draw an edge that no event reports.", no_args_is_help=True)
Source = Annotated[str, typer.Argument(help="Where the data comes from: a known name, or any node id.")]
Target = Annotated[str, typer.Argument(help="Where the data goes: a known name, or any node id.")]


@edge.command("add")
def edge_add(
    source: Source,
    target: Target,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Connect columns, SOURCE_COLUMN=TARGET_COLUMN. Repeatable."),
    ] = None,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Draw an edge from dataset to job, job to dataset, or dataset to dataset. It stays until you remove it.

    Examples:

      headwater edge add marts/revenue dataset:looker:dashboards/revenue --column total=Revenue

      headwater edge add job:finance:close dataset:sheets:forecast
    """
    pairs = [dict(zip(("source", "target"), pair.split("=", 1), strict=False)) for pair in columns or ()]
    body = {"source": _node(url, source), "target": _node(url, target), "columns": pairs}
    _say(json, server.send(url, "PUT", "/api/v2/metadata/edges", body, **author(as_)))


@edge.command("remove")
def edge_remove(source: Source, target: Target, as_: As = None, url: Url = None, json: Json = False) -> None:
    """Remove a drawn edge. Edges that events report stay.

    Example: headwater edge remove marts/revenue dataset:looker:dashboards/revenue
    """
    given = {"source": _node(url, source), "target": _node(url, target)}
    _say(json, server.send(url, "DELETE", "/api/v2/metadata/edges", **given, **author(as_)))


alias = typer.Typer(help="Merge two names into one dataset.", no_args_is_help=True)


@alias.command("add")
def alias_add(
    name: Annotated[str, typer.Argument(help="The dataset, by the name that stands for both.")],
    other: Annotated[str, typer.Argument(help="Its other name: a known one, or a node id.")],
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Merge a dataset with its other name into one dataset.

    Example: headwater alias add s3://lake/orders dataset:hive:sales.orders
    """
    _say(json, server.send(url, "PUT", _alias(url, name, other), **author(as_)))


@alias.command("remove")
def alias_remove(
    name: Annotated[str, typer.Argument(help="The dataset, by the name that stands for both.")],
    other: Annotated[str, typer.Argument(help="Its other name.")],
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Remove an alias: the two are separate again, unless events report them as one.

    Example: headwater alias remove s3://lake/orders dataset:hive:sales.orders
    """
    _say(json, server.send(url, "DELETE", _alias(url, name, other), **author(as_)))


def changes(
    name: Annotated[str | None, typer.Argument(help="Show only changes to this dataset or job.")] = None,
    author: Annotated[str | None, typer.Option(help="Show only changes by this person.")] = None,
    action: Annotated[str | None, typer.Option(help="Show only changes of this kind, as the table names it.")] = None,
    since: Annotated[str | None, typer.Option(help="Show changes since this time (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Show changes until this time (ISO 8601).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List what people changed, the latest first: who, when, before and after.

    Examples:

      headwater log clean/flights

      headwater log --author ada --since 2026-01-01 --json
    """
    given = {
        "author": author,
        "action": action,
        "since": server.time(since),
        "until": server.time(until),
        "limit": limit,
    }
    target = None if name is None else _target(url, name)
    answer = server.ask(url, "/api/v2/changes", target=target, **given)
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    output.table(
        ("when (UTC)", "who", "what", "of", "before", "after"),
        [
            (output.moment(c["at"]), c["author"], c["action"], c["target"], _values(c["before"]), _values(c["after"]))
            for c in found["changes"]
        ],
        empty="No changes by people found.",
    )
    if found["total"] > len(found["changes"]):
        output.line(f"{len(found['changes'])} of {found['total']:,}; --limit shows more", "dim")


def add_to(program: typer.Typer) -> None:
    """Register the metadata commands."""
    for command in (describe, own, tag):
        program.command()(command)
    program.add_typer(tags, name="tags")
    program.add_typer(edge, name="edge")
    program.add_typer(alias, name="alias")


def _kind(node: dict[str, Any]) -> str:
    return "datasets" if node["type"] == "DATASET" else "jobs"


def _path(node: dict[str, Any], *rest: str) -> str:
    return server.path("metadata", _kind(node), node["namespace"], node["name"], *rest)


def _node(url: str | None, name: str) -> str:
    """Return the node id of a known object or, from a whole id, of a new one."""
    return name if name.startswith(("dataset:", "job:")) else str(server.resolve(url, name)["id"])


def _target(url: str | None, name: str) -> str:
    return name if name.startswith(("namespace:", "source:", "tag:")) else _node(url, name)


def _alias(url: str | None, name: str, other: str) -> str:
    node = server.resolve(url, name, "dataset")
    if other.startswith("dataset:"):
        # A new name's last colon ends its namespace.
        namespace, _, rest = other.removeprefix("dataset:").rpartition(":")
    else:
        found = server.resolve(url, other, "dataset")
        namespace, rest = found["namespace"], found["name"]
    return _path(node, "aliases", namespace, rest)


def author(said: str | None) -> dict[str, str]:
    """Return the parameter for the author; empty if the user here has no name."""
    from headwater.client.local_user import local_user

    name = said if said is not None else local_user()
    return {} if name is None else {"as": name}


def _say(json: bool, answer: bytes) -> None:
    if json:
        output.raw(answer)
        return
    reply = msgspec.json.decode(answer)
    if not reply["changed"]:
        output.line(f"{output.printable(reply['target'])}: already set", "dim")
        return
    output.line(output.printable(f"{reply['target']}: {_difference(reply)} (said by {reply['author']})"))


def _difference(reply: dict[str, Any]) -> str:
    """Return what a change set and removed: `owner ops`, `tag tier: gold`, `description removed`."""
    before, after = reply["before"], reply["after"]
    shown = []
    for key in {**before, **after}:
        kind, _, name = key.partition(":")
        value = after.get(key) or {}
        words = value.get("text") or value.get("value") or value.get("type")
        shown.append(" ".join((kind, name)).strip() + (f": {words}" if words else "" if value else " removed"))
    return "; ".join(shown) or str(reply["action"])


def _values(held: dict[str, Any]) -> str:
    """Format earlier values in a line: `tier: gold`, or `-` if there were none."""
    shown = []
    for key, value in held.items():
        if value is None:
            shown.append("-")
            continue
        words = value.get("text") or value.get("value") or value.get("name") or value.get("type")
        shown.append(key if words is None else f"{key}: {words}")
    return "; ".join(shown)
