"""Check capture where it is to run: a small job in a process of its own, what was seen of it, and where the events went.

The job is started as the user's programs are, with the variable HEADWATER_CAPTURE alone. It reports to the configured destinations and, beside them,
into a file that is read here and compared with what the job is known to do.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headwater.capture.spark.config import CAPTURE, SITE
from headwater.client.address import Destination
from headwater.client.config import destination

APPLICATION = "headwater capture check"
_SECONDS = 300.0
# Lines of the job's own output that are shown when it fails.
_LAST_LINES = 15


class Step(msgspec.Struct, frozen=True):
    """One thing that the job does. `state`: `seen`, `not seen`, or `skipped` where this Python lacks what it needs.

    `note`: what was seen of it, or why nothing was.
    """

    does: str
    state: str
    note: str


class Sent(msgspec.Struct, frozen=True):
    """The events for one destination, counted. `waiting`: they are in the spool, and a later program sends them."""

    to: str
    delivered: int
    waiting: int
    refused: int
    error: str | None


class Setting(msgspec.Struct, frozen=True):
    """The Python and the Spark that ran the job. `installed`: the variable alone switched capture on, without PYTHONPATH."""

    python: str
    pyspark: str
    java: str
    master: str
    installed: bool


class Report(msgspec.Struct, frozen=True):
    """`ended`: null if the job ended well, else its last lines. `run`: the id of the job's run. `problems`: what to do, a sentence each."""

    setting: Setting | None
    run: str | None
    events: int
    steps: list[Step]
    sent: list[Sent]
    problems: list[str]
    ended: str | None

    @property
    def right(self) -> bool:
        """True if all was seen that can be seen, and every destination has it."""
        return not self.problems


class _Facts(msgspec.Struct):
    """The facts that the job's process states of itself."""

    setting: Setting
    sent: dict[str, tuple[int, int, int, str | None]]
    done: list[str]
    skipped: dict[str, str]


