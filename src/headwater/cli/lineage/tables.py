"""Lineage as tables: edges, ways between two things, one run."""

from typing import Any

from headwater.cli import output

Answer = dict[str, Any]


def print_edges(answer: Answer) -> None:
    """Print the edges of a filtered, collapsed or grouped answer as a table, and what it leaves out."""
    labels = {n["id"]: n["label"] if n["type"] == "GROUP" else n["id"].partition(":")[2] for n in answer["nodes"]}
    if answer["groups"]:
        rows = [(g["label"], g["datasets"], g["jobs"], g["inside"]) for g in answer["groups"]]
        output.table((answer["group"], "datasets", "jobs", "edges inside"), rows)
        output.line()
    output.table(
        ("from", "to", "edges", "through", "origin", "last seen (UTC)"),
        [
            (
                labels[edge["source"]],
                labels[edge["target"]],
                edge["count"],
                f"{edge['via']} not shown" if edge["via"] else "",
                edge["origin"].lower(),
                output.moment(edge["last_seen"]),
            )
            for edge in answer["edges"]
        ],
    )
    for one in answer["collapsed"]:
        output.line(f"{labels.get(one['job'], one['job'])} stands for {len(one['children'])} jobs", "dim")
    if answer["filtered"]["nodes"] or answer["filtered"]["edges"]:
        output.line(f"{answer['filtered']['nodes']} nodes and {answer['filtered']['edges']} edges filtered out", "dim")
    if answer["filtered"]["cut"]:
        output.line("too many edges lead through nodes that are not shown; some edges are missing", "yellow")
    if answer["hidden"]["nodes"]:
        output.line(f"{answer['hidden']['nodes']} more not shown: {answer['hidden']['reason']}", "yellow")


def print_ways(answer: Answer) -> None:
    """Print the shortest ways between two things, along the flow of the data."""
    labels = {node["id"]: node["label"] for node in answer["nodes"]}
    for number, way in enumerate(answer["paths"], 1):
        output.line(f"{number}.", "bold")
        for id_ in way:
            output.line(f"  {output.printable(labels[id_])}")
    if not answer["paths"]:
        reason = answer["hidden"]["reason"]
        output.line("no way leads from the one to the other" + (f": {reason}" if reason else ""))
    for note in answer["notes"]:
        output.line(output.printable(note), "dim")


def print_runs(last: Answer, last_successful: Answer | None) -> None:
    """Print the last run of a job, and the last successful one if that is another."""
    for title, one in (("Last run", last), ("Last successful run", last_successful)):
        if one is last_successful and last["effective_state"] == "COMPLETED":
            return
        output.line()
        output.line(title, "bold")
        if one is None:
            output.line("  (none)", "dim")
        else:
            print_run(one)


def print_run(run: dict[str, Any]) -> None:
    rows = [
        ("  run", run["id"]),
        ("  job", run["job"].removeprefix("job:")),
        ("  status", run["effective_state"]),
        ("  started", f"{output.moment(run['started_at'])} UTC"),
        ("  finished", f"{output.moment(run['ended_at'])} UTC" if run["ended_at"] else ""),
        ("  duration", output.duration(run["duration_ms"])),
    ]
    if run.get("error"):
        rows.append(("  error", run["error"]))
    if run.get("stalled_reason"):
        rows.append(("  silent", run["stalled_reason"]))
    for key, value in rows:
        output.line(f"{key:<12}{output.printable(value)}", output.STATE_STYLES.get(value) if "status" in key else None)
