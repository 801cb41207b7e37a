"""A running step: its inputs, outputs and details, reported in a START and a final event.

Nothing here may harm the host: a failure is one log line, and events go to the process's emitter, which never waits.
Only `once` asks a server, for a bounded time, and only it may raise, on request. For the current step, `with` blocks and
decorators see `headwater.client.step`.
"""

import atexit
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Union, cast

import msgspec

from headwater.client import context, current, event, stopping
from headwater.client.account import Account
from headwater.client.check_results import add_result
from headwater.client.context import Parent
from headwater.client.ending import is_stop, line, message
from headwater.client.entries import Entries, Entry
from headwater.client.given import dataset_facets, facet, namespace, plain, text, word
from headwater.client.item import Item, is_id, item_at
from headwater.client.output import emitter
from headwater.client.step_arguments import StepArguments
from headwater.model.names import DatasetName

if TYPE_CHECKING:
    from headwater.client.imports import AlreadyImported, Import

log = logging.getLogger("headwater")

Source = Union[
    "str | bytes | os.PathLike[Any] | tuple[str, str] | DatasetName", Item, "Step", Parent, Mapping[str, Any]
]

_MOST_AT_ONCE = 500  # datasets per event: a step of many outputs reports them in RUNNING events meanwhile

P = ParamSpec("P")


