"""Print a correlation answer as trees, up from its roots and down. Names are untrusted and printed escaped."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.cli import output
from headwater.graph.tracing import Picture, PictureNode, picture

_STATES = {"COMPLETED": "ok", "RUNNING": "running"}
_WRONG = {"FAILED": "red", "ABORTED": "yellow"}
# Longest part of a detail's JSON that is printed.
_LONGEST = 200

Line = tuple[str, str | None]


def print_trace(answer: dict[str, Any], *, fan: int, details: bool) -> None:
    """Print the roots, the trees above and below them, and the notes of the answer."""
    drawn = picture(answer, fan)
    tree = _Tree(drawn, details)
    for note in answer["notes"]:
        output.line(output.printable(note), "dim")
    for id_ in drawn.roots:
        root = drawn.nodes[id_]
        output.line(words(root), "bold")
        for text, style in identity(root):
            output.line(f"  {text}", style)
    for title, direction in (("Upstream", "ancestors"), ("Downstream", "descendants")):
        if answer["direction"] in {"both", direction}:
            output.line()
            output.line(title, "bold")
            lines = list(tree.lines(direction))
            for text, style in lines or [("  (nothing recorded)", "dim")]:
                output.line(text, style)
    refused = [arrow for arrow in drawn.arrows if arrow.refused]
    if refused or answer["hidden"]["count"]:
        output.line()
    for arrow in refused:
        parent, child = (output.printable(drawn.nodes[id_].label) for id_ in (arrow.parent, arrow.child))
        output.line(f"not followed, it would close a loop: {parent} → {child}", "yellow")
    if answer["hidden"]["count"]:
        output.line(f"{answer['hidden']['count']:,} more not shown: {answer['hidden']['reason']}", "yellow")


class _Tree:
    """Branches of a tree; one that is drawn above is not repeated."""

    def __init__(self, drawn: Picture, details: bool) -> None:
        self.drawn, self.details = drawn, details
        self.beyond: dict[str, dict[str, list[str]]] = {
            "ancestors": defaultdict(list),
            "descendants": defaultdict(list),
        }
        places = {id_: place for place, id_ in enumerate(drawn.nodes)}
        for arrow in drawn.arrows:
            if not arrow.refused:
                self.beyond["ancestors"][arrow.child].append(arrow.parent)
                self.beyond["descendants"][arrow.parent].append(arrow.child)
        for side in self.beyond.values():
            for found in side.values():
                found.sort(key=places.__getitem__)

    def lines(self, direction: str) -> Iterator[Line]:
        """Yield (text, style) for every line. Without recursion: a chain may have thousands of steps."""
        beyond, several = self.beyond[direction], len(self.drawn.roots) > 1
        shown: set[str] = set()
        for root in self.drawn.roots:
            if several and beyond[root]:
                yield f"of {output.printable(self.drawn.nodes[root].label)}", "dim"
            # A stack of nodes to print: (node, its line's prefix, whether it is the last sibling); the next one is at the end.
            waiting = self._siblings(beyond[root], "")
            while waiting:
                id_, indent, last = waiting.pop()
                one = self.drawn.nodes[id_]
                again = id_ in shown and bool(beyond[id_])
                yield (
                    f"{indent}{'└─ ' if last else '├─ '}{words(one)}{'  (shown above)' if again else ''}",
                    _WRONG.get(one.node["state"] or ""),
                )
                if id_ in shown:
                    continue
                shown.add(id_)
                indent += "   " if last else "│  "
                for text, style in identity(one) if self.details else claims(one):
                    yield f"{indent}  · {text}", style
                waiting += self._siblings(beyond[id_], indent)

    def _siblings(self, ids: list[str], indent: str) -> list[tuple[str, str, bool]]:
        return [(id_, indent, id_ == ids[-1]) for id_ in reversed(ids)]


def words(one: PictureNode) -> str:
    """Describe a node in one line: a run by its process, version, end, start and duration; an item by its name and size."""
    node = one.node
    if one.count > 1:
        return f"{output.printable(one.label)}  ({one.count:,} more{_state_of_all(node)})"
    said = [output.printable(one.label)]
    if one.kind == "RUN":
        if node["version"]:
            said[0] += f" {output.printable(node['version'])}"
        if node["state"]:
            said[0] += f" ({_STATES.get(node['state'], node['state'])})"
        said += [output.moment(node["started_at"]), output.duration(node["duration_ms"])]
        said.append("forced" if node["forced"] else "")
    else:
        content = one.content or {}
        said.append(output.size(node["bytes"] if node["bytes"] is not None else content.get("bytes")))
    return "  ".join(word for word in said if word)


def _state_of_all(node: dict[str, Any]) -> str:
    """Return the state of folded runs; only runs of one state are folded."""
    return f", all {_STATES.get(node['state'], node['state'])}" if node["state"] else ""


def identity(one: PictureNode) -> Iterator[Line]:
    """Yield a node's ids, dataset, fingerprint, overridden import, reported details and claims; nothing for a folded node."""
    node = one.node
    if one.count > 1:
        return
    if one.kind == "RUN":
        yield f"run {node['run_id']}  {output.printable((node['job'] or '').removeprefix('job:'))}", "dim"
        for run in node["overrides"]:
            yield f"does again what run {output.printable(run)} did", "yellow"
        for skipped in node["skipped"]:
            by = f", which run {output.printable(skipped['run_id'])} had imported" if skipped["run_id"] else ""
            yield f"skipped {output.printable(skipped['fingerprint'])}{by}", "dim"
        for field, value in node["details"].items():
            yield f"{output.printable(field)}: {_value(value)}", "cyan"
    else:
        yield (
            f"{one.kind.lower()} {node['id']}  {output.printable((node['dataset'] or '').removeprefix('dataset:'))}",
            "dim",
        )
        fingerprint = node["fingerprint"] or (one.content or {}).get("fingerprint")
        if fingerprint:
            yield output.printable(fingerprint), "dim"
    yield from claims(one)


def claims(one: PictureNode) -> Iterator[Line]:
    """Say that an id belongs to more than one thing, and to which."""
    if one.node["collided"] and one.count == 1:
        yield "more than one thing has this id", "yellow"
        for claim in one.node["claimed_by"]:
            yield f"claimed by {output.printable(claim['job'].removeprefix('job:'))}, run {claim['run_id']}", "yellow"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return output.printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
