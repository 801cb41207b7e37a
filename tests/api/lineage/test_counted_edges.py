"""Projects and DAGs with edges worked out by hand: how many of them are found, from either end. docs/explanation/coverage.md has the table; this makes it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.events import encoded
from tests.fixtures.app import Client
from tests.recorded import recorded
from tests.unit.connectors.test_connector_modules import pull

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests/cases/coverage"


def read_projects() -> list[dict[str, Any]]:
    """Return the projects; one that names its `edges` has them in files beside its text."""
    projects: list[dict[str, Any]] = yaml.safe_load((CASES / "projects.yaml").read_text(encoding="utf-8"))
    for one in projects:
        for file in one.get("edges", ()):
            for kind, edges in yaml.safe_load((CASES / file).read_text(encoding="utf-8")).items():
                one[kind] = one.get(kind, []) + edges
    return projects


PROJECTS = read_projects()
TOOLS: list[dict[str, Any]] = yaml.safe_load((CASES / "bi.yaml").read_text(encoding="utf-8"))
PAGE = ROOT / "docs/explanation/coverage.md"


def send(client: Client, project: dict[str, Any]) -> None:
    events = (CASES / project["events"]).read_text(encoding="utf-8").splitlines()
    reply = client.post("/api/v1/lineage/batch", f"[{','.join(events)}]".encode())
    assert reply.json()["status"] == "success", reply.text
    warnings = {warning["code"] for one in reply.json()["receipts"] for warning in one["warnings"]}
    assert warnings == set(project.get("warnings", ()))


class Found:
    """Edges of a project as answers about one end tell them. Names are without namespace and prefix."""

    def __init__(self, client: Client, project: dict[str, Any], direction: str) -> None:
        # Those of several namespaces have them in their names.
        self._start = f"dataset:{project['namespace']}:{project['prefix']}" if "namespace" in project else "dataset:"
        names = {end for edge in project["tables"] for end in edge.split(" -> ")}
        unlisted = set(project.get("unlisted", ()))
        self.tables: set[str] = set()
        self.columns: set[str] = set()
        for name in names:
            node = f"dataset:{name}" if ":" in name else self._start + name
            question = {"node": node, "direction": direction, "depth": 1, "columns": "true"}
            answer = client.get("/api/v2/lineage", **question).json()
            jobs: dict[str, tuple[set[str], set[str]]] = {}
            for edge in answer["edges"]:
                if edge["source"].startswith("dataset:") and edge["target"].startswith("dataset:"):
                    # The target declares it: there is no job.
                    ends = self._name(edge["source"]), self._name(edge["target"])
                    self.tables |= set() if unlisted & {*ends} else {" -> ".join(ends)}
                    continue
                job, side, place = (
                    (edge["target"], 0, edge["source"])
                    if edge["source"].startswith("dataset:")
                    else (edge["source"], 1, edge["target"])
                )
                jobs.setdefault(job, (set(), set()))[side].add(self._name(place))
            self.tables |= {
                f"{source} -> {target}"
                for sources, targets in jobs.values()
                for source in sources - unlisted
                for target in targets - unlisted
                if name in (source, target) and source != target
            }
            self.columns |= {
                f"{self._name(edge['source'])}.{edge['source_field']} -> {self._name(edge['target'])}.{edge['target_field']}"
                for edge in answer["column_edges"]
                if edge["source_field"] and edge["target_field"] and _is_direct(edge["transformations"])
                if not {self._name(edge["source"]), self._name(edge["target"])} & unlisted
            }

    def _name(self, node: str) -> str:
        return node.removeprefix(self._start).removeprefix("dataset:")


def _is_direct(transformations: list[dict[str, Any]]) -> bool:
    """A producer may name the input of a column and not how it is used: then its value flows."""
    return not transformations or any(one["type"] == "DIRECT" for one in transformations)


def row(project: dict[str, Any], up: Found, down: Found) -> str:
    def counted(kind: str) -> str:
        wanted, both = set(project[kind]), getattr(up, kind) & getattr(down, kind)
        return f"{len(wanted)} | {len(wanted & both)} | {len(both - wanted)}"

    return f"| {project['project']} | {project['told_by']} | {counted('tables')} | {counted('columns')} |"


def check_edges(client: Client, project: dict[str, Any]) -> None:
    """Compare what is found from both ends with the project's row of the page."""
    up, down = Found(client, project, "upstream"), Found(client, project, "downstream")
    assert (up.tables, up.columns) == (down.tables, down.columns)
    made = row(project, up, down)
    missing = sorted({*project["tables"], *project["columns"]} - {*up.tables, *up.columns})
    beside = sorted({*up.tables, *up.columns} - {*project["tables"], *project["columns"]})
    assert made in PAGE.read_text(encoding="utf-8"), f"{made}\nmissing: {missing}\nbeside: {beside}"


@pytest.mark.parametrize("project", PROJECTS, ids=[Path(one["events"]).stem for one in PROJECTS])
def test_the_edges_that_a_project_has_are_found_from_both_ends(client: Client, project: dict[str, Any]) -> None:
    send(client, project)
    check_edges(client, project)


@pytest.mark.parametrize("tool", TOOLS, ids=[one["connector"] for one in TOOLS])
def test_the_edges_that_a_bi_tool_has_are_found_from_both_ends(client: Client, tool: dict[str, Any]) -> None:
    with recorded(tool["connector"]) as system:
        settings = {name: text.replace("ADDRESS", system.url) for name, text in tool["settings"].items()}
        events, _ = pull(tool["connector"], settings)
    reply = client.post("/api/v1/lineage/batch", encoded(events))
    assert reply.json()["status"] == "success", reply.text
    check_edges(client, tool)
