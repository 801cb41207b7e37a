"""Run a package with its events around it: the one place that knows the order of things.

START before the child begins, RUNNING while it lives, one terminal event whatever happens to it. Refuses to fail a run because lineage
is down: the client keeps the events, and the exit code is the child's alone.
"""

import os
import time
from collections.abc import Callable, Mapping

import msgspec

from headwater.client import Emitter, context, emitter_from_environment, event
from headwater.runner import code_version, command, failure, process, shared_jvm
from headwater.runner.announcement import Announcement
from headwater.runner.making import Making
from headwater.runner.manifest import Manifest
from headwater.runner.process import Ended
from headwater.runner.readiness import Server
from headwater.runner.reporting import Reporting, code_text
from headwater.runner.written import measure

GRACE_SECONDS = 10.0
_CANNOT_START = 126


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `state`: COMPLETE, FAIL or ABORT; `error`: one line. `reported`: whether the server was told what it made of entities;
    None where it was not asked to make any.
    """

    run_id: str
    namespace: str
    name: str
    state: str
    exit_code: int
    seconds: float
    error: str | None = None
    events_pending: int = 0
    reported: bool | None = None


def execute(
    manifest: Manifest,
    *,
    extra: tuple[str, ...] = (),
    spark: command.SparkChoice | None = None,
    heartbeat: float | None = None,
    capture: bool = True,
    grace: float = GRACE_SECONDS,
    environ: Mapping[str, str] | None = None,
    emitter: Emitter | None = None,
    started: Callable[[str], None] | None = None,
    making: Making | None = None,
    server: Server | None = None,
) -> Summary:
    """Run the package and wait for it. Main thread only (it listens to SIGINT and SIGTERM).

    `heartbeat` overrides the manifest's; 0 is none. `started` is called with the run id once START is out;
    `emitter` is closed at the end. `making`: what it is to make of entities, `server`: where that is reported (and where it does not answer,
    or there is none, events tell it). Never raises for what the child does.
    """
    env = dict(os.environ if environ is None else environ)
    out = emitter or emitter_from_environment()
    run_id = event.run_id()
    parent = context.parent(env)
    code = code_version.read(manifest.folder)
    say = Announcement(manifest=manifest, run_id=run_id, parent=parent, code=code, making=making)
    reporting = Reporting(server, making, run_id) if server and making and making.instances else None
    began = time.time()
    # Told before START, so that START says whether it has to be learned from events.
    told = reporting.started() if reporting else False
    out.emit(say.start(reported=told))
    if started:
        started(run_id)
    spark = spark or command.SparkChoice()
    child_env = command.environment(
        manifest, context.own(run_id, manifest.job, parent), out.destination, spark, capture=capture, current=env
    )
    try:
        with shared_jvm.borrowed(manifest, spark, env, child_env) as changed_env:
            ended = process.run(
                command.argv(manifest, extra),
                cwd=manifest.folder,
                env=changed_env,
                grace=grace,
                on_beat=lambda: out.emit(say.running()),
                beat=(manifest.heartbeat if heartbeat is None else heartbeat) or None,
            )
    except OSError as error:  # too long a command line, no memory for a process
        ended = Ended(_CANNOT_START, None, f"{type(error).__name__}: {error}", time.time() - began)
    state, reason, trace = outcome(ended)
    written = {}
    if state == "COMPLETE":
        written = {each.name: found for each in manifest.outputs if (found := measure(each, began))}
    if reporting:
        told = (
            reporting.produced(manifest, code_text(code, manifest))
            if state == "COMPLETE"
            else reporting.failed(reason or state)
        )
    facet = event.error_message(reason, trace) if reason else None
    out.emit(say.end(state, error=facet, written=written, reported=told))
    out.close()
    return Summary(
        run_id=run_id,
        namespace=manifest.namespace,
        name=manifest.name,
        state=state,
        exit_code=ended.exit_code,
        seconds=round(ended.seconds, 3),
        error=reason,
        events_pending=out.stats().pending,
        reported=told if making else None,
    )


def outcome(ended: Ended) -> tuple[str, str | None, str | None]:
    """The terminal event of a run, with the error's line and trace. Asked to stop, or killed, is ABORT; a crash is FAIL."""
    if ended.asked_by is not None:
        return "ABORT", f"stopped by {failure.signal_name(ended.asked_by)}", None
    if ended.returncode == 0:
        return "COMPLETE", None, None
    message, trace = failure.message_and_trace(ended.stderr_tail, ended.exit_code)
    if ended.returncode < 0:
        number = -ended.returncode
        return "FAIL" if failure.is_crash(number) else "ABORT", failure.signal_message(number), trace
    return "FAIL", message, trace
