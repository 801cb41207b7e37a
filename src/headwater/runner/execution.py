"""Run a package and report the run, in the right order.

Sends START before the child begins, RUNNING while it lives, and one terminal event in any case. A run never fails because lineage
is down: the client keeps the events, and the exit code is the child's.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from headwater.capture.dbt import artifacts
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
    """The end of a run. `state`: COMPLETE, FAIL or ABORT; `error`: one line. `reported`: True if the server has the reports of its instances;
    None if it had none to make.
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
    `emitter` is closed at the end. `making`: the instances that it makes, `server`: where they are reported (without a server that answers,
    events carry them). Never raises for what the child does.
    """
    env = dict(os.environ if environ is None else environ)
    out = emitter or emitter_from_environment()
    run_id = event.run_id()
    parent = context.parent(env)
    code = code_version.read(manifest.folder)
    beat = (manifest.heartbeat if heartbeat is None else heartbeat) or None
    say = Announcement(manifest=manifest, run_id=run_id, parent=parent, code=code, making=making, beat=beat)
    reporting = Reporting(server, making, run_id) if server and making and making.instances else None
    began = time.time()
    # Reported before START: START says whether the server must take the instances from events.
    reported = reporting.started() if reporting else False
    out.emit(say.start(reported=reported))
    if started:
        started(run_id)
    spark = spark or command.SparkChoice()
    own = context.own(run_id, manifest.job, parent)
    child_env = command.environment(manifest, own, out.destination, spark, capture=capture, current=env)
    try:
        with shared_jvm.borrowed(manifest, spark, env, child_env) as changed_env:
            ended = process.run(
                command.argv(manifest, extra, spark=spark, environ=changed_env),
                cwd=manifest.folder,
                env=changed_env,
                grace=grace,
                on_beat=lambda: out.emit(say.running()),
                beat=beat,
            )
    except OSError as error:  # a too long command line, no memory for a process
        ended = Ended(_CANNOT_START, None, f"{type(error).__name__}: {error}", time.time() - began)
    if manifest.program.kind == "dbt":
        for each in artifacts.run_events(Path(manifest.program.target), began, manifest.program.namespace or "", own):
            out.emit(each)
    state, reason, trace = outcome(ended)
    written = {}
    if state == "COMPLETE":
        written = {each.name: found for each in manifest.outputs if (found := measure(each, began))}
    if reporting:
        reported = (
            reporting.produced(manifest, code_text(code, manifest))
            if state == "COMPLETE"
            else reporting.failed(reason or state)
        )
    facet = event.error_message(reason, trace) if reason else None
    out.emit(say.end(state, error=facet, written=written, reported=reported))
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
        reported=reported if making else None,
    )


def outcome(ended: Ended) -> tuple[str, str | None, str | None]:
    """Return the terminal event of a run, with the error's line and trace. A stopped or killed run is ABORT; a crash is FAIL."""
    if ended.asked_by is not None:
        return "ABORT", f"stopped by {failure.signal_name(ended.asked_by)}", None
    if ended.returncode == 0:
        return "COMPLETE", None, None
    message, trace = failure.message_and_trace(ended.stderr_tail, ended.exit_code)
    if ended.returncode < 0:
        number = -ended.returncode
        return "FAIL" if failure.is_crash(number) else "ABORT", failure.signal_message(number), trace
    return "FAIL", message, trace
