"""Print lineage of runs and versions as trees, up from its roots and down. Names are untrusted and printed escaped."""

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


def print_records(answer: dict[str, Any], *, fan: int = FAN, details: bool = False) -> None:
    """Print the suspects, the worst first; the roots, the trees above and below them, and the notes of the answer."""
    drawn = picture(answer, fan)
    tree = _Tree(drawn, details)
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

    def __init__(self, drawn: Picture, details: bool) -> None:
        self.drawn, self.details = drawn, details
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
        beyond, several = self.beyond[direction], len(self.drawn.roots) > 1
        shown: set[str] = set()
        for root in self.drawn.roots:
            if several and beyond[root]:
                yield f"of {output.printable(self.drawn.nodes[root].label)}", "dim"
            # A stack of nodes to print: (node, its line's prefix, whether it is the last sibling, whence); the next one is at the end.
            waiting = self._siblings(root, beyond[root], "")
            while waiting:
                id_, indent, last, whence = waiting.pop()
                one = self.drawn.nodes[id_]
                text = f"{indent}{'└─ ' if last else '├─ '}{words(one)}"
                note = self.notes.get(frozenset((id_, whence)))
                text += f"  ({output.printable(note)})" if note else ""
                text += "  (shown above)" if id_ in shown and beyond[id_] else ""
                yield text, _AGAINST.get(one.node.get("against") or "") or _WRONG.get(one.node["state"] or "")
                if id_ in shown:
                    continue
                shown.add(id_)
                indent += "   " if last else "│  "
                for text, style in identity(one) if self.details else claims(one):
                    yield f"{indent}  · {text}", style
                waiting += self._siblings(id_, beyond[id_], indent)

    def _siblings(self, whence: str, ids: list[str], indent: str) -> list[tuple[str, str, bool, str]]:
        return [(id_, indent, id_ == ids[-1], whence) for id_ in reversed(ids)]


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
    if node["type"] == "RUN":
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
    if node["type"] == "RUN":
        yield f"run {node['run_id']}  {output.printable((node['job'] or '').removeprefix('job:'))}", "dim"
        for run in node["overrides"]:
            yield f"does again what run {output.printable(run)} did", "yellow"
        for skipped in node["skipped"]:
            by = f", which run {output.printable(skipped['run_id'])} had imported" if skipped["run_id"] else ""
            yield f"skipped {output.printable(skipped['fingerprint'])}{by}", "dim"
        for field, value in node["details"].items():
            yield f"{output.printable(field)}: {_value(value)}", "cyan"
    elif node["type"] == "VERSION":
        what, id_ = ("item", node["item"]) if node["item"] else ("version", node["version_id"])
        what, id_ = (what, id_) if id_ else ("content", node["id"].removeprefix("content:"))
        yield output.printable(f"{what} {id_}  {(node['dataset'] or '').removeprefix('dataset:')}"), "dim"
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
