"""Turn the artifacts of one dbt run into OpenLineage events. Sends nothing, and reads only what this run wrote.

Field names: dbt's manifest schema v12 and run results schema v6.
"""

import json
import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from headwater.capture.dbt.manifest import BUILT, Manifest, Node, Relation, reads
from headwater.client import event
from headwater.client.context import Parent
from headwater.model import names
from headwater.model.names import DatasetName

log = logging.getLogger("headwater")

_END = {"success": "COMPLETE", "error": "FAIL", "fail": "FAIL", "partial success": "FAIL"}
# A warning is a check that failed, and that its author does not want to stop at.
_CHECKED = {"pass": True, "warn": False, "fail": False, "error": False}


def run_events(project: Path, since: float, namespace: str, parent: Parent) -> list[Node]:
    """Return the events of all that dbt built and tested, in the order in which it ended; none if dbt wrote no results after `since`.

    `since`: seconds since 1970. `namespace`: of the tables. `parent`: the run that ran dbt; its job's namespace is that of the models' jobs.
    """
    folder = project / "target"
    try:
        if (folder / "run_results.json").stat().st_mtime < since:
            return []
        results = json.loads((folder / "run_results.json").read_text(encoding="utf-8"))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return list(Artifacts(manifest, namespace, parent).events(results["results"]))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the models of this run are not recorded: dbt's files in %s cannot be read: %s", folder, error)
        return []


class Artifacts:
    """The results of one run of dbt. `parent`: the run that ran dbt; its job's namespace is that of the models' jobs."""

    def __init__(self, manifest: Node, namespace: str, parent: Parent) -> None:
        self._manifest = Manifest(manifest)
        self._nodes = self._manifest.nodes
        self._project = self._manifest.project
        self._namespace = namespace
        self._parent = parent

    def events(self, results: Iterable[Node]) -> Iterator[Node]:
        """Yield the events of these results, in the order in which they ended."""
        tested: dict[str, list[tuple[Node, Node]]] = defaultdict(list)
        for result in sorted(results, key=lambda each: _when(each, "completed_at") or ""):
            node = self._nodes.get(result["unique_id"])
            if node is None or not _when(result, "completed_at"):
                continue  # skipped: it did not run
            if node["resource_type"] in BUILT and result["status"] in _END:
                yield from self._built(node, result)
            elif node["resource_type"] == "test" and result["status"] in _CHECKED:
                for on in self._tested(node):
                    tested[on].append((node, result))
        for on, found in tested.items():
            yield from self._checked(on, found)

    def _built(self, node: Node, result: Node) -> Iterator[Node]:
        job = (self._parent.job_namespace, f"{self._project}.{node['name']}")
        run_id = self._run_id(result["unique_id"])
        parent = {"parent": event.parent(self._parent.run_id, self._parent.job, self._parent.root)}
        inputs = [event.dataset(each.namespace, each.name) for each in self._inputs(node)]
        yield event.run(
            "START", run_id=run_id, job=job, inputs=inputs, run_facets=parent, job_facets=job_facets(node),
            event_time=_when(result, "started_at"),
        )  # fmt: skip
        state = _END[result["status"]]
        outputs = []
        if state == "COMPLETE" and (name := self._relation(node)):
            rows = (result.get("adapter_response") or {}).get("rows_affected")
            known = rows if isinstance(rows, int) and rows >= 0 else None
            statistics = {"outputStatistics": event.output_statistics(rows=known)} if known is not None else {}
            outputs = [event.dataset(name.namespace, name.name, facets=_facets(node), output_facets=statistics)]
        failed = {"errorMessage": event.error_message(str(result.get("message")), language="SQL")}
        yield event.run(
            state, run_id=run_id, job=job, inputs=inputs, outputs=outputs,
            run_facets=parent | (failed if state == "FAIL" else {}), event_time=_when(result, "completed_at"),
        )  # fmt: skip

    def _checked(self, on: str, found: list[tuple[Node, Node]]) -> Iterator[Node]:
        """Yield one run that tested a relation, with the result of each test."""
        node = self._nodes[on]
        name = self._relation(node)
        if name is None:
            return
        assertions = []
        for test, result in found:
            kind = test.get("test_metadata") or {}
            column = test.get("column_name") or (kind.get("kwargs") or {}).get("column_name")
            assertion = {"assertion": kind.get("name") or test["name"], "success": _CHECKED[result["status"]]}
            severity = {} if assertion["success"] else {"severity": "warn" if result["status"] == "warn" else "error"}
            assertions.append(assertion | severity | ({"column": column} if column else {}))
        facet = event.facet("DataQualityAssertionsDatasetFacet/1-0-1", assertions=assertions)
        checked = event.dataset(name.namespace, name.name, input_facets={"dataQualityAssertions": facet})
        run_id = self._run_id(f"{on}.tests")
        job = (self._parent.job_namespace, f"{self._project}.{node['name']}.tests")
        parent = {"parent": event.parent(self._parent.run_id, self._parent.job, self._parent.root)}
        kind_of_job = {"jobType": event.job_type("BATCH", "DBT", "TEST")}
        began = min(_when(result, "started_at") or "" for _, result in found)
        ended = max(_when(result, "completed_at") or "" for _, result in found)
        yield event.run("START", run_id=run_id, job=job, inputs=[checked], run_facets=parent, job_facets=kind_of_job,
                        event_time=began)  # fmt: skip
        # A failed test is a finding about the data; the run that found it did its work.
        yield event.run("COMPLETE", run_id=run_id, job=job, inputs=[checked], run_facets=parent, event_time=ended)

    def _run_id(self, of: str) -> str:
        """The id of a run below the parent's: the same however often its results are read."""
        return str(uuid.uuid5(uuid.UUID(self._parent.run_id), of))

    def _tested(self, test: Node) -> list[str]:
        """The relation that a test is about; all that it reads if dbt does not say."""
        attached = test.get("attached_node")
        return [attached] if attached in self._nodes else [each for each in reads(test) if each in self._nodes]

    def _inputs(self, node: Node) -> list[DatasetName]:
        return [self._dataset(relation) for relation in self._manifest.inputs(node)]

    def _relation(self, node: Node) -> DatasetName | None:
        relation = self._manifest.relation(node)
        return None if relation is None else self._dataset(relation)

    def _dataset(self, relation: Relation) -> DatasetName:
        return names.normalised(self._namespace, ".".join(relation))


