"""`headwater why`: say why a job fails or became slower, or what the failing runs share."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import meaning, output, server
from headwater.errors import InvalidQuestion

_MOST_LINES = 12
_FEWEST_BAD = 3


def why(
    what: Annotated[str | None, typer.Argument(metavar="X", help="A job, or a run that failed.")] = None,
    failing: Annotated[
        bool, typer.Option("--failing", help="Say what all jobs that failed share, and the others do not.")
    ] = False,
    since: Annotated[
        str, typer.Option(metavar="T", help="With --failing: look at runs since then: 6h, 2d, or ISO 8601.")
    ] = "24h",
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say why a job fails or became slower: what changed with it, the likeliest first.

    The job's runs are compared: code, SQL, parameters, versions and schemas of the inputs, the runs that wrote those, engine, packages, cluster,
    environment, volume. Then: what was checked and is equal, and what no run reports.

    Examples:

      headwater why clean-flights

      headwater why 0199c0de-0000-7000-8000-000000000001

      headwater why --failing --since 6h --json
    """
    if failing:
        if what is not None:
            raise InvalidQuestion("--failing looks at all jobs; leave X out, or leave --failing out")
        _failing(url, since, json)
        return
    if what is None:
        raise InvalidQuestion("name a job or a failed run, or give --failing for all jobs that failed")
    found = meaning.find_object(url, what)
    if found["type"] not in {"JOB", "RUN"}:
        raise InvalidQuestion(
            f"{meaning.described(found)}; name a job or a run: `headwater lineage {what}` shows which job writes it",
            given=what,
        )
    body = server.ask(url, "/api/v2/why", **{found["type"].lower(): found["id"]})
    if json:
        output.raw(body)
        return
    _print(msgspec.json.decode(body))


def _print(found: dict[str, Any]) -> None:
    job = output.printable(found["job"].removeprefix("job:"))
    if found["question"] == "nothing":
        output.line(f"{job}: {'; '.join(found['notes'])}")
        return
    word = (
        "became slower" if found["question"] == "slower" else ("fails" if found["goes_on"] else "failed, and recovered")
    )
    output.line(f"{job} {word}: {output.counted(found['bad'], 'bad run')} of the {found['runs']} compared", "bold")
    for label, key in (("last good", "last_good"), ("first bad", "first_bad")):
        if found[key]:
            one = found[key]
            output.line(
                f"  {label}  {output.moment(one['started_at'])}  {one['run_id']}  {output.duration(one['duration_ms'])}"
            )
    if found["first_bad"] and found["first_bad"]["error"]:
        output.line(f"  {'error':<9}  {output.printable(found['first_bad']['error'].splitlines()[0])}", "red")
    for note in found["notes"]:
        output.line(f"  {output.printable(note)}")
    output.line()
    _print_suspects(found)
    output.line()
    output.line(f"Checked and equal: {_kinds(found['equal'], found['equal_count'])}")
    if found["unknown"]:
        output.line(f"Not reported by any run: {', '.join(found['unknown'])}", "dim")


def _print_suspects(found: dict[str, Any]) -> None:
    if not found["suspects"]:
        output.line("Nothing that the runs report changed with it.", "yellow")
    elif found["named"]:
        output.line(
            "Cause" if len(found["suspects"][0]["causes"]) == 1 else "Cause: one of these, which came together", "bold"
        )
    elif found["coinciding"]:
        output.line("No cause is sure; this changed at the same time", "bold")
    else:
        output.line("No cause stands out; the likeliest first", "bold")
    stands_out = found["named"] or found["coinciding"]
    for number, group in enumerate(found["suspects"][: 1 if stands_out else 5]):
        for cause in group["causes"]:
            _print_cause(cause, group["probability"] if len(group["causes"]) == 1 else None)
        if len(group["causes"]) > 1:
            output.line(
                f"  together {group['probability']:.0%}: they are in the same runs, so no run tells them apart", "dim"
            )
        if found["coinciding"]:
            output.line(
                f"  it may be a coincidence: with {found['coincidence']:.0%} of the good runs before, "
                "a change as likely to do harm came, and did none",
                "dim",
            )
        if number == 0 and stands_out and len(found["suspects"]) > 1:
            output.line(
                f"  {output.counted(len(found['suspects']) - 1 + found['hidden'], 'other change')} less likely; --json lists them",
                "dim",
            )
    if found["bad"] == found["runs"]:
        output.line("  every run that was compared is bad, so nothing tells a cause from chance", "dim")
    else:
        output.line(
            f"  by chance {found['by_chance']:.0%}, a change that no run reports {found['unreported']:.0%}", "dim"
        )