def check(
    master: str | None = None,
    folder: str | None = None,
    environ: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
) -> Report:
    """Run the job and judge what was reported. Raises nothing for a job that fails: the report says it.

    `master`: Spark's address, default the configured one or `local[1]`. `folder`: a folder that driver and executors share; default a temporary
    one on this machine, which is removed. The job is ended after `seconds`.
    """
    env = dict(os.environ if environ is None else environ)
    with tempfile.TemporaryDirectory(prefix="headwater-check-") as here:
        events, facts = Path(here) / "events.ndjson", Path(here) / "facts.json"
        configured = destination(env)
        job = [
            sys.executable,
            "-m",
            f"{__package__}.check_job",
            folder or f"file://{here}/data",
            str(facts),
            master or "",
        ]
        try:
            done = subprocess.run(
                job,
                env=_environment(env, configured, events),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
            code, output = done.returncode, done.stderr + done.stdout
        except subprocess.TimeoutExpired:
            code, output = -1, f"the job had not ended after {seconds:.0f} seconds"
        reported = [msgspec.json.decode(line) for line in events.read_bytes().splitlines()] if events.exists() else []
        known = msgspec.json.decode(facts.read_bytes(), type=_Facts) if facts.exists() else None
    ended = (
        None
        if code == 0 and known is not None
        else "\n".join(output.strip().splitlines()[-_LAST_LINES:]) or f"exit code {code}"
    )
    return _judged(configured, reported, known, ended)


def _environment(env: Mapping[str, str], configured: Destination, events: Path) -> dict[str, str]:
    """The job's variables: the user's own, capture switched on, and the file beside the configured destinations."""
    sent = [one.address for one in configured.each] if configured.remote else []
    changed = {
        key: value
        for key, value in env.items()
        if key not in {"HEADWATER_TRANSPORT", "OPENLINEAGE_CONTEXT", "OPENLINEAGE_DISABLED"}
    }
    return changed | {CAPTURE: "spark", "HEADWATER_URL": ",".join([*sent, f"file://{events}"])}


def _judged(configured: Destination, reported: list[dict[str, Any]], facts: _Facts | None, ended: str | None) -> Report:
    problems = []
    if ended is not None:
        problems.append(
            "The job failed, so nothing was checked. Read its last lines above, mend the Spark that it runs on (JAVA_HOME, --master, "
            "--folder), and run the check again."
        )
    sent = [Sent(to, *counts) for to, counts in facts.sent.items()] if facts is not None else []
    if facts is not None and not facts.setting.installed:
        problems.append(
            f"{CAPTURE}=spark alone does not switch capture on in {sys.executable}: install headwater-capture into it with pip, or put "
            f"{SITE} first on PYTHONPATH."
        )
    for one in sent:
        if one.waiting or one.refused:
            problems.append(
                f"{one.to} did not take the events: {one.error or 'no answer in time'}. Check that the address is right and the server runs: "
                f"`headwater doctor` on its machine."
            )
    if not configured.remote:
        problems.append(
            f"No server gets the events: {_instead(configured)}. Set HEADWATER_URL to the server's address."
        )
    steps = _steps(reported, facts)
    if any(step.state == "not seen" for step in steps):
        problems.append(
            "Capture missed a part of the job, marked `not seen` above. Please report it with this output: it is a fault of capture."
        )
    run = next((event["run"]["runId"] for event in reported if event["job"]["name"] == APPLICATION), None)
    return Report(facts.setting if facts is not None else None, run, len(reported), steps, sent, problems, ended)


def _instead(configured: Destination) -> str:
    """Return what happens to the events where no server gets them, and the setting that decides so."""
    if configured.transport == "file":
        setting = "HEADWATER_TRANSPORT=file" if configured.source == "default" else configured.source
        return f"{setting} writes them to {configured.file}"
    done = {"console": "prints them", "spool": f"keeps them in {configured.spool}", "none": "drops them"}
    return f"{configured.source} {done.get(configured.transport, 'keeps them here')}"


# The steps of the job.
READ = "read CSV, and infer its schema"
WROTE = "write Parquet: the sum of a column by another"
FUNCTION = "a pandas function"
RDD = "an RDD: text lines, read and written"


def _steps(reported: list[dict[str, Any]], facts: _Facts | None) -> list[Step]:
    """The steps of the job, each with what was seen of it."""
    if facts is None:
        return []
    complete = [event for event in reported if event["eventType"] == "COMPLETE"]
    by_output = {
        output["name"].rstrip("/").rpartition("/")[2]: (event, output)
        for event in complete
        for output in event.get("outputs", ())
    }
    totals, scores, lines = (by_output.get(name) for name in ("totals", "scores", "lines"))
    fields = [field["name"] for field in _input(totals, "orders").get("schema", {}).get("fields", ())]
    read_by_lines = lines is not None and any(one["name"].endswith("/orders") for one in lines[0].get("inputs", ()))
    columns = f"columns {', '.join(fields)}" if fields else "no columns"
    judged = {
        READ: (set(fields) == {"id", "amount", "region"}, columns, columns),
        WROTE: (_feeds(totals, "total") == {"amount"}, "total comes from amount", "total has no source column"),
        FUNCTION: (bool(_feeds(scores, "score")), "from all columns: a function's inside is not seen", "no columns"),
        RDD: (read_by_lines, "its files; its columns are not seen", "no files"),
    }
    found = [Step(does, "skipped", why) for does, why in facts.skipped.items()]
    for does in facts.done:
        good, seen, missing = judged[does]
        found.append(Step(does, "seen" if good else "not seen", seen if good else missing))
    return found


def _input(written: tuple[dict[str, Any], dict[str, Any]] | None, name: str) -> dict[str, Any]:
    """The facets of the input whose last part is `name`."""
    inputs = written[0].get("inputs", ()) if written is not None else ()
    return next((dict(one.get("facets", {})) for one in inputs if one["name"].rstrip("/").endswith(f"/{name}")), {})


def _feeds(written: tuple[dict[str, Any], dict[str, Any]] | None, column: str) -> set[str]:
    """The columns whose values reach a column that was written."""
    fields = written[1].get("facets", {}).get("columnLineage", {}).get("fields", {}) if written is not None else {}
    return {
        one["field"]
        for one in fields.get(column, {}).get("inputFields", ())
        if any(way.get("type") == "DIRECT" for way in one.get("transformations", ())) or not one.get("transformations")
    }
