"""Turn a client's requests into events, one after the other, on capture's own thread: the counterpart of `capture.spark.collector`.

A command that writes is a run: START when it was sent, COMPLETE or FAIL when its answer came. A query is an input of the runs' owner.
Never raises: what cannot be read is said in the run, or logged once.
"""

import logging
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.capture.spark import emission
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import DROP
from headwater.capture.spark.config import Config
from headwater.capture.spark.connect import commands, requests
from headwater.capture.spark.connect.commands import Effect
from headwater.capture.spark.connect.flows import Flows
from headwater.capture.spark.connect.models import ModelNotes, Reporter
from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.server import NoAnswer, Server
from headwater.capture.spark.connect.sources import Sources
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.reported_saves import SaveNotes, Saves
from headwater.capture.spark.statistics import Metrics
from headwater.capture.spark.streams import Streams
from headwater.capture.spark.telling import Query, Teller
from headwater.client import event

log = logging.getLogger("headwater")
_MOST_LIVE = 2000
# The server answers writes without counts.
NO_COUNTS = "rows written are not known: Spark Connect tells no counts of a command that writes"
NO_VERSIONS = "the versions of some tables that were read are not known: Spark Connect does not tell them, and the tables' histories leave a doubt"
NO_VERSION_LEFT = (
    "the version that was written is not known: the program had gone on before the server was asked for it"
)


