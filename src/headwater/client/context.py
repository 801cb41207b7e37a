"""The parent run of this process, from the environment, and the environment for child processes.

Contract: docs/explanation/capture-events.md, "Who is whose parent". A bad value costs one log line and never stops the program.
"""

import logging
import os
import re
from collections.abc import Mapping

import msgspec

log = logging.getLogger("headwater")

CONTEXT = "OPENLINEAGE_CONTEXT"
PARENT_ID = "OPENLINEAGE_PARENT_ID"
ROOT_PARENT_ID = "OPENLINEAGE_ROOT_PARENT_ID"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class Parent(msgspec.Struct, frozen=True):
    """A run with children, and the root of its tree."""

    run_id: str
    job_namespace: str
    job_name: str
    root_run_id: str
    root_job_namespace: str
    root_job_name: str

    @property
    def job(self) -> tuple[str, str]:
        return self.job_namespace, self.job_name

    @property
    def root(self) -> tuple[str, tuple[str, str]]:
        return self.root_run_id, (self.root_job_namespace, self.root_job_name)

    def child(self, run_id: str, job: tuple[str, str]) -> "Parent":
        """Return a child run as the parent of its own children: same root."""
        return Parent(run_id, *job, self.root_run_id, *self.root[1])


def own(run_id: str, job: tuple[str, str], parent: Parent | None = None) -> Parent:
    """Return a run as the parent of its children: under `parent`, or its own root."""
    return parent.child(run_id, job) if parent else Parent(run_id, *job, run_id, *job)


class _Run(msgspec.Struct):
    runId: str  # noqa: N815 - the specification's spelling


class _Job(msgspec.Struct):
    namespace: str
    name: str


class _Root(msgspec.Struct):
    run: _Run
    job: _Job


class _Parent(msgspec.Struct):
    run: _Run
    job: _Job
    root: _Root | None = None


class _Context(msgspec.Struct):
    parent: _Parent


def parent(environ: Mapping[str, str] | None = None) -> Parent | None:
    """Return the parent of this process, from `OPENLINEAGE_CONTEXT`, else `OPENLINEAGE_PARENT_ID` (with `OPENLINEAGE_ROOT_PARENT_ID`).

    None without one, or if the value cannot be understood (one log line names the variable and the reason).
    """
    env = os.environ if environ is None else environ
    name = CONTEXT
    try:
        if text := env.get(CONTEXT, "").strip():
            given = msgspec.json.decode(text, type=_Context).parent
            root = given.root or _Root(given.run, given.job)
            found = (given.run.runId, given.job.namespace, given.job.name)
            return _checked(*found, root.run.runId, root.job.namespace, root.job.name)
        name = PARENT_ID
        if text := env.get(PARENT_ID, "").strip():
            own_id = _triple(text)
            _checked(*own_id, *own_id)
            name = ROOT_PARENT_ID
            root_text = env.get(ROOT_PARENT_ID, "").strip()
            return _checked(*own_id, *(_triple(root_text) if root_text else own_id))
    except ValueError as error:  # msgspec's decoding errors are ValueErrors, too
        log.warning("%s is not usable and is ignored: %s", name, error)
    return None


def environment(parent: Parent) -> dict[str, str]:
    """Return a child's environment variables that make `parent` the parent of its runs, in the new spelling and the older one."""
    context = {
        "parent": {
            "run": {"runId": parent.run_id},
            "job": {"namespace": parent.job_namespace, "name": parent.job_name},
            "root": {
                "run": {"runId": parent.root_run_id},
                "job": {"namespace": parent.root_job_namespace, "name": parent.root_job_name},
            },
        }
    }
    return {
        CONTEXT: msgspec.json.encode(context).decode(),
        PARENT_ID: f"{parent.job_namespace}/{parent.job_name}/{parent.run_id}",
        ROOT_PARENT_ID: f"{parent.root_job_namespace}/{parent.root_job_name}/{parent.root_run_id}",
    }


def _triple(text: str) -> tuple[str, str, str]:
    # A namespace may contain slashes (`s3://bucket`), a run id never does: split from the right.
    parts = text.rsplit("/", 2)
    if len(parts) != 3:
        raise ValueError(f"expected namespace/name/run id, got {text!r}")
    return parts[2], parts[0], parts[1]


def _checked(*parts: str) -> Parent:
    for run in (parts[0], parts[3]):
        if not _UUID.fullmatch(run):
            raise ValueError(f"run id {run!r} is not a UUID")
    if not all(parts):
        raise ValueError("a namespace or a name is empty")
    return Parent(*parts)
