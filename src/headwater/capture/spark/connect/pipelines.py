"""Declarative pipelines (`pyspark.pipelines`, `spark-pipelines run`): each flow is a run that writes its dataset, from the messages that define them.

A client defines the datasets and flows of a graph, then starts it; the server resolves and runs it, and sends lines of text about each flow. A flow
reads datasets of its graph, which are not there yet, so they are resolved here from the flows that make them.
"""

import re
from typing import Any

import msgspec

from headwater.capture.spark.commands import Write
from headwater.capture.spark.connect import commands, expressions, shapes, statements
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.relations import Binder
from headwater.capture.spark.connect.scope import Bound, attribute
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import Sources, View
from headwater.capture.spark.datasets import Dataset

_SAYS = re.compile(r"^Flow '?(?P<flow>[^ ']+)'? (?:is|has) (?P<state>[A-Z_]+)")
_STREAM = re.compile(r"\b(from|join)\s+stream\s+(?=[`\w])", re.IGNORECASE)
_VIEW = "TEMPORARY_VIEW"
_SINK = "SINK"


class Output(msgspec.Struct):
    """A dataset of a graph. `kind`: MATERIALIZED_VIEW, TABLE, TEMPORARY_VIEW or SINK; `options`: of a sink."""

    parts: list[str]
    kind: str
    format: str = ""
    partitions: list[str] = []
    options: dict[str, str] = {}


class Flow(msgspec.Struct):
    """A flow of a graph: it writes `target` from a relation, a statement of SQL, or the changes of a source (`changes`)."""

    name: str
    target: list[str]
    relation: Any = None
    statement: Any = None
    changes: Any = None


class Graph:
    """The datasets and flows that a client has defined."""

    def __init__(self, created: Any) -> None:
        self.catalog = str(created.default_catalog)
        self.database = str(created.default_database)
        self.outputs: dict[str, Output] = {}
        self.flows: list[Flow] = []

    def key(self, parts: list[str], sources: Sources) -> str:
        """Return the name of a dataset or flow as the server says it."""
        if len(parts) == 1:
            parts = [self.catalog or sources.catalog, self.database or sources.database, *parts]
        return ".".join(sources.full(parts)).lower()

    def define(self, command: Any, sources: Sources) -> None:
        """Note what a command defines. Raises NoEngine if that is SQL, and it cannot be read."""
        if command.HasField("define_output"):
            self._output(command.define_output, sources)
        elif command.HasField("define_flow"):
            one = command.define_flow
            changes = getattr(one, "auto_cdc_flow_details", None)
            changes = changes if changes is not None and one.HasField("auto_cdc_flow_details") else None
            relation = one.relation_flow_details.relation if one.HasField("relation_flow_details") else None
            target = scopes.split(one.target_dataset_name)
            self.flows.append(Flow(one.flow_name or one.target_dataset_name, target, relation, changes=changes))
        elif command.HasField("define_sql_graph_elements"):
            for statement in statements.parse_all(_STREAM.sub(r"\1 ", command.define_sql_graph_elements.sql_text)):
                self._statement(statement, sources)

    def _output(self, one: Any, sources: Sources) -> None:
        kind = one.DESCRIPTOR.fields_by_name["output_type"].enum_type.values_by_number[one.output_type].name
        parts = scopes.split(one.output_name)
        made = Output(parts, kind)
        if one.HasField("table_details"):
            made.format, made.partitions = one.table_details.format, list(one.table_details.partition_cols)
        elif one.HasField("sink_details"):
            made.format, made.options = one.sink_details.format, dict(one.sink_details.options)
        self.outputs[self.key(parts, sources)] = made

    def _statement(self, statement: Any, sources: Sources) -> None:
        for change in statement.changes:
            kind = _VIEW if change.temporary else "MATERIALIZED_VIEW" if "VIEW" in statement.kind else "TABLE"
            self.outputs[self.key(list(change.table), sources)] = Output(list(change.table), kind)
        for flow in statement.flows:
            if flow.target is not None:
                name = re.match(r"\s*create\s+flow\s+(\S+)", statement.text, re.IGNORECASE)
                target = list(flow.target)
                self.flows.append(Flow(name[1] if name else ".".join(target), target, statement=statement))


class Resolved(msgspec.Struct):
    """A flow that a graph runs: its name as the server says it, what it writes, and of what. `parts`: of its table, empty for a sink."""

    key: str
    job: str
    write: Write
    analysis: Any
    parts: list[str]