def _when(result: Node, end: str) -> str | None:
    """Return the time at which it began or ended; None for a step that never began."""
    times = [timing[end] for timing in result.get("timing") or () if timing.get(end)]
    return (min(times) if end == "started_at" else max(times)) if times else None


def job_facets(node: Node) -> dict[str, event.Facet]:
    """Return the facets of a node's job: its kind, its description, its compiled SQL."""
    facets = {"jobType": event.job_type("BATCH", "DBT", node["resource_type"].upper())}
    if node.get("description"):
        facets["documentation"] = event.documentation(node["description"], of="Job")
    if sql := node.get("compiled_code") or node.get("compiled_sql"):
        facets["sql"] = event.facet("SQLJobFacet", query=sql)
    return facets


def _facets(node: Node) -> dict[str, event.Facet]:
    facets: dict[str, event.Facet] = {}
    if node.get("description"):
        facets["documentation"] = event.documentation(node["description"])
    if tags := node.get("tags"):
        facets["tags"] = event.tags([(str(tag), "") for tag in tags], "dbt")
    # Columns that dbt describes are few of those there are: no schema is made of them unless all have types, as a contract requires.
    columns = list((node.get("columns") or {}).values())
    if columns and all(column.get("data_type") for column in columns):
        described = ("name", "data_type", "description")
        fields = [
            dict(zip(("name", "type", "description"), map(column.get, described), strict=True)) for column in columns
        ]
        facets["schema"] = event.schema({key: value for key, value in field.items() if value} for field in fields)
    return facets
