"""Print lineage of any zoom as trees, up from its roots and down: datasets with the jobs between them, runs and versions one a line.

Names are untrusted and printed escaped.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.cli import output
from headwater.cli.status.instances import short
from headwater.graph.tracing import FAN, Picture, PictureNode, picture

_STATES = {"COMPLETED": "ok", "RUNNING": "running"}
_WRONG = {"FAILED": "red", "ABORTED": "yellow"}
_AGAINST = {"known to be wrong": "bold red", "made from what is wrong": "red", "a check failed": "yellow"}
# Longest part of a detail's JSON that is printed.
_LONGEST = 200

Line = tuple[str, str | None]
Step = tuple[str | None, str]
"""A node, and the job through which it was reached."""


def print_lineage(answer: dict[str, Any], *, fan: int = FAN, details: bool = False) -> None:
    """Print the suspects, the worst first; the roots, the trees above and below them, and the notes of the answer."""
    drawn = picture(answer, fan)
    tree = _Tree(drawn, details, _column_lines(answer))
    for note in answer["notes"]:
        output.line(output.printable(note), "dim")
    if suspects := [one for one in answer["nodes"] if one.get("against")]:
        rows = [_suspect(one) for one in suspects]
        output.table(
            ("suspect", "instances", "hops", "through", "evidence against it", "of these"), rows, styles={4: _AGAINST}
        )
        output.line()
    for id_ in drawn.roots:
        root = drawn.nodes[id_]
        output.line(words(root), "bold")
        for text, style in identity(root):
            output.line(f"  {text}", style)
    for title, direction in (("Upstream", "upstream"), ("Downstream", "downstream")):
        if answer["direction"] in {"both", direction}:
            output.line()
            output.line(title, "bold")
            lines = list(tree.lines(direction))
            for text, style in lines or [("  (nothing recorded)", "dim")]:
                output.line(text, style)
    refused = [arrow for arrow in drawn.arrows if arrow.refused]
    if refused or answer["hidden"]["nodes"]:
        output.line()
    for arrow in refused:
        parent, child = (output.printable(drawn.nodes[id_].label) for id_ in (arrow.parent, arrow.child))
        output.line(f"not followed, it would close a loop: {parent} → {child}", "yellow")
    if answer["hidden"]["nodes"]:
        output.line(f"{answer['hidden']['nodes']:,} more not shown: {answer['hidden']['reason']}", "yellow")


class _Tree:
    """Branches of a tree; one that is drawn above is not repeated."""

    def __init__(self, drawn: Picture, details: bool, columns: dict[tuple[str, str, str], list[str]]) -> None:
        self.drawn, self.details, self.columns = drawn, details, columns
        self.beyond: dict[str, dict[str, list[str]]] = {
            "upstream": defaultdict(list),
            "downstream": defaultdict(list),
        }
        self.notes = {frozenset((arrow.parent, arrow.child)): arrow.note for arrow in drawn.arrows if arrow.note}
        places = {id_: place for place, id_ in enumerate(drawn.nodes)}
        for arrow in drawn.arrows:
            if not arrow.refused:
                self.beyond["upstream"][arrow.child].append(arrow.parent)
                self.beyond["downstream"][arrow.parent].append(arrow.child)
        for side in self.beyond.values():
            for found in side.values():
                found.sort(key=places.__getitem__)

    def lines(self, direction: str) -> Iterator[Line]:
        """Yield (text, style) for every line. Without recursion: a chain may have thousands of steps."""
        several = len(self.drawn.roots) > 1
        shown: set[str] = set()
        for root in self.drawn.roots:
            if several and self.beyond[direction][root]:
                yield f"of {output.printable(self.drawn.nodes[root].label)}", "dim"
            # A stack of steps to print: (step, its line's prefix, whether it is the last sibling, whence); the next one is at the end.
            waiting = self._siblings(root, direction, "")
            while waiting:
                (via, id_), indent, last, whence = waiting.pop()
                one, following = self.drawn.nodes[id_], self._siblings(id_, direction, "")
                text = f"{indent}{'└─ ' if last else '├─ '}{words(one)}"
                if via is not None:
                    text += f"  {'←' if direction == 'upstream' else '→'} {words(self.drawn.nodes[via])}"
                note = self.notes.get(frozenset((id_, whence)))
                text += f"  ({output.printable(note)})" if note else ""
                text += "  (shown above)" if id_ in shown and following else ""
                yield text, _AGAINST.get(one.node.get("against") or "") or _WRONG.get(one.node.get("state") or "")
                indent += "   " if last else "│  "
                for column in self._flows(id_, via, whence, direction):
                    yield f"{indent}  · {output.printable(column)}", "cyan"
                if id_ in shown:
                    continue
                shown.add(id_)
                for text, style in identity(one) if self.details else claims(one):
                    yield f"{indent}  · {text}", style
                waiting += [(step, indent, end, id_) for step, _, end, _ in following]

    def _siblings(self, whence: str, direction: str, indent: str) -> list[tuple[Step, str, bool, str]]:
        steps = self._steps(whence, direction)
        return [(step, indent, step is steps[-1], whence) for step in reversed(steps)]

    def _steps(self, id_: str, direction: str) -> list[Step]:
        """Return what lies beyond a node: of a dataset other datasets, each with the job between them; a job that leads to none is an end."""
        beyond, found = self.beyond[direction], list[Step]()
        kind = self.drawn.nodes[id_].node["type"]
        if kind == "JOB":
            return [(id_, other) for other in beyond[id_]] if id_ in self.drawn.roots else []
        for other in beyond[id_]:
            is_job = self.drawn.nodes[other].node["type"] == "JOB"
            through = [one for one in beyond[other] if one != id_] if is_job else []
            found += [(other, one) for one in through] or [(None, other)]
        return found

    def _flows(self, id_: str, via: str | None, whence: str, direction: str) -> list[str]:
        if via is None:
            return []
        source, target = (id_, whence) if direction == "upstream" else (whence, id_)
        return self.columns.get((source, via, target)) or self.columns.get((source, via, via), [])


def _column_lines(answer: dict[str, Any]) -> dict[tuple[str, str, str], list[str]]:
    """Return a line for each source column by (dataset, job, dataset): what it feeds, and how. A job as target is all that it writes."""
    targets: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for edge in answer["column_edges"]:
        kinds = sorted(
            {(t["subtype"] or t["type"]) + (" masked" if t["masking"] else "") for t in edge["transformations"]}
        )
        to = edge["target_field"] or "(all)"
        feeds = targets[edge["source"], edge["job"], edge["target"]]
        feeds[edge["source_field"] or "(all)"].add(f"{to} [{', '.join(kinds)}]" if kinds else to)
    return {
        step: [f"{column} → {'; '.join(sorted(fed))}" for column, fed in sorted(feeds.items())]
        for step, feeds in targets.items()
    }


def _suspect(node: dict[str, Any]) -> tuple[object, ...]:
    """Return the row of a node that something speaks against, with those of its instances that it speaks against."""
    name = node["entity"] if node["type"] == "INSTANCES" else f"{node['label']} {node.get('run_id') or ''}".rstrip()
    those = short(node.get("instances") or ())
    return name, those, abs(node["hop"]), node.get("through"), node["against"], short(node.get("of_these") or ())


def words(one: PictureNode) -> str:
    """Describe a node in one line: a run by its process, version, end, start and duration; an item by its name and size."""
    node = one.node
    if one.count > 1:
        return f"{output.printable(one.label)}  ({one.count:,} more{_state_of_all(node)})"
    said = [output.printable(one.label)]
    if node["type"] == "JOB" and one.state:
        said[0] += f" ({_STATES.get(one.state, one.state)})"
    elif node["type"] == "RUN":
        if node["version"]:
            said[0] += f" {output.printable(node['version'])}"
        if node["state"]:
            said[0] += f" ({_STATES.get(node['state'], node['state'])})"
        said += [output.moment(node["started_at"]), output.duration(node["duration_ms"])]
        said.append("forced" if node["forced"] else "")
    elif node["type"] == "VERSION":
        content = one.content or {}
        said.append(output.size(node["bytes"] if node["bytes"] is not None else content.get("bytes")))
        said.append(output.printable(", ".join(node.get("instances") or ())))
    said.append(node.get("against") or "")
    return "  ".join(word for word in said if word)


def _state_of_all(node: dict[str, Any]) -> str:
    """Return the state of folded runs; only runs of one state are folded."""
    return f", all {_STATES.get(node['state'], node['state'])}" if node["state"] else ""


def identity(one: PictureNode) -> Iterator[Line]:
    """Yield a node's ids, dataset, fingerprint, overridden import, reported details and claims; nothing for a folded node."""
    node = one.node
    if one.count > 1:
        return
    if node["type"] in {"DATASET", "JOB"}:
        yield output.printable(f"{node['type'].lower()}  {node['namespace']}  {node['name']}"), "dim"
        if node["description"]:
            yield output.printable(node["description"]), None
    elif node["type"] == "RUN":
        yield f"run {node['run_id']}  {output.printable((node['job'] or '').removeprefix('job:'))}", "dim"
        for run in node["overrides"]:
            yield f"does again what run {output.printable(run)} did", "yellow"
        for skipped in node["skipped"]:
            by = f", which run {output.printable(skipped['run_id'])} had imported" if skipped["run_id"] else ""
            yield f"skipped {output.printable(skipped['fingerprint'])}{by}", "dim"
        for field, value in node["details"].items():
            yield f"{output.printable(field)}: {_value(value)}", "cyan"
    elif node["type"] == "VERSION":
        kind, id_ = ("item", node["item"]) if node["item"] else ("version", node["version_id"])
        if not id_:
            kind, id_ = "content", node["id"].removeprefix("content:") if node["id"].startswith("content:") else ""
        dataset = (node["dataset"] or "").removeprefix("dataset:")
        yield output.printable(f"{f'{kind} {id_}'.rstrip()}  {dataset}"), "dim"
        if name := node["external_version"] or (one.content or {}).get("external_version"):
            yield output.printable(name), "dim"
    yield from claims(one)


def claims(one: PictureNode) -> Iterator[Line]:
    """Say that an id belongs to more than one thing, and to which."""
    if one.node.get("collided") and one.count == 1:
        yield "more than one thing has this id", "yellow"
        for claim in one.node["claimed_by"]:
            yield f"claimed by {output.printable(claim['job'].removeprefix('job:'))}, run {claim['run_id']}", "yellow"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return output.printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