def _harmless(method: Callable[Concatenate["Step", P], None]) -> Callable[Concatenate["Step", P], None]:
    """Turn the method's failures into one log line."""

    @functools.wraps(method)
    def quiet(self: "Step", *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
            self.say(method.__name__, error)

    return cast(Callable[Concatenate["Step", P], None], quiet)


class Step:
    """One run of a step. Threads may share it. After its end, further calls are ignored with a log line.

    `id`: the run's id, an UUIDv7. `name`, `namespace`, `job`: the job it is a run of. `state`: `RUNNING`, then `COMPLETE`, `FAIL` or
    `ABORT`; `IDLE` for the step that `current_step()` returns without one, which is false and records nothing.
    """

    def __init__(self, given: StepArguments, enclosing: "Step | None" = None, *, idle: bool = False) -> None:
        self.id = event.run_id()
        self.enclosing: current.Open | None = enclosing
        self.parent = _parent_of(given.parent) or (enclosing.as_parent if enclosing else current.inherited())
        self.name = word(given.name) or "unnamed"
        self.namespace = word(given.namespace) or (self.parent.job_namespace if self.parent else namespace())
        self.as_parent: Parent = context.own(self.id, self.job, self.parent)
        self.state = "IDLE" if idle else "RUNNING"
        self._account = Account(
            version=None if given.version is None else text(given.version), forced=bool(given.force)
        )
        self._inputs, self._outputs = Entries("inputs"), Entries("outputs")
        self._imports: dict[str, Import] = {}
        self._told = 0  # since the last check of unreported entries
        self._started = False
        self._complained: set[str] = set()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self.began, self._clock = time.time(), time.monotonic()
        if idle:
            return
        self._take(given)
        _OPEN.add(self)
        stopping.before_death(_abort_open)
        self._emit("START", self._inputs.all[:_MOST_AT_ONCE], [])
        self._started = True

    @property
    def job(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def running(self) -> bool:
        return self.state == "RUNNING"

    @property
    def forced(self) -> bool:
        return self._account.forced

    @property
    def inputs(self) -> tuple[Item, ...]:
        return self._inputs.items()

    @property
    def outputs(self) -> tuple[Item, ...]:
        return self._outputs.items()

    @property
    def unmeasured(self) -> bool:
        """True if a fingerprint is still missing."""
        return self.running and bool(self._outputs.unmeasured())

    def __bool__(self) -> bool:
        return self.state != "IDLE"

    def __repr__(self) -> str:
        return f"<step {self.namespace}/{self.name} {self.id} {self.state}>"

    def input(
        self,
        source: Source,
        *,
        fingerprint: bool = False,
        item: str | None = None,
        facets: Mapping[str, Mapping[str, Any]] | None = None,
        input_facets: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Item | None:
        """Record an input: a path or URL, a (namespace, name), an Item (or its mapping), a UUID of an item, another Step, a `Parent`.

        A Step stands for its outputs and becomes a parent. `fingerprint` reads the content now, in this thread. `item`: the id of the
        item at that place, if only its text was passed. Returns the recorded input; None for what has no dataset.
        """
        found: list[Item] = []
        try:
            found = self.sources(source, item)
            for each in found:
                if fingerprint and self.running:
                    self._read(each)
                self._add(self._inputs, each, facets, input_facets)
        except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
            self.say("input", error)
        return found[0] if len(found) == 1 else None

    def output(
        self,
        place: "str | bytes | os.PathLike[Any] | tuple[str, str] | DatasetName | Item",
        *,
        fingerprint: bool = False,
        rows: int | None = None,
        facets: Mapping[str, Mapping[str, Any]] | None = None,
        output_facets: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Item:
        """Record an output, before or after it is written. Returns the handle for other steps; the same one for the same place.

        `fingerprint` reads the content, in this thread: now if the step has already written the file, else (and again, if the file has
        changed since) when the step completes. `rows`: the number of written rows.
        """
        item = Item("", "", event.run_id())
        try:
            found = Item(*place.dataset, location=place.location) if isinstance(place, Item) else item_at(place)
            with self._lock:
                entry = self._outputs.find(found)
                if entry is not None:
                    item = entry.item
                else:
                    found.id = item.id
                    item = found
            counted = {"outputStatistics": event.output_statistics(rows=rows)} if rows is not None else {}
            self._add(self._outputs, item, facets, {**counted, **(output_facets or {})}, fingerprint=fingerprint)
        except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
            self.say("output", error)
        return item

    @_harmless
    def check(self, place: Any, name: str, success: bool, /, **result: Any) -> None:
        """Record the result of a check of an output, if the place is one, else of an input. `headwater.check` has the arguments."""
        if self._recording():
            item = place if isinstance(place, Item) else item_at(place)
            with self._lock:
                add_result(self._inputs, self._outputs, item, name, success, **result)

    @_harmless
    def detail(self, field: str, value: object) -> None:
        """Record a detail of this run: the present state of any JSON value. A later value of the field replaces the earlier one."""
        self._set(self._account.details, text(field), plain(value))

    @_harmless
    def facet(self, name: str, body: Mapping[str, Any]) -> None:
        """Add a run facet, with `_producer` and `_schemaURL` if it lacks them. `parent`, `errorMessage` and `headwater_step` are reserved."""
        self._set(self._account.facets, text(name), facet(body, "Run"))

    def environment(self) -> dict[str, str]:
        """Return the variables that make this step a child process's parent: `env={**os.environ, **step.environment()}`."""
        recorded = self and emitter().destination.transport != "none"
        return context.environment(self.as_parent) if recorded else {}

    def once(self, source: Source, *, force: bool | None = None, unknown: str = "run") -> "AlreadyImported | None":
        """Find out whether this job has imported this content before (docs/howto/steps.md, "Import once").

        None: it has not, go on; the content is an input with its fingerprint, imported when the step completes. Else the run that imported it;
        the step then reports that it was skipped. `force` (default: the step's): go on anyway, and record the overridden runs.
        `unknown`: without an answer, `run` (go on, one log line) or `raise` (ServerUnavailable, or why the content cannot be read).
        Reads the content, and may wait for a server, at most two seconds.
        """
        from headwater.client.once import once  # only for imports

        return once(self, source, force=self.forced if force is None else force, strict=unknown == "raise")

    def complete(self) -> None:
        """Complete the step, after the missing fingerprints."""
        self._end("COMPLETE")

    def fail(self, error: BaseException | str | None = None) -> None:
        """Fail the step; `error`: the exception, with its trace, or a text."""
        self._end("FAIL", error)

    def abort(self, reason: BaseException | str | None = None) -> None:
        """Abort the step."""
        self._end("ABORT", reason)

    def end(self, error: BaseException | None) -> None:
        """End it as its block ended: completed without an exception, aborted if stopped from outside, else failed."""
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self._end("COMPLETE")
        else:
            self._end("ABORT" if is_stop(error) else "FAIL", error)

    def measure(self) -> None:
        """Compute the missing fingerprints."""
        for entry in self._outputs.unmeasured():
            try:
                entry.measure()
            except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
                self.say("fingerprint", error)
            entry.wanted = False

    def imported(self, item: Item, runs: Iterable[str], line: "Import", *, forced: bool) -> None:
        """Record an import for `once`, new or forced: an input with its content, in the ledger when the step completes."""
        with self._lock:
            self._account.forced = self.forced or forced
            self._account.overrides.extend(run for run in runs if run not in self._account.overrides)
            self._inputs.taken_up(item)
            self._account.skipped = [one for one in self._account.skipped if one["fingerprint"] != item.fingerprint]
            self._inputs.again(self._inputs.add(item))
            self._imports[line.fingerprint] = line

    def skipped(self, item: Item, run_id: str) -> None:
        """Record for `once` an input that is already imported, without the version that would count as an import."""
        with self._lock:
            dataset = {"namespace": item.namespace, "name": item.name}
            if run_id != self.id:  # otherwise this run has imported it, under another name
                self._account.skipped.append({"fingerprint": item.fingerprint, "run_id": run_id, "dataset": dataset})
            entry = self._inputs.find(item)
            if entry is None:
                self._inputs.add(item).bare = True
            elif not self.imports(item.fingerprint or ""):
                entry.bare = True
                self._inputs.again(entry)

    def imports(self, fingerprint: str) -> bool:
        """Return whether this very step already imports the content."""
        return fingerprint in self._imports

    def sources(self, source: Source, item: str | None = None) -> list[Item]:
        """Return the items for `input` to record; record parents."""
        if isinstance(source, Step):
            with self._lock:
                self._read_from(source.as_parent if source else None)
            return [msgspec.structs.replace(each) for each in source.outputs]
        if isinstance(source, Parent):
            self._read_from(source)
            return []
        if isinstance(source, Item | Mapping):
            return [msgspec.structs.replace(source) if isinstance(source, Item) else Item.from_json(source)]
        name = str(source)
        if is_id(name):
            with self._lock:
                self._account.parents.append({"item": name.lower()})
            return []
        found = item_at(source)
        if item is not None:
            if not is_id(str(item)):
                raise ValueError(f"an item's id must be a UUID, not {item!r}")
            found.id = str(item).lower()
        return [found]

    def _read_from(self, parent: Parent | None) -> None:
        if parent is not None:
            job = {"namespace": parent.job_namespace, "name": parent.job_name}
            self._account.parents.append({"runId": parent.run_id, "job": job})

    def _add(
        self,
        entries: Entries,
        item: Item,
        facets: Mapping[str, Mapping[str, Any]] | None,
        side_facets: Mapping[str, Mapping[str, Any]] | None,
        *,
        fingerprint: bool = False,
    ) -> None:
        if not self._recording():
            return
        with self._lock:
            entry = entries.add(item)
            if facets or side_facets:
                entry.tell(dataset_facets(facets), dataset_facets(side_facets))
                entries.again(entry)
            if fingerprint:
                entries.again(entry)
        if fingerprint:
            entry.wanted = True
            try:
                entry.measure(since=self.began)
            except Exception as error:  # noqa: BLE001 - it may be half written; at the end it is read again, and said
                log.debug("%r is not fingerprinted yet: %s", self, line(error))
        self._told += 1
        if self._told >= _MOST_AT_ONCE and self._started:
            self._say_much()

    def _say_much(self) -> None:
        """Send RUNNING events for complete entries, while they fill more than one event."""
        with self._lock:
            self._told = 0
            inputs = self._inputs.unsaid()
            outputs = [entry for entry in self._outputs.unsaid() if not entry.wanted]
            while len(inputs) + len(outputs) >= _MOST_AT_ONCE:
                taken = inputs[:_MOST_AT_ONCE]
                rest = outputs[: _MOST_AT_ONCE - len(taken)]
                self._emit("RUNNING", taken, rest)
                inputs, outputs = inputs[len(taken) :], outputs[len(rest) :]

    def _read(self, item: Item) -> None:
        try:
            Entry(item).measure()
        except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
            self.say("fingerprint", error)

    @_harmless
    def _take(self, given: StepArguments) -> None:
        for field, value in (given.details or {}).items():
            self.detail(field, value)
        for name, body in (given.facets or {}).items():
            self.facet(name, body)
        for name, body in (given.job_facets or {}).items():
            self._job_facet(name, body)
        for each in given.inputs:
            self.input(each)

    @_harmless
    def _job_facet(self, name: str, body: Mapping[str, Any]) -> None:
        self._account.job_facets[text(name)] = facet(body, "Job")

    def _set(self, where: dict[str, Any], name: str, value: Any) -> None:
        if self._recording():
            with self._lock:
                where[name] = value

    def _recording(self) -> bool:
        if self.state not in {"RUNNING", "IDLE"}:
            raise RuntimeError("the step has ended")
        if self.running and self._pid != os.getpid():
            self.say("what a forked worker says", RuntimeError("open a step there, or return it to the parent"))
        return self.running

    def say(self, what: str, error: BaseException) -> None:
        """Log one line for each kind of problem of a step: a loop over a million files must not fill a log."""
        if what in self._complained:
            return
        self._complained.add(what)
        log.warning(
            "step %s (%s): %s is left out of the lineage: %s: %s",
            self.name,
            self.id,
            what,
            type(error).__name__,
            line(error),
        )

    def _end(self, state: str, error: BaseException | str | None = None) -> None:
        with self._lock:
            if self.state != "RUNNING" or self._pid != os.getpid():  # a forked child must not end its copy
                return
            self.state = "ENDING"
        try:
            if state == "COMPLETE":
                self.measure()
        except BaseException as stopped:
            state, error = "ABORT", stopped
            raise
        finally:
            _OPEN.discard(self)
            self._finish(state, error)

    @_harmless
    def _finish(self, state: str, error: BaseException | str | None) -> None:
        self.state = state
        if error is not None:
            self._account.facets["errorMessage"] = event.error_message(*message(error))
        for entry in self._outputs.unmeasured():
            entry.wanted = False
        self._say_much()
        every = len(self._inputs.all) + len(self._outputs.all) <= _MOST_AT_ONCE
        # Consumers may read final events only, so these have everything; if it is too much, RUNNING events have it.
        self._emit(
            state,
            self._inputs.all if every else self._inputs.unsaid(),
            self._outputs.all if every else self._outputs.unsaid(),
        )
        if not _OPEN:
            stopping.forget(_abort_open)
        if state == "COMPLETE" and self._imports:
            from headwater.client.imports import keep

            keep(list(self._imports.values()))

    def _emit(self, kind: str, inputs: list[Entry], outputs: list[Entry]) -> None:
        # Never before the start, even if the wall clock changes; the duration is monotonic.
        at = self.began if kind == "START" else max(time.time(), self.began + time.monotonic() - self._clock)
        emitter().emit(self._account.event(kind, self.id, self.job, self.parent, inputs, outputs, at))


_OPEN: set[Step] = set()


@atexit.register
def _abort_open(signal_name: str = "") -> None:
    """Abort open steps when the program ends, or a signal ends it. Registered after the emitter's hook: it runs before it."""
    why = f"was stopped by {signal_name}" if signal_name else "ended before the step did"
    for step in sorted(_OPEN, key=lambda each: each.began, reverse=True):
        step.abort(f"the program {why}")


def _forked() -> None:
    for step in _OPEN:
        step._lock = threading.RLock()  # another thread of the parent may have held it
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _parent_of(given: Step | Parent | None) -> Parent | None:
    if isinstance(given, Step):
        return given.as_parent if given else given.parent
    return given
