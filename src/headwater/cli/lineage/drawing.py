"""A lineage answer as a tree, a Mermaid flowchart or a Graphviz graph."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from headwater.cli import output
from headwater.graph.mermaid import mermaid_text

Answer = dict[str, Any]
_STATES = {"COMPLETED": "ok", "FAILED": "FAILED", "ABORTED": "ABORTED", "RUNNING": "running"}


class Steps:
    """Steps from dataset to dataset through a job, in both directions."""

    def __init__(self, answer: Answer) -> None:
        self.nodes = {node["id"]: node for node in answer["nodes"]}
        self.root = answer["root"]
        self.neighbours: dict[str, dict[str, list[str]]] = {
            "upstream": defaultdict(list),
            "downstream": defaultdict(list),
        }
        for edge in answer["edges"]:
            self.neighbours["upstream"][edge["target"]].append(edge["source"])
            self.neighbours["downstream"][edge["source"]].append(edge["target"])
        self.columns: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
        for edge in answer["column_edges"]:
            self.columns[edge["source"], edge["job"], edge["target"]].append(edge)

    def from_node(self, node: str, direction: str) -> Iterator[tuple[str, str | None]]:
        """Return pairs (job, dataset beyond it or None); from a job, the job itself comes first."""
        if self.nodes[node]["type"] == "JOB":
            for dataset in sorted(self.neighbours[direction][node]):
                yield node, dataset
            return
        for job in sorted(self.neighbours[direction][node]):
            beyond = sorted(other for other in self.neighbours[direction][job] if other != node)
            if not beyond:
                yield job, None
            for dataset in beyond:
                yield job, dataset

    def column_lines(self, source: str, job: str, target: str) -> list[str]:
        """Yield a line for each source column: what it feeds, and how. A column that feeds the job itself affects all that the job writes."""
        edges = self.columns.get((source, job, target)) or self.columns.get((source, job, job), [])
        by_source: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            kinds = sorted(
                {(t["subtype"] or t["type"]) + (" masked" if t["masking"] else "") for t in edge["transformations"]}
            )
            to = edge["target_field"] or "(all)"
            by_source[edge["source_field"] or "(all)"].append(f"{to} [{', '.join(kinds)}]" if kinds else to)
        return [f"{column} → {'; '.join(sorted(targets))}" for column, targets in sorted(by_source.items())]


def print_tree(answer: Answer, last_run: dict[str, Any] | None, last_successful: dict[str, Any] | None = None) -> None:
    """Print upstream and downstream as trees; a branch that is printed above is not repeated.

    `last_successful`: if the last run is not that.
    """
    steps = Steps(answer)
    root = steps.nodes[steps.root]
    output.line(output.printable(root["label"]), "bold")
    output.line(
        f"  {root['type'].lower()}  {output.printable(root['namespace'])}  {output.printable(root['name'])}", "dim"
    )
    if root["description"]:
        output.line("  " + output.printable(root["description"]))
    for direction in ("upstream", "downstream"):
        if answer["direction"] in {"both", direction}:
            output.line()
            output.line(direction.capitalize(), "bold")
            lines = list(tree_lines(steps, steps.root, direction, "", set()))
            for text, style in lines or [("  (nothing recorded)", "dim")]:
                output.line(text, style)
    if answer["hidden"]["nodes"]:
        output.line()
        output.line(f"{answer['hidden']['nodes']} more not shown: {answer['hidden']['reason']}", "yellow")
    if last_run is not None:
        output.line()
        output.line("Last run", "bold")
        print_run(last_run)
        if last_run["effective_state"] != "COMPLETED":
            output.line()
            output.line("Last successful run", "bold")
            if last_successful is None:
                output.line("  (none)", "dim")
            else:
                print_run(last_successful)


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


def tree_lines(
    steps: Steps, node: str, direction: str, indent: str, shown: set[str]
) -> Iterator[tuple[str, str | None]]:
    """Yield (text, style) for every line below a node."""
    following = list(steps.from_node(node, direction))
    for index, (job, dataset) in enumerate(following):
        last = index == len(following) - 1
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        run = steps.nodes[job].get("last_run")
        via = f"{output.printable(steps.nodes[job]['label'])}{_state(run)}"
        if dataset is None:
            yield f"{indent}{branch}({via})", "dim"
            continue
        found = steps.nodes[dataset]
        again = dataset in shown
        arrow = "←" if direction == "upstream" else "→"
        yield f"{indent}{branch}{_place(found)}  {arrow} {via}{'  (shown above)' if again else ''}", None
        source, target = (dataset, node) if direction == "upstream" else (node, dataset)
        for text in steps.column_lines(source, job, target):
            yield f"{indent}{below}  · {output.printable(text)}", "cyan"
        if not again:
            shown.add(dataset)
            yield from tree_lines(steps, dataset, direction, indent + below, shown)


def _place(node: dict[str, Any]) -> str:
    """Shorten a name to the last two segments of a path, or a whole table name."""
    name = str(node["name"])
    return output.printable("/".join(name.rsplit("/", 2)[-2:]) if "/" in name else name)


def _state(run: dict[str, Any] | None) -> str:
    return f" ({_STATES.get(run['state'], run['state'])})" if run else ""


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
    for key, value in rows:
        output.line(f"{key:<12}{output.printable(value)}", output.STATE_STYLES.get(value) if "status" in key else None)


def mermaid(answer: Answer) -> str:
    """Draw a flowchart: datasets as cylinders, jobs as boxes; `--columns` adds column edges as notes on the arrows."""
    names = {node["id"]: f"n{i}" for i, node in enumerate(answer["nodes"])}
    lines = ["flowchart LR"]
    for node in answer["nodes"]:
        text = mermaid_text(_place(node) if node["type"] == "DATASET" else node["label"])
        lines.append(
            f'  {names[node["id"]]}[("{text}")]' if node["type"] == "DATASET" else f'  {names[node["id"]]}["{text}"]'
        )
    columns = _columns_into(answer)
    for edge in answer["edges"]:
        arrow = "-.->" if edge["origin"] == "DECLARED" else "-->"
        label = columns.get((edge["source"], edge["target"]))
        lines.append(
            f"  {names[edge['source']]} {arrow}{f'|{_mermaid_quoted(label)}|' if label else ''} {names[edge['target']]}"
        )
    return "\n".join(lines)


def _columns_into(answer: Answer) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for edge in answer["column_edges"]:
        found[edge["source"], edge["job"]].add(edge["source_field"] or "(all)")
    return {pair: ", ".join(sorted(fields)) for pair, fields in found.items()}


def _mermaid_quoted(text: str) -> str:
    return f'"{mermaid_text(text)}"'


def dot(answer: Answer) -> str:
    """Draw the graph for Graphviz."""
    lines = ["digraph lineage {", "  rankdir=LR;"]
    columns = _columns_into(answer)
    for node in answer["nodes"]:
        shape = "cylinder" if node["type"] == "DATASET" else "box"
        lines.append(
            f"  {dot_text(node['id'])} [label={dot_text(_place(node) if shape == 'cylinder' else node['label'])} shape={shape}];"
        )
    for edge in answer["edges"]:
        style = " style=dotted" if edge["origin"] == "DECLARED" else ""
        label = columns.get((edge["source"], edge["target"]))
        lines.append(
            f"  {dot_text(edge['source'])} -> {dot_text(edge['target'])} [{f'label={dot_text(label)}' if label else ''}{style}];"
        )
    return "\n".join([*lines, "}"])


def dot_text(text: str) -> str:
    return '"' + output.escaped(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
