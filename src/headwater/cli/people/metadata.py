"""`headwater describe`, `own`, `tag`, `tags`, `edge`, `alias`, `changes`: what people say, said from a terminal."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server

Name = Annotated[str, typer.Argument(help="A dataset or job: a name, an ending of one, or a node id.")]
Column = Annotated[str | None, typer.Option("--column", "-c", help="A column of the dataset.")]
Remove = Annotated[bool, typer.Option("--remove", help="Take it back.")]
As = Annotated[
    str | None, typer.Option("--as", help="The author, on a server without sign-in; default: the user here.")
]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def describe(
    name: Name,
    text: Annotated[str | None, typer.Argument(help="The description; without it the present one is shown.")] = None,
    column: Column = None,
    remove: Remove = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Describe a dataset, job or column.

    A person's description comes before that of events.

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
    type: Annotated[str | None, typer.Option(help="In which way: steward, on call, …")] = None,
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
    tag: Annotated[str, typer.Argument(help="TAG, or TAG=VALUE where the tag takes values.")],
    column: Column = None,
    remove: Remove = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Tag a dataset, job or column.

    A value has to fit the tag's definition (`headwater tags`).

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


tags = typer.Typer(help="List and define tags, and the values that they take.", no_args_is_help=True)


@tags.command("list")
def tags_list(url: Url = None, json: Json = False) -> None:
    """Tags that are defined.

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
    tag: Annotated[str, typer.Argument()],
    type: Annotated[str, typer.Option(help="none, string, number, boolean, enum, date or pattern")] = "none",
    value: Annotated[list[str] | None, typer.Option("--value", help="A value of an enum; again for each.")] = None,
    pattern: Annotated[str | None, typer.Option(help="A regular expression that fits the whole value.")] = None,
    applies_to: Annotated[list[str] | None, typer.Option("--for", help="dataset, job, column; again for each.")] = None,
    description: Annotated[str | None, typer.Option()] = None,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Define a tag, or define it anew.

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
def tags_remove(tag: Annotated[str, typer.Argument()], as_: As = None, url: Url = None, json: Json = False) -> None:
    """Define a tag no more; where it was put, it stays.

    Example: headwater tags remove tier
    """
    _say(json, server.send(url, "DELETE", server.path("metadata", "tags", tag), **author(as_)))


edge = typer.Typer(help="Draw an edge that no event reports.", no_args_is_help=True)
Source = Annotated[str, typer.Argument(help="Where the data comes from: a known name, or a node id, known or new.")]
Target = Annotated[str, typer.Argument(help="Where it goes.")]


@edge.command("add")
def edge_add(
    source: Source,
    target: Target,
    columns: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="SOURCE_COLUMN=TARGET_COLUMN; again for each pair.")
    ] = None,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Draw an edge: dataset to job, job to dataset, or dataset to dataset. It stays until it is removed.

    Examples:

      headwater edge add marts/revenue dataset:looker:dashboards/revenue --column total=Revenue

      headwater edge add job:finance:close dataset:sheets:forecast
    """
    pairs = [dict(zip(("source", "target"), pair.split("=", 1), strict=False)) for pair in columns or ()]
    body = {"source": _node(url, source), "target": _node(url, target), "columns": pairs}
    _say(json, server.send(url, "PUT", "/api/v2/metadata/edges", body, **author(as_)))


@edge.command("remove")
def edge_remove(source: Source, target: Target, as_: As = None, url: Url = None, json: Json = False) -> None:
    """Take a drawn edge back. What events tell stays.

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
    """Say that a dataset goes by another name too: the two become one.

    Example: headwater alias add s3://lake/orders dataset:hive:sales.orders
    """
    _say(json, server.send(url, "PUT", _alias(url, name, other), **author(as_)))


@alias.command("remove")
def alias_remove(
    name: Annotated[str, typer.Argument()],
    other: Annotated[str, typer.Argument()],
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Take an alias back: the two are two again, unless events say that they are one.

    Example: headwater alias remove s3://lake/orders dataset:hive:sales.orders
    """
    _say(json, server.send(url, "DELETE", _alias(url, name, other), **author(as_)))


def changes(
    name: Annotated[str | None, typer.Argument(help="Only what was said of this.")] = None,
    author: Annotated[str | None, typer.Option(help="Only what this person said.")] = None,
    action: Annotated[str | None, typer.Option(help="Only changes of this kind, as in the table.")] = None,
    since: Annotated[str | None, typer.Option(help="ISO 8601")] = None,
    until: Annotated[str | None, typer.Option(help="ISO 8601")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List what people changed, the latest first: who, when, before and after.

    Examples:

      headwater changes clean/flights

      headwater changes --author ada --since 2026-01-01 --json
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
    """Register the commands."""
    for command in (describe, own, tag, changes):
        program.command()(command)
    program.add_typer(tags, name="tags")
    program.add_typer(edge, name="edge")
    program.add_typer(alias, name="alias")


def _kind(node: dict[str, Any]) -> str:
    return "datasets" if node["type"] == "DATASET" else "jobs"


def _path(node: dict[str, Any], *rest: str) -> str:
    return server.path("metadata", _kind(node), node["namespace"], node["name"], *rest)


def _node(url: str | None, name: str) -> str:
    """A node id, of something known or, where a whole id is given, of something new."""
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
    """The parameter that says who says it; none where the user here has no name."""
    if said is None:
        import getpass

        try:
            said = getpass.getuser()
        except (KeyError, OSError):  # a container's user often has a number and no name
            return {}
    return {"as": said}


def _say(json: bool, answer: bytes) -> None:
    if json:
        output.raw(answer)
        return
    told = msgspec.json.decode(answer)
    if not told["changed"]:
        output.line(f"{output.printable(told['target'])}: already so", "dim")
        return
    output.line(f"{output.printable(told['target'])}: {told['action']} by {output.printable(told['author'])}")


def _values(held: dict[str, Any]) -> str:
    """What held, in a line: `tier: gold`, `-` where nothing did."""
    shown = []
    for key, value in held.items():
        if value is None:
            shown.append("-")
            continue
        words = value.get("text") or value.get("value") or value.get("name") or value.get("type")
        shown.append(key if words is None else f"{key}: {words}")
    return "; ".join(shown)
