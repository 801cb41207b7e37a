"""A task run's reports on the instances it makes (started, produced, failed), for `POST /api/v2/instances`.

Each report has a key from its run, state and instance: a repeated or late report changes nothing. Does not send.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from headwater.capture.airflow.makes import Makes

What = Literal["started", "produced", "failed"]
_DESCRIPTION = ("fingerprint", "storage", "rows", "bytes")


class Run(msgspec.Struct, frozen=True):
    """One try of one task of one DAG run. `id`: Airflow's id of this try; a deleted and recreated run has another one."""

    airflow: str
    dag: str
    run: str
    task: str
    attempt: int
    map_index: int = -1
    id: str = ""

    @property
    def job(self) -> str:
        """Return the job, as `produced_by` names it."""
        return f"airflow://{self.airflow}/{_part(self.dag)}/{_part(self.task)}"

    @property
    def ref(self) -> str:
        """Return `airflow://NAME/dag/run/task/try`, with the index of a mapped task."""
        parts = [
            self.dag,
            self.run,
            self.task,
            str(self.attempt),
            *([str(self.map_index)] if self.map_index >= 0 else []),
        ]
        return f"airflow://{self.airflow}/" + "/".join(map(_part, parts))


def of(
    run: Run,
    what: What,
    instances: Sequence[Mapping[str, Any]],
    at: dt.datetime,
    *,
    seq: int | None = None,
    code: str | None = None,
    reason: str = "",
    description: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return a report for each of `instances`: `{"entity", "instance", "state", "reads"}`, the last two if known.

    `description`: the task's own description of what it made: fingerprint, storage, rows, bytes.
    """
    found = []
    for one in instances:
        report: dict[str, Any] = {
            "entity": one["entity"],
            "what": what,
            "instances": [one["instance"]],
            "ref": run.ref,
            "at": at.isoformat(),
            "key": f"{run.ref}#{run.id} {what} {one['instance']}",
        }
        if reason:
            report["reason"] = reason
        if what == "produced":
            report["future"] = True  # Airflow decides which interval a task makes
            report |= {
                name: description[name] for name in _DESCRIPTION if description and description.get(name) is not None
            }
            if one.get("state"):
                report["states"] = [one["state"]]
            if one.get("reads") is not None and seq is not None:
                report |= {"reads": one["reads"], "seq": seq}
            if code:
                report["code"] = code
        found.append(report)
    return found


def unwaited(makes: Sequence[Makes], instances: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the instances of a task that did not wait: the state is the one that its author names, the inputs are unknown."""
    return [
        {"entity": one.entity, "instance": instance, "state": one.state, "reads": None}
        for one in makes
        for instance in instances[one.entity]
    ]


def _part(text: str) -> str:
    return quote(text, safe=":+@=,")
