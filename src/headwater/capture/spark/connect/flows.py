"""Report the flows of a pipeline that runs: START when the server says that a flow runs, its end when it says so, else with the pipeline's own."""

from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

from headwater.capture.spark import emission
from headwater.capture.spark.connect import commands, pipelines
from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect.pipelines import Graph, Resolved
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer
from headwater.capture.spark.connect.sources import Sources
from headwater.capture.spark.connect.statements import NoEngine
from headwater.capture.spark.telling import Query, Teller

_ENDS = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "STOPPED": "ABORT", "CANCELED": "ABORT"}
# States of a flow that does not run in this update.
_IDLE = frozenset({"SKIPPED", "EXCLUDED", "IDLE"})
_COUNTS = "rows written are not known: Spark Connect tells no counts of a flow"


class Flows:
    """The pipelines of one application. `live`: its open queries; `query`: makes one of a write and an analysis; `miss`: says what was not read."""

    def __init__(
        self,
        teller: Teller,
        live: MutableMapping[int, Query],
        query: Callable[[Request, commands.Effect], Query],
        miss: Callable[[str, object], None],
    ) -> None:
        self._teller = teller
        self._live = live
        self._query = query
        self._miss = miss
        self._graphs: dict[str, Graph] = {}
        self._running: dict[int, dict[str, list[Resolved]]] = {}  # by request, and the flow's name
        self._open: dict[int, dict[str, list[tuple[Resolved, Query]]]] = {}
        self._heard: dict[int, int] = {}

    def start(self, request: Request, sources: Sources) -> None:
        """Take a command of a pipeline: a definition, or the start of a run."""
        command = request.plan.command.pipeline_command
        kind = str(command.WhichOneof("command_type"))
        graph = self._graphs.get(str(getattr(getattr(command, kind), "dataflow_graph_id", "")))
        if kind == "drop_dataflow_graph":
            self._graphs.pop(command.drop_dataflow_graph.dataflow_graph_id, None)
        elif kind == "start_run":
            if graph is None:
                self._miss("a pipeline", "its datasets were defined before capture began")
            elif not command.start_run.dry:
                self._start_run(request, graph, sources)
        elif graph is not None:
            try:
                graph.define(command, sources)
            except NoEngine as problem:
                self._miss("the SQL of a pipeline", problem)

    def _start_run(self, request: Request, graph: Graph, sources: Sources) -> None:
        resolver = pipelines.Resolver(graph, sources)
        found: dict[str, list[Resolved]] = {}
        for one in resolver.flows():
            if one.write.streaming:
                one.analysis.warnings.append(_COUNTS)
            found.setdefault(one.key, []).append(one)
        for name, why in resolver.problems:
            self._miss(f"the flow {name} of a pipeline", why)
        self._running[id(request)], self._open[id(request)], self._heard[id(request)] = found, {}, 0

    def listen(self, request: Request, sources: Sources) -> None:
        """Follow what the server has said since the last call."""
        key = id(request)
        if key not in self._running:
            return
        heard, self._heard[key] = self._heard[key], len(request.said)
        for one in request.said[heard : self._heard[key]]:
            about = pipelines.read_state(str(one.message))
            if about is None:
                continue
            flow, state = about
            when = one.timestamp.ToDatetime(tzinfo=UTC)
            if state == "RUNNING":
                self._begin(request, flow, when)
            elif state in _ENDS:
                self._end(request, flow, _ENDS[state], when, sources, str(one.message))
            elif state in _IDLE:
                self._running[key].pop(flow, None)

    def end(self, request: Request, sources: Sources) -> None:
        """End a command of a pipeline."""
        key = id(request)
        self.listen(request, sources)
        made = getattr(request.answers.get("pipeline_command_result"), "create_dataflow_graph_result", None)
        command = request.plan.command.pipeline_command
        if made is not None and command.HasField("create_dataflow_graph") and request.failure is None:
            self._graphs[str(made.dataflow_graph_id)] = Graph(command.create_dataflow_graph)
        if key not in self._running:
            return
        if not any(pipelines.read_state(str(one.message)) for one in request.said):  # a server that words it otherwise
            for flow in list(self._running[key]):
                self._begin(request, flow, emission.moment(request.started))
        kind = "COMPLETE" if request.failure is None else "FAIL"
        for flow in list(self._open[key]):
            self._end(request, flow, kind, emission.moment(request.ended), sources, str(request.failure or ""))
        del self._running[key], self._open[key], self._heard[key]

    def _begin(self, request: Request, flow: str, when: datetime) -> None:
        for one in self._running[id(request)].get(flow, ()):
            query = self._query(request, commands.Effect(one.write, one.analysis))
            query.job = one.job
            self._open[id(request)].setdefault(flow, []).append((one, query))
            self._live[id(query)] = query
            self._teller.tell("START", query, when, streaming=one.write.streaming)

    def _end(self, request: Request, flow: str, kind: str, when: datetime, sources: Sources, why: str) -> None:
        for one, query in self._open[id(request)].pop(flow, ()):
            if self._live.pop(id(query), None) is None:
                continue  # aborted
            if one.parts and kind == "COMPLETE":
                self._as_made(one, query, sources)
            facets: dict[str, Any] = emission.error(why, "") if kind != "COMPLETE" else {}
            self._teller.tell(kind, query, when, facets=facets, streaming=one.write.streaming)

    def _as_made(self, one: Resolved, query: Query, sources: Sources) -> None:
        """Name the table by where it is, and its columns as it has them."""
        try:
            located = sources.table(one.parts)
            columns = sources.server.schema(sources.relation(one.parts))
        except NoAnswer as problem:
            self._miss("a table that a flow made", problem)
            return
        if located is not None:
            query.write.target = commands.target_of(located, sources, one.parts, "", "")
        found = one.analysis
        if len(columns) == len(found.columns):
            for column, known in zip(found.columns, columns, strict=True):
                column.name = str(known["name"])
        found.fields = scopes.schema_fields([scopes.attribute(known["name"], known["type"]) for known in columns])