class Collector:
    """The requests of all sessions with one server."""

    def __init__(
        self,
        application: Application,
        config: Config,
        details: dict[str, Any],
        models: ModelNotes | None = None,
        notes: SaveNotes | None = None,
    ) -> None:
        self.application = application
        self.models = models or ModelNotes()
        self.config = config
        self.teller = Teller(application, config, details)
        self.saves = Saves(application, self.teller, notes or SaveNotes(lambda: None))
        self.live: OrderedDict[int, Query] = OrderedDict()
        self._sessions: dict[str, Sources] = {}
        self.streams = Streams(self.teller, config.stream_seconds)
        self.flows = Flows(self.teller, self.live, self._query, application.coverage.miss)
        self._starting: dict[int, Query] = {}
        self._others: dict[int, list[int]] = {}  # keys of the further writes of a request
        self._unlocated: OrderedDict[int, list[str]] = OrderedDict()  # tables that are not there yet, by request
        self._streams_of: dict[str, tuple[Any, str]] = {}
        self._asked_at = time.monotonic()
        self._logged: set[str] = set()
        self._beat_at = time.monotonic()

    def take(self, kind: str, request: Request) -> None:
        """Handle the start or the end of a request."""
        try:
            sources = self.sources(request.client)
            sources.is_overtaken = lambda: requests.is_late(request)
            sources.is_late = lambda: sources.is_overtaken() or (kind == "start" and bool(request.ended))
            if kind == requests.CACHED:
                sources.versions.is_cached = True
            elif request.plan.command.WhichOneof("command_type") == "pipeline_command":
                self._take_pipeline(kind, request)
            elif kind == "start":
                self._start(request)
            else:
                self._end(request)
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            self._log(f"a request was not captured: {type(error).__name__}: {str(error)[:300]}")
            self.application.coverage.miss("a request", error)

    def _take_pipeline(self, kind: str, request: Request) -> None:
        act = {"start": self.flows.start, "said": self.flows.listen}.get(kind, self.flows.end)
        act(request, self.sources(request.client))

    def sources(self, client: Any) -> Sources:
        """Return the names of a client's session."""
        key = str(client._session_id)
        if key not in self._sessions:
            self._sessions[key] = made = Sources(Server(client), self.application.coverage, self.models)
            made.training = lambda model: commands.training(model, made)
        return self._sessions[key]

    def reporter(self, client: Any) -> Reporter:
        """Return what reports the models of a client's session."""
        sources = self.sources(client)
        return Reporter(lambda model: commands.training(model, sources), sources.place_of_model, self._loaded)

    def _loaded(self, place: Dataset, started: int) -> None:
        self._read_by_driver(Analysis(Leaves({"model": [place]})), started, [])

    def end(self) -> None:
        """End the application."""
        if not self.application.ended:
            self.saves.report()
            self._abort_queries("the program ended before the query did")
            self.streams.end(died=self.application.died() is not None)
            self.application.end()

    def abort(self, reason: str) -> None:
        """End everything that runs: the program was stopped from outside. Asks the server nothing."""
        if not self.application.ended:
            self._abort_queries(reason)
            self.streams.end(died=True, reason=reason)
            self.application.abort(reason)

    def beat(self, now: float) -> None:
        """Send the announced signs of life, if they are due. `now`: seconds of a clock that never goes back."""
        if self.streams.running and now - self._asked_at >= self.config.stream_seconds:
            self.ask_streams()
        if not self.config.heartbeat or now - self._beat_at < self.config.heartbeat or self.application.ended:
            return
        self._beat_at = now
        self.application.beat()
        for query in list(self.live.values()):
            self.teller.beat(query)
        self.saves.beat()
        self.streams.beat()

    def _abort_queries(self, reason: str) -> None:
        self.saves.abort(reason)
        while self.live:
            _, query = self.live.popitem()
            self.teller.tell("ABORT", query, datetime.now(UTC), facets=emission.error(reason, ""))

    # --- the two ends of a request

    def _start(self, request: Request) -> None:
        if request.plan.WhichOneof("op_type") != "command":
            return
        found = self._effect(request)
        if found is None:
            self._say_unread(request)
            return
        if found.write.target is not None and self.models.is_inside(found.write.target):
            return  # a part of a model, which is reported whole
        query = self._query(request, found)
        if found.unlocated:
            self._unlocated[id(request)] = found.unlocated
            while len(self._unlocated) > _MOST_LIVE:
                self._unlocated.popitem(last=False)
        if found.write.streaming:
            self._starting[id(request)] = query  # its id comes with the answer
            return
        if found.write.target is None:
            return
        others = [self._query(request, one) for one in found.others]
        self._others[id(request)] = [id(one) for one in others]
        for key, one in ((id(request), query), *((id(one), one) for one in others)):
            self.live[key] = one
            self.teller.tell("START", one, emission.moment(request.started))
        while len(self.live) > _MOST_LIVE:
            self.live.popitem(last=False)

    def _effect(self, request: Request) -> Effect | None:
        try:
            return commands.effect(request.plan.command, self.sources(request.client))
        except NoAnswer as problem:
            self._log(f"a command was not captured: the server says: {problem}")
            self.application.coverage.miss("a command", problem)
            return None

    def _say_unread(self, request: Request) -> None:
        """Say that a command writes something that is not read from its message."""
        if why := commands.unread(request.plan.command, self.sources(request.client)):
            self._log(f"a command was not captured: {why}")
            self.application.coverage.miss("a command", why)

    def _query(self, request: Request, found: Effect) -> Query:
        spark = {"operationId": request.operation, "sessionId": str(request.client._session_id)}
        if found.analysis is not None and not found.write.streaming:
            found.analysis.warnings.append(NO_COUNTS)
        parent = self.application.owner_at(request.started)
        return Query(event.run_id(), found.write, found.analysis, found.sql, parent, spark)

    def _end(self, request: Request) -> None:
        query = self.live.pop(id(request), None)
        starting = self._starting.pop(id(request), None)
        unlocated = self._unlocated.pop(id(request), None)
        if request.failure is None and (made := starting or query) is not None:
            self._note_table(request, made, unlocated)
        if starting is not None:
            self._open_stream(request, starting)
        elif self._is_about_stream(request):
            self.ask_streams()
        elif query is not None:
            others = [self.live.pop(key, None) for key in self._others.pop(id(request), [])]
            for one in (query, *others):
                if one is not None:
                    self._close(request, one)
        elif request.failure is None:
            if requests.keeps_in_memory(request.plan):
                self.sources(request.client).versions.is_cached = True
            self._read(request)

    # --- streaming queries

    def _open_stream(self, request: Request, query: Query) -> None:
        result = request.answers.get("write_stream_operation_start_result")
        if result is None:
            return  # it did not begin
        identifier, run = str(result.query_id.id), str(result.query_id.run_id)
        found, target = query.analysis, query.write.target
        if target is None:
            if query.analysis is not None and commands.FUNCTION in query.analysis.warnings:
                self.application.coverage.miss("what a streaming function writes", commands.FUNCTION)
            if found is not None and found.inputs:
                self._read_by_driver(found, request.started, found.warnings)
            return
        query.spark = {"queryId": identifier, "queryRunId": run, "query": str(result.name)}
        self._streams_of[run] = (request.client, identifier)
        self.streams.open(run, target.key, request.started, query, 0)

    def _is_about_stream(self, request: Request) -> bool:
        return str(request.plan.command.WhichOneof("command_type")) == "streaming_query_command"

    def ask_streams(self) -> None:
        """Ask how far the streaming queries are, and which have ended."""
        self._asked_at = time.monotonic()
        for run in self.streams.running:
            client, identifier = self._streams_of[run]
            try:
                progress, active, failure = self.sources(client).server.stream(identifier, run)
            except NoAnswer as problem:
                self._log(f"no progress of a streaming query: {problem}")
                continue
            for one in progress:
                self.streams.further(one)
            if not active:
                self.streams.close(run, failure)
                del self._streams_of[run]

    def _note_table(self, request: Request, query: Query, unlocated: list[str] | None) -> None:
        """Note the table that a command left. One that it made (`unlocated`: its name) is named by where it is."""
        sources, located = self.sources(request.client), None
        try:
            located = sources.find_new_table(unlocated) if unlocated else None
        except NoAnswer as problem:
            self._log(f"the place of a new table is as its catalog has it by default: the server says: {problem}")
        if located is not None and query.write.target is not None:
            storage = query.write.target.storage
            query.write.target = msgspec.structs.replace(located.dataset, fields=[])
            query.write.target.storage = query.write.target.storage or storage
        else:
            fields = query.analysis.fields if query.analysis is not None else []
            sources.note(query.write, [str(one["name"]) for one in fields], query.sql)

    def _close(self, request: Request, query: Query) -> None:
        failure = request.failure
        facets = emission.error(str(failure) or type(failure).__name__, "") if failure is not None else {}
        kind = "COMPLETE" if failure is None else "FAIL"
        metrics = self._left(request, query) if failure is None else None
        if failure is None and query.analysis is not None:
            query.analysis.leaves = self._dated(request, query.analysis.leaves, query.write.target)
            if any(one.layer and not one.version for one in query.analysis.inputs):
                query.analysis.warnings.append(NO_VERSIONS)
        self.teller.tell(kind, query, emission.moment(request.ended), facets=facets, metrics=metrics)

    def _left(self, request: Request, query: Query) -> Metrics | None:
        """Set the version that a command left, and return what it wrote, if the table keeps versions and says so."""
        target, found = query.write.target, None
        if target is None or not target.layer or query.write.lifecycle == DROP:
            return None
        try:
            found = self.sources(request.client).versions.left(target, request)
        except NoAnswer as problem:
            if not self.sources(request.client).is_overtaken():
                self._log(f"no version: the server says: {problem}")
            elif query.analysis is not None:  # the program may have dropped the table since
                query.analysis.warnings.append(NO_VERSION_LEFT)
        if found is None:
            return None
        query.write.target = msgspec.structs.replace(target, version=found.version)
        if found.counts.is_reported and query.analysis is not None:
            query.analysis.warnings = [one for one in query.analysis.warnings if one != NO_COUNTS]
        return Metrics(found.counts)

    def _dated(self, request: Request, leaves: Leaves, target: Dataset | None) -> Leaves:
        """Return what a command read with its versions, as far as the server tells them."""
        try:
            return self.sources(request.client).versions.date(leaves, request, target)
        except NoAnswer as problem:
            self._log(f"no version of what was read: the server says: {problem}")
        return leaves

    def _read(self, request: Request) -> None:
        plan = request.plan
        sources = self.sources(request.client)
        if plan.WhichOneof("op_type") == "root":
            found = commands.read(plan.root, sources)
            if found.inputs and not all(self.models.is_inside(one) for one in found.inputs):
                self._read_by_driver(found, request.started, [])
        elif plan.command.WhichOneof("command_type") == "sql_command":
            given = commands.variable(plan.command.sql_command, sources)
            if given is not None and given.inputs:
                self._read_by_driver(given, request.started, given.warnings)
        elif plan.command.WhichOneof("command_type") == "checkpoint_command":
            result = request.answers.get("checkpoint_command_result")
            relation_id = getattr(getattr(result, "_plan", result), "_relation_id", "")
            if relation_id:
                view = commands.checkpoint(plan.command.checkpoint_command.relation, sources)
                view.leaves = self._dated(request, view.leaves, None)
                sources.keep_checkpoint(str(relation_id), view)

    def _read_by_driver(self, found: Analysis, started: int, warnings: list[str]) -> None:
        self.application.coverage.add(found.leaves.coverage)
        self.application.read_by_driver(found, self.application.owner_at(started), warnings)

    def _log(self, text: str) -> None:
        """Log a problem once for each kind."""
        kind = text.split(":", 1)[0]
        if kind not in self._logged:
            self._logged.add(kind)
            log.warning("headwater capture: %s (logged once)", text)
