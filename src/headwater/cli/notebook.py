"""Lineage in a notebook: `headwater.lineage("orders")`, and after `%load_ext headwater` the magic `%headwater`.

The server is the one that commands ask (`HEADWATER_URL`, `HEADWATER_API_KEY`, else the one that `headwater up` started).
"""

import argparse
import os
import shlex
import subprocess
import sys
from html import escape
from typing import Any, NoReturn

from headwater.cli import meaning, server
from headwater.errors import Ambiguous, HeadwaterError, InvalidQuestion
from headwater.graph import mermaid, svg

_ROWS = 100


class Lineage:
    """An answer of `/api/v2/lineage`, drawn where a notebook shows HTML. `answer` is all of it, `nodes` and `edges` are its parts."""

    def __init__(self, node: str, answer: dict[str, Any]) -> None:
        self.node = node
        self.answer = answer
        self.nodes: list[dict[str, Any]] = answer["nodes"]
        self.edges: list[dict[str, Any]] = answer["edges"]
        self.column_edges: list[dict[str, Any]] = answer.get("column_edges") or []

    def __repr__(self) -> str:
        return f"Lineage of {self.node}: {len(self.nodes)} nodes, {len(self.edges)} edges"

    def to_mermaid(self) -> str:
        """Return the drawing as Mermaid, to copy into a page."""
        return mermaid.flowchart(self._drawn())

    def _drawn(self) -> dict[str, Any]:
        groups = [group | {"type": "GROUP"} for group in self.answer.get("groups", ())]
        return self.answer | {"nodes": self.nodes + groups}

    def _repr_html_(self) -> str:
        parts = [f'<div style="overflow-x:auto">{svg.drawing(self._drawn())}</div>', *self._notes()]
        if self.column_edges:
            parts.append(self._columns())
        return f'<div class="headwater-lineage">{"".join(parts)}</div>'

    def _notes(self) -> list[str]:
        notes = list(self.answer["notes"])
        if not self.edges:
            notes.append("No lineage is recorded here.")
        hidden = self.answer["hidden"]
        if hidden["nodes"]:
            notes.append(f"{hidden['nodes']:,} more nodes are not shown: {hidden['reason']}")
        return [f"<div><small>{escape(str(note))}</small></div>" for note in notes]

    def _columns(self) -> str:
        rows = [
            [f"{one['source']} {one['source_field']}", f"{one['target']} {one['target_field']}", _how(one)]
            for one in self.column_edges[:_ROWS]
        ]
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        left = len(self.column_edges) - len(rows)
        more = f"<div><small>{left:,} more edges of columns: `column_edges` has all.</small></div>" if left else ""
        return f"<table><thead><tr><th>column</th><th>feeds</th><th>how</th></tr></thead><tbody>{body}</tbody></table>{more}"


def _how(edge: dict[str, Any]) -> str:
    kinds = [f"{one['type']} {one.get('subtype') or ''}".strip() for one in edge.get("transformations") or ()]
    return ", ".join([*kinds, str(edge.get("origin", ""))]).strip(", ")


def lineage(
    name: str,
    *,
    upstream: bool = False,
    downstream: bool = False,
    depth: int = 100,
    columns: bool = False,
    column: str | None = None,
    as_of: str | None = None,
    url: str | None = None,
) -> Lineage:
    """Return the lineage of a dataset, job, column, run, version, instance or file; both directions unless one is asked for.

    `name`: as for `headwater lineage`. `column`: only what is connected to this column. `as_of`: as it was then.
    Raises NotFound with the nearest names, Ambiguous with the candidates, ServerUnavailable.
    """
    found = meaning.find_object(url, name)
    field = column or found.get("column")
    node = str(found["node"] if found["type"] == "COLUMN" else found["id"])
    asked: dict[str, object] = {
        "direction": "both" if upstream == downstream else "upstream" if upstream else "downstream",
        "depth": depth,
        "columns": columns or field is not None or None,
        "field": field,
        "as_of": server.time(as_of),
    }
    answer = server.get(url, "/api/v2/lineage", node=node, **asked)
    if answer["candidates"]:
        candidates = [meaning.candidate(each) for each in answer["candidates"]]
        raise Ambiguous(f"{node!r} could be any of {len(candidates)}; give one of these:", candidates=candidates)
    return Lineage(node, answer)


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidQuestion(f"{message}; write `%headwater lineage NAME --upstream --columns`")


def _parser() -> _Arguments:
    parser = _Arguments(prog="%headwater lineage", add_help=False)
    parser.add_argument("name")
    for flag in ("--upstream", "--downstream", "--columns"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--depth", type=int, default=100)
    for option in ("--column", "--as-of", "--url"):
        parser.add_argument(option)
    return parser


def run_line(line: str) -> Lineage | None:
    """Return the lineage that a line asks for (`lineage NAME …`), or run any other command of `headwater` and print what it prints.

    Raises InvalidQuestion for a line that is neither, and what `lineage` raises.
    """
    words = shlex.split(line)
    if words[:1] == ["lineage"]:
        return lineage(**vars(_parser().parse_args(words[1:])))
    # A notebook has no width of its own; its cells are wider than a terminal's 80 columns.
    env = {"COLUMNS": "160", **os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "headwater", *words], capture_output=True, text=True, check=False, env=env
    )
    print(done.stdout, end="")
    if done.returncode:
        raise InvalidQuestion(done.stderr.strip() or f"`headwater {line}` ended with {done.returncode}")
    return None


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%headwater` to a notebook."""
    from IPython.core.error import UsageError

    def headwater(line: str) -> Lineage | None:
        try:
            return run_line(line)
        except HeadwaterError as error:
            found = error.detail.get("candidates") or error.detail.get("suggestions") or ()
            near = [str(one) for one in found] if isinstance(found, list | tuple) else []
            raise UsageError("\n".join([error.message, *near])) from None

    shell.register_magic_function(headwater, "line", "headwater")