class Resolver:
    """Resolves the flows of a graph that starts. `problems`: flows that could not be read, and why."""

    def __init__(self, graph: Graph, sources: Sources) -> None:
        self.graph = graph
        self.sources = sources
        self.problems: list[tuple[str, str]] = []
        self._made: dict[str, View | None] = {}

    def flows(self) -> list[Resolved]:
        """Return the flows that write something outside of the graph."""
        found = []
        for flow in self.graph.flows:
            output = self.graph.outputs.get(self.graph.key(flow.target, self.sources))
            if output is not None and output.kind == _VIEW:
                continue
            try:
                found += self._flow(flow, output)
            except (NoAnswer, statements.NoEngine) as problem:
                self.problems.append((flow.name, str(problem)))
        return found

    def _flow(self, flow: Flow, output: Output | None) -> list[Resolved]:
        binder = self._binder()
        bound = self._bound(flow, binder)
        analysis = commands.analyse(binder, bound)
        place, parts = self._place(output) if output is not None else None, []
        if output is None or output.kind != _SINK:
            parts = flow.target if len(flow.target) > 1 else self.graph.key(flow.target, self.sources).split(".")
        if place is None:
            return []
        key = self.graph.key(scopes.split(flow.name), self.sources)
        target = self.graph.key(flow.target, self.sources)
        job = "" if key == target else scopes.split(flow.name)[-1]
        streaming = output is not None and output.kind != "MATERIALIZED_VIEW"
        partitions = output.partitions if output is not None else []
        return [Resolved(key, job, Write(place, "", partitions=partitions, streaming=streaming), analysis, parts)]

    def _place(self, output: Output) -> Dataset | None:
        """Return the dataset that an output is; None for a sink that leaves nothing."""
        if output.kind == _SINK:
            options = {**output.options, **{key.lower(): value for key, value in output.options.items()}}
            return commands.place_of(output.format, options.get("path", ""), options, self.sources)
        parts = self.graph.key(output.parts, self.sources).split(".")
        return commands.target_of(self.sources.table(parts), self.sources, parts, "", output.format)

    def _binder(self) -> Binder:
        binder = Binder(self.sources)
        binder.graph = self._dataset
        return binder

    def _dataset(self, parts: list[str]) -> View | None:
        """Return a dataset of the graph as a relation that a flow reads; None if the graph has none of this name."""
        key = self.graph.key(parts, self.sources)
        output = self.graph.outputs.get(key)
        if output is None or output.kind == _SINK:
            return None
        if key not in self._made:
            self._made[key] = None  # of a flow that reads what it writes
            self._made[key] = self._view(key, output)
        return self._made[key]

    def _view(self, key: str, output: Output) -> View | None:
        flow = next((one for one in self.graph.flows if self.graph.key(one.target, self.sources) == key), None)
        if flow is None:
            return None
        binder = self._binder()
        bound = self._bound(flow, binder)
        if output.kind != _VIEW:
            place = self._place(output)
            binder = self._binder()
            bound = scopes.leaf([attribute(one.name, one.kind) for one in bound.attributes])
            binder.add(bound, [place] if place is not None else [])
        return View(bound, binder.leaves, list(binder.warnings), binder.opaque)

    def _bound(self, flow: Flow, binder: Binder) -> Bound:
        if flow.statement is not None:
            tables = binder.tables(flow.statement)
            statement = statements.resolve(flow.statement, tables)
            statements.complain(statement, binder.warn)
            chosen = next(one for one in reversed(statement.flows) if one.target is not None)
            return statements.select(chosen, tables, binder.warn)
        if flow.changes is not None:
            return _changed(flow.changes, binder)
        return binder.bind(flow.relation)


def _changed(changes: Any, binder: Binder) -> Bound:
    """Return what the changes of a source leave in a table: its columns. The keys find a row; the sequence and the deletes decide which stays."""
    below = binder.table(scopes.split(changes.source))
    scope = binder.scope(below)

    def named(listed: Any) -> set[str]:
        return {one.name.lower() for one, _ in binder.values(listed, scope)}

    wanted, left_out = named(changes.column_list), named(changes.except_column_list)
    taken = [
        one
        for one in below.attributes
        if one.name.lower() not in left_out and (not wanted or one.name.lower() in wanted)
    ]
    order = expressions.value(changes.sequence_by, scope)
    deciding = [
        order,
        *([expressions.value(changes.apply_as_deletes, scope)] if changes.HasField("apply_as_deletes") else []),
    ]
    keys = [tree for _, tree in binder.values(changes.keys, scope)]
    node = shapes.decided(below.node, keys, deciding)
    made = [(one, one.node) for one in taken]
    if (
        changes.stored_as_scd_type
        == changes.DESCRIPTOR.fields_by_name["stored_as_scd_type"].enum_type.values_by_name["SCD_TYPE_2"].number
    ):
        made += [(attribute(name), order) for name in ("__START_AT", "__END_AT")]
    return scopes.project(Bound(node, below.attributes), made)


def read_state(message: str) -> tuple[str, str] | None:
    """Return the flow and its state that a line of the server is about; None if it is about something else."""
    found = _SAYS.match(message)
    return (found["flow"].replace("`", "").lower(), found["state"]) if found else None
