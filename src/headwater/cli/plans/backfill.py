"""`headwater backfill`: plan what to rebuild, in which order and at what cost, and follow its progress. `backfill_apply` runs a plan,
`backfill_work` every applied one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import figures, output, server
from headwater.cli.people.metadata import author
from headwater.cli.plans.backfill_apply import apply
from headwater.cli.plans.backfill_export import export
from headwater.cli.plans.backfill_work import run_applied_plans
from headwater.cli.status.instances import As, Json, Url, short
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable

backfill = typer.Typer(
    help="Plan which instances to rebuild, inspect the plan, and run it.", rich_markup_mode=None, no_args_is_help=True
)
backfill.command("apply")(apply)
backfill.command("work")(run_applied_plans)
backfill.command("export")(export)

Plan = Annotated[str, typer.Argument(metavar="ID", help="The plan's id.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many rows.")]
Offset = Annotated[int, typer.Option(min=0, help="Skip this many rows first.")]

_COUNTS = ("items", "done", "skipped", "failed", "running", "waiting")
_STATES = {"done": "green", "failed": "bold red", "running": "cyan", "paused": "yellow", "cancelled": "yellow"}


@backfill.command()
def plan(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ENTITY@INSTANCE]…", help="Instances to rebuild; `ENTITY INSTANCES` in two words, too."
        ),
    ] = None,
    of: Annotated[
        list[str] | None, typer.Option("--of", metavar="ENTITY=INSTANCES", help="Add a pair in one word. Repeatable.")
    ] = None,
    incident: Annotated[
        str | None, typer.Option(metavar="ID", help="Plan for everything that is wrong because of this incident.")
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Rebuild only the named instances, not what is made from them.")
    ] = False,
    newest_first: Annotated[bool, typer.Option("--newest-first", help="Run the latest instances first.")] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="PRODUCER=N", help="Run at most N runs of a producer at once. Repeatable."),
    ] = None,
    total: Annotated[int | None, typer.Option(min=1, help="Run at most this many items at once in all.")] = None,
    between: Annotated[
        str, typer.Option(metavar="HH:MM-HH:MM", help="Begin items only at these times of day, as in 22:00-06:00.")
    ] = "",
    tz: Annotated[
        str, typer.Option(metavar="ZONE", help="Read --between in this time zone, as in Europe/Paris.")
    ] = "UTC",
    reason: Annotated[str, typer.Option(help="Record why, for readers of the plan.")] = "",
    restore: Annotated[
        bool,
        typer.Option("--restore/--no-restore", help="Restore stored versions that are right, or rebuild everything."),
    ] = True,
    trust_stored: Annotated[
        bool,
        typer.Option(
            "--trust-stored",
            help="Restore also versions made by the same code as the wrong one, or by unknown code: you vouch for them.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan without storing it.")] = False,
    as_: As = None,
    json: Json = False,
    url: Url = None,
) -> None:
    """Plan what to rebuild, in which order, and at what cost. Nothing is run.

        Plans for an incident, for instances (right or wrong) and what is made from them, or, without arguments, for everything that is wrong.
    It also lists what cannot be repaired.

        Examples:

          headwater backfill plan --incident 0199f3c2-…

          headwater backfill plan weather 2024-03-06..2024-03-08 --dry-run

          headwater backfill plan --of weather=2024-03-06 --of reads=2024-03 --only --limit airflow://prod/reads/compute=2

          headwater backfill plan --incident 0199f3c2-… --trust-stored

          headwater backfill plan --incident 0199f3c2-… --between 22:00-06:00 --tz Europe/Paris
    """
    wanted = {
        "incident": incident,
        "wrong": [{"entity": name, "instances": some} for name, some in _named(what or [], of or []).items()],
        "only": only,
        "newest_first": newest_first,
        "limits": _limits(limit or []),
        "total": total,
        "between": between,
        "tz": tz,
        "reason": reason,
        "restore": restore,
        "trust_stored": trust_stored,
        "dry_run": dry_run,
    }
    body = server.send(url, "POST", "/api/v2/plans", wanted, **author(as_))
    if json:
        output.raw(body)
        return
    show_plan(_decoded(body), f", items begin {between} {tz} only" if between else "")


@backfill.command("list")
def list_plans(
    state: Annotated[
        str | None, typer.Option(help="List only plans that are planned, running, paused, done, failed or cancelled.")
    ] = None,
    incident: Annotated[str | None, typer.Option(metavar="ID", help="List only plans for this incident.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
    json: Json = False,
    url: Url = None,
) -> None:
    """List plans, the latest first, and how far each has come.

    Examples:

      headwater backfill list

      headwater backfill list --state running --json
    """
    body = server.ask(url, "/api/v2/plans", state=state, incident=incident, limit=limit, offset=offset)
    if json:
        output.raw(body)
        return
    found = _decoded(body)
    output.table(
        ("plan", "state", *_COUNTS, "made", "by", "reason"),
        [
            (each["id"], each["state"], *_counts(each), output.moment(each["created_at"]), each["created_by"], each["reason"])
            for each in found["plans"]
        ],
        styles={1: _STATES},
        empty="There are no plans. Create one with `headwater backfill plan`.",
    )  # fmt: skip
    figures.more(len(found["plans"]), found["total"], offset)
    _print_workers(found["workers"], any(each["state"] == "running" for each in found["plans"]))


@backfill.command()
def show(
    id: Plan,
    state: Annotated[
        str | None, typer.Option(help="Show only items that are waiting, running, done, skipped or failed.")
    ] = None,
    limit: Limit = 50,
    offset: Offset = 0,
    json: Json = False,
    url: Url = None,
) -> None:
    """Show one plan and its items: what each makes, what it waits for, how it ended.

    Examples:

      headwater backfill show 0199f3c2-… --state failed

      headwater backfill show 0199f3c2-… --limit 1000 --json
    """
    body = server.ask(url, server.path("plans", id), state=state, limit=limit, offset=offset)
    if json:
        output.raw(body)
        return
    found = _decoded(body)
    one = found["plan"]
    output.line(f"plan {output.printable(one['id'])}  {one['state']}", _STATES.get(one["state"]))
    why = f": {output.printable(one['reason'])}" if one["reason"] else ""
    output.line(f"made {output.moment(one['created_at'])} by {output.printable(one['created_by'])}{why}")
    output.line(", ".join(f"{one[name]:,} {name}" for name in _COUNTS))
    if one["between"]:
        when = f"opens at {output.moment(one['opens'])} UTC" if one["opens"] else "open now"
        output.line(f"only {one['between']} {output.printable(one['tz'])}: {when}")
    _print_workers(found["workers"], one["state"] == "running")
    _print_unrepaired(found)
    if found["items"]:
        output.line()
        output.table(
            ("#", "state", "action", "producer", "makes", "runs", "needs", "note"),
            [
                (
                    each["number"],
                    each["state"],
                    each["action"],
                    each["producer"],
                    _wrong(each["makes"]),
                    short(each["runs"]),
                    short(each["needs"]),
                    each["note"],
                )
                for each in found["items"]
            ],
            styles={1: _STATES},
        )
        _show_restores([one for each in found["items"] for one in each["restores"]], 0)


def _print_workers(workers: list[Any], waited_for: bool) -> None:
    """Print how many workers are connected; that there is none, if a plan waits for one."""
    if workers:
        count = "1 worker is connected" if len(workers) == 1 else f"{len(workers):,} workers are connected"
        last = max(each["seen_at"] for each in workers)
        output.line(f"{count}, last seen {output.moment(last)} UTC", "dim")
    elif waited_for:
        output.line("no worker is connected: start one with `headwater backfill work`", "yellow")


@backfill.command()
def pause(id: Plan, url: Url = None) -> None:
    """Pause a plan: no item starts. Running items go on and are recorded.

    Example:

      headwater backfill pause 0199f3c2-…
    """
    _steer(url, id, "pause")


@backfill.command()
def resume(id: Plan, url: Url = None) -> None:
    """Resume a paused plan. Waiting workers take items again.

    Example:

      headwater backfill resume 0199f3c2-…
    """
    _steer(url, id, "resume")


@backfill.command()
def retry(id: Plan, url: Url = None) -> None:
    """Put failed items back into the queue.

    Example:

      headwater backfill retry 0199f3c2-… && headwater backfill apply 0199f3c2-… --packages packages
    """
    _steer(url, id, "retry")


@backfill.command()
def cancel(id: Plan, url: Url = None) -> None:
    """Cancel a plan: no item starts any more. Running items go on; done items stay done.

    Example:

      headwater backfill cancel 0199f3c2-…
    """
    _steer(url, id, "cancel")


def _steer(url: str | None, id: str, what: str) -> None:
    state = _decoded(server.send(url, "POST", f"{server.path('plans', id)}/{what}", {}))["state"]
    output.line(f"plan {id} is {state}", _STATES.get(state))


def show_plan(found: Any, window: str) -> None:
    output.table(
        ("#", "action", "producer", "entities", "runs", "items"),
        [
            (
                each["first"],
                each["action"],
                each["producer"],
                ", ".join(each["entities"]),
                short(each["runs"]),
                figures.count(each["items"]),
            )
            for each in found["groups"]
        ],
        styles={1: {"manual": "yellow"}},
    )
    if found["more_groups"]:
        output.line(f"and {found['more_groups']:,} more groups", "dim")
    _show_restores(found["restores"], found["more_restores"])
    _print_unrepaired(found)
    cost = found["cost"]
    output.line()
    makes = sum(found["counts"].values())
    took = "how long is not known, because no run of them was observed"
    if cost["compute_p95"]:
        took = (
            f"done in {_seconds(cost['finish_p50'])} (p95 {_seconds(cost['finish_p95'])}), "
            f"{_seconds(cost['compute_p50'])} of compute (p95 {_seconds(cost['compute_p95'])})"
        )
    output.line(f"{output.counted(found['items'], 'item')} make {output.counted(makes, 'instance')}: {took}{window}")
    if cost["unknown"] and cost["compute_p95"]:
        output.line(
            f"not counted, because no run of them was observed: {', '.join(map(output.printable, cost['unknown']))}"
        )
    if found["id"] is None:
        output.line("A dry run: nothing is stored. Omit --dry-run to store the plan and run it.", "dim")
    else:
        spark = " --spark-submit COMMAND" if found["restores"] else ""
        output.line(f"\nplan {found['id']}\n  headwater backfill apply {found['id']} --packages FOLDER{spark}")


def _show_restores(restores: list[Any], more: int) -> None:
    """Print which instances go back to which stored version."""
    if not restores:
        return
    output.line()
    output.table(
        ("goes back", "instances", "to what was made", "by run", "kept as"),
        [
            (each["entity"], short(each["instances"]), output.moment(each["produced_at"]), each["run"], _describe_storage(each["storage"]))
            for each in restores
        ],
    )  # fmt: skip
    if more:
        output.line(f"and {more:,} more", "dim")


def _describe_storage(storage: dict[str, Any]) -> str:
    return f"version {storage.get('delta_version')} of {storage.get('table')}"


def _print_unrepaired(found: Any) -> None:
    """Print what stays as it is, and why."""
    said = [(f"cannot be repaired ({reason})", some) for reason, some in found["unrepairable"].items()]
    said += [
        ("left as they are (older snapshots)", found["left"]),
        ("stay wrong, because they need what cannot be repaired", found["degraded"]),
    ]
    for why, some in said:
        if some:
            output.line(f"{output.printable(why)}: {output.printable(_wrong(some))}", "yellow")


def _named(pairs: list[str], of: list[str]) -> dict[str, list[str]]:
    words = [word for text in pairs for word in (text.rsplit("@", 1) if "@" in text else [text])]
    if len(words) % 2:
        raise InvalidQuestion(
            f"{words[-1]!r} has no partner; write ENTITY@INSTANCE, as in weather@2024-03-06, or pairs"
        )
    given = list(zip(words[::2], words[1::2], strict=True))
    for text in of:
        name, separator, some = text.partition("=")
        if not separator or not name or not some:
            raise InvalidQuestion(f"--of takes ENTITY=INSTANCES, as in weather=2024-03-06, not {text!r}")
        given.append((name, some))
    found: dict[str, list[str]] = {}
    for name, some in given:
        found.setdefault(name, []).append(some)
    return found


def _limits(given: list[str]) -> dict[str, int]:
    found = {}
    for text in given:
        producer, _, number = text.rpartition("=")
        if not producer or not number.isdigit():
            raise InvalidQuestion(f"--limit takes PRODUCER=N, as in airflow://prod/reads/compute=2, not {text!r}")
        found[producer] = int(number)
    return found


def _counts(one: Any) -> tuple[int, ...]:
    return tuple(one[name] for name in _COUNTS)


def _wrong(some: Iterable[Any]) -> str:
    return "; ".join(f"{each['entity']} {short(each['instances'])}" for each in some)


def _seconds(value: float) -> str:
    return output.duration(round(value * 1000))


def _decoded(body: bytes) -> Any:
    import msgspec

    return msgspec.json.decode(body)