def _print_cause(cause: dict[str, Any], probability: float | None) -> None:
    name = f"{cause['kind']} {output.printable(cause['name'].removeprefix('dataset:').removeprefix('job:'))}".rstrip()
    share = "" if probability is None else f"  {probability:.0%}"
    output.line(f"  {name}{share}", "bold")
    if cause["changes"]:
        for line in cause["changes"][:_MOST_LINES]:
            output.line(f"    {output.printable(line)}")
        if len(cause["changes"]) > _MOST_LINES:
            output.line(f"    … {len(cause['changes']) - _MOST_LINES} more lines; --json shows them", "dim")
    else:
        before = "not reported" if cause["before"] is None else _one_line(cause["before"])
        output.line(f"    {before} → {_one_line(cause['after'] or '')}")
    output.line(
        f"    since {output.moment(cause['started_at'])}: {cause['bad_with']} bad and {cause['good_with']} good with it, "
        f"{cause['bad_without']} bad and {cause['good_without']} good without; {_harmless(cause['harmless'])}",
        "dim",
    )


def _harmless(times: int) -> str:
    return "it never changed before" if not times else f"{output.counted(times, 'such change')} before did no harm"


def _one_line(text: str) -> str:
    first, *others = text.splitlines() or [""]
    return output.printable(first) + (" …" if others else "")


def _kinds(equal: list[dict[str, Any]], count: int) -> str:
    if not equal:
        return "nothing that both report"
    kinds: dict[str, int] = {}
    for one in equal:
        kinds[one["kind"]] = kinds.get(one["kind"], 0) + 1
    more = f", and {count - len(equal)} more" if count > len(equal) else ""
    return ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in kinds.items()) + more


def _nothing(bad: int) -> str:
    """Say why no trait is listed, for so many jobs that failed."""
    if not bad:
        return "No job failed."
    if bad < _FEWEST_BAD:
        return f"Too few to say what they share: it takes {_FEWEST_BAD} jobs that failed. Ask of one: headwater why JOB"
    return "Nothing stands out: what the failed runs share, good runs have as well."


def _failing(url: str | None, since: str, json: bool) -> None:
    body = server.ask(url, "/api/v2/why/failing", since=server.time(since))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.line(
        f"{output.counted(found['bad'], 'job')} failed since {output.moment(found['since'])} UTC, "
        f"{found['good']} ended well then or in the week before",
        "bold",
    )
    if (found["examined_bad"], found["examined_good"]) != (found["bad"], found["good"]):
        output.line(
            f"  {found['examined_bad']} and {found['examined_good']} of them were compared, drawn by chance", "dim"
        )
    if not found["findings"]:
        output.line(_nothing(found["bad"]))
    for one in found["findings"]:
        output.line()
        for trait in one["traits"]:
            output.line(f"{trait['kind']} {output.printable(trait['name'])} = {_one_line(trait['value'])}", "bold")
        lift = "no run without it is bad" if one["lift"] is None else f"{one['lift']:g} times as often bad"
        output.line(
            f"  {one['bad_with']} bad and {one['good_with']} good with it, {one['bad_without']} bad and {one['good_without']} good without: {lift} "
            f"(odds ratio {one['low']:g} to {one['high']:g}; by chance {one['chance']:.1g})"
        )
        shown = ", ".join(output.printable(job.removeprefix("job:")) for job in one["jobs"][:5])
        output.line(f"  {shown}" + (f" and {one['bad_with'] - 5} more" if one["bad_with"] > 5 else ""), "dim")
    if found["findings"] and found["unexplained"]:
        output.line()
        output.line(f"{output.counted(found['unexplained'], 'failed job')} share nothing that stands out")


def print_difference(found: dict[str, Any]) -> None:
    """Print the differences of two runs."""
    for side in ("before", "after"):
        one = found[side]
        output.line(
            f"{side:<7}{one['run_id']}  {output.printable(one['job'].removeprefix('job:'))}  {one['state']}  {output.moment(one['started_at'])}  "
            f"{output.duration(one['duration_ms'])}",
            "bold",
        )
    for one in found["differences"]:
        name = f"{one['kind']} {output.printable(one['name'].removeprefix('dataset:').removeprefix('job:'))}".rstrip()
        if one["changes"]:
            output.line(f"~ {name}")
            for line in one["changes"][:_MOST_LINES]:
                output.line(f"    {output.printable(line)}")
        else:
            before, after = (
                "not reported" if one[side] is None else _one_line(one[side]) for side in ("before", "after")
            )
            output.line(f"~ {name}  {before} → {after}")
    if not found["differences"]:
        output.line("nothing that both report differs")
    output.line(f"Equal: {_kinds(found['equal'], found['equal_count'])}", "dim")
    if found["unknown"]:
        output.line(f"Not reported by either: {', '.join(found['unknown'])}", "dim")
