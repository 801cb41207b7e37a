"""OpenLineage events of parsed statements: a job for each statement with a target; of a dbt project, the events that dbt-ol sends, with columns."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headwater.cli.sql.reading import Reading
from headwater.cli.sql.statements import ParsedStatement, name
from headwater.client import event
from headwater.columns.edges import fields_made
from headwater.columns.openlineage import facets, names
from headwater.model.names import DatasetName

if TYPE_CHECKING:
    from headwater.capture.dbt.manifest import Node
    from headwater.capture.dbt.reported import Reported

_SCHEMAS = {"columnLineage": "ColumnLineageDatasetFacet", "lifecycleStateChange": "LifecycleStateChangeDatasetFacet"}


def events(
    found: Sequence[ParsedStatement], reading: Reading, namespace: str, job_namespace: str
) -> list[dict[str, Any]]:
    """Return the events of statements that write. `job_namespace`: "" is `dbt` for dbt's models, else `sql`.

    A job is called `file[target]`, or `file[target#2]` for the second of that name. Its name must not end as the target's does, or an ending would
    match both. dbt's models have dbt-ol's names; a model that dbt's last command ran is a run.
    """
    return list(_Events(found, reading, namespace, job_namespace).all())


class _Events:
    def __init__(self, found: Sequence[ParsedStatement], reading: Reading, namespace: str, job_namespace: str) -> None:
        self.found, self.reading, self.namespace, self.job_namespace = found, reading, namespace, job_namespace
        self.fields = fields_made(one.statement for one in found)
        self.seen: Counter[str] = Counter()
        self.nodes: dict[DatasetName, tuple[Reported, Node]] = {}
        for project in reading.dbt:
            if project.reported is not None:
                for table, node in project.reported.tables.items():
                    self.nodes[self.dataset_name(table)] = (project.reported, node)

    def all(self) -> Iterator[dict[str, Any]]:
        commands = [
            one
            for project in self.reading.dbt
            if project.reported is not None
            for one in project.reported.command_events(self.job_namespace or "dbt")
        ]
        yield from commands[::2]
        for one in self.found:
            if one.statement.writes:
                yield from self.statement(one)
        for project in self.reading.dbt:
            if project.reported is not None:
                yield from project.reported.test_events(
                    self.job_namespace or "dbt", lambda table: self.dataset(self.dataset_name(table))
                )
                yield from self.semantic_layer(project.reported)
        yield from commands[1::2]

    def semantic_layer(self, reported: "Reported") -> Iterator[dict[str, Any]]:
        from headwater.capture.dbt.semantic_layer import SemanticLayer

        def named(table: tuple[str, ...]) -> dict[str, str]:
            found = self.dataset_name(table)
            return {"namespace": found.namespace, "name": found.name}

        yield from SemanticLayer(reported.manifest, self.job_namespace or "dbt", named, self.reading.dialect).events()

    def statement(self, one: ParsedStatement) -> Iterator[dict[str, Any]]:
        dialect = self.reading.dialect
        told = facets(one.statement, dialect, self.namespace, one.query, base=os.getcwd(), made=self.fields)  # noqa: PTH109
        model = self.reading.model(one.file)
        read = model[1] if model is not None else ()
        inputs = [
            self.dataset(given)
            for given in dict.fromkeys([*told.inputs, *(self.dataset_name(table) for table in read)])
        ]
        outputs = [self.dataset(output, bodies) for output, bodies in told.outputs.items()]
        job_facets = {"sql": event.facet("SQLJobFacet", **told.job["sql"])}
        reported = model[0].reported if model is not None else None
        if reported is not None and one.file in reported.nodes:
            node = reported.nodes[one.file]
            if node.get("compiled_code"):  # A snapshot's text has more here than its query.
                job_facets["sql"]["query"] = node["compiled_code"]
            yield from reported.events(node, self.job_namespace or "dbt", inputs, outputs, job_facets)
            return
        yield event.job(
            (
                self.job_namespace or ("dbt" if model is not None else "sql"),
                self.job_name(one, model[0].jobs[one.file] if model else ""),
            ),
            inputs=inputs,
            outputs=outputs,
            job_facets={"jobType": event.job_type("BATCH", "SQL", "QUERY"), **job_facets},
        )

    def job_name(self, one: ParsedStatement, given: str) -> str:
        if given:
            return given
        job = f"{one.file}[{', '.join(name(table) for table in one.statement.writes)}"
        self.seen[job] += 1
        return f"{job}]" if self.seen[job] == 1 else f"{job}#{self.seen[job]}]"

    def dataset(self, found: DatasetName, bodies: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
        made = {key: event.facet(_SCHEMAS[key], **body) for key, body in (bodies or {}).items()}
        if self.reading.dbt:
            reported, node = self.nodes.get(found, (None, None))
            if reported is not None:
                made |= reported.dataset_facets(found.namespace, node)
        return event.dataset(found.namespace, found.name, facets=made)

    def dataset_name(self, table: tuple[str, ...]) -> DatasetName:
        return names(table, self.reading.dialect, self.namespace)
