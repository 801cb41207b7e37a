"""Restore instances from stored versions of Delta tables, and report them: `python -m headwater.runner.restoring FILE`, a job of
`executors/delta.py`.

It reads the table's log before Spark starts, and again afterwards. Each copy is one named commit, made once even if this is
started repeatedly: after a kill, the next start finds the commit and only reports it. Refuses to overwrite rows that changed since the
version that the server knows.
"""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headwater.capture.storage import delta
from headwater.capture.storage.reconciler import Server, path_of, portions
from headwater.client.reports import PATH, refusals
from headwater.client.retries import retry
from headwater.errors import HeadwaterError, InvalidQuestion, ServerUnavailable
from headwater.runner.executors.delta import Job
from headwater.runner.plans import Restore

_PATIENCE = 300.0  # seconds without an answer of the server: the next start reports what was restored


class _At(msgspec.Struct):
    named: list[str | None]


class _Patient(Server):
    """A server that is asked until it answers."""

    def say(self, path: str, body: object) -> bytes:
        end = time.monotonic() + _PATIENCE
        return retry(
            lambda: super(_Patient, self).say(path, body),
            passes=lambda error: isinstance(error, ServerUnavailable) and time.monotonic() <= end,
            pauses=itertools.repeat(2.0),
        )


class _Place(NamedTuple):
    """An instance's place in its table. `texts`: its time as in partition names; `where`: its rows, in SQL."""

    one: Restore
    table: str
    version: int
    texts: set[str]
    where: str
    name: str

    @property
    def current(self) -> int | None:
        """Return the version that the server knows."""
        said = self.one.current or {}
        found = said.get("delta_version") if said.get("table") == self.table else None
        return found if isinstance(found, int) else None


def restore(job: Job, server: Server) -> None:
    """Restore all instances of a job. HeadwaterError if one cannot be restored; those before it are restored and reported."""
    for one in job.restore:
        place = _place(job, one, server)
        columns = job.columns.get(one.entity)
        done = _changed(place, columns)
        if done is None:
            before = delta.times(place.table, columns).version
            _submit(job, place)
            done = _changed(place, columns, after=before)
            if done is None:
                raise InvalidQuestion(f"Spark ended, and {place.table} has no commit {place.name!r}", table=place.table)
        _report(job, place, done, server)


def _place(job: Job, one: Restore, server: Server) -> _Place:
    """Return the instance's partitions, in the present version and in the one that it goes back to."""
    table, version = str(one.storage.get("table")), one.storage.get("delta_version")
    if not isinstance(version, int):
        raise InvalidQuestion(f"{one.entity} is not kept in a Delta table: {one.storage}", entity=one.entity)
    columns = job.columns.get(one.entity)
    now, then = delta.times(table, columns), delta.times(table, columns, version)
    partitions = {
        text: [*now.partitions.get(text, []), *then.partitions.get(text, [])]
        for text in {*now.partitions, *then.partitions}
    }
    (instance,) = one.instances
    texts = set()
    for some in portions(sorted(partitions)):
        named = msgspec.json.decode(server.say(path_of(one.entity, "instances/at"), {"texts": some}), type=_At).named
        texts |= {text for text, name in zip(some, named, strict=True) if name == instance}
    if not texts & set(then.partitions):
        raise InvalidQuestion(f"version {version} of {table} has no partition for {one.entity} {instance}", table=table)
    clauses = {
        " AND ".join(
            f"`{column}` = {_literal(table, column, value, now.types)}" for column, value in sorted(values.items())
        )
        for text in texts
        for values in partitions[text]
    }
    where = " OR ".join(f"({clause})" for clause in sorted(clauses))
    name = f"headwater server restore {job.plan} {job.number} {one.entity} {instance} {one.version}"
    return _Place(one, table, version, texts, where, name)


def _literal(table: str, column: str, value: str, types: dict[str, str]) -> str:
    type_ = types.get(column, "string")
    if type_ in {"byte", "short", "integer", "long"}:
        return str(int(value))
    if type_ not in {"string", "date"}:
        raise InvalidQuestion(
            f"partitions of {table} are by {column}, a {type_}; only tables partitioned by texts, dates or whole numbers can be restored",
            table=table,
            column=column,
        )
    text = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text if type_ == "string" else f"DATE{text}"


def _changed(place: _Place, columns: str | None, after: int | None = None) -> int | None:
    """Return the version that restored it, if any. InvalidQuestion if its rows changed otherwise since the version that the server knows, or
    meanwhile.
    """
    since = after if after is not None else place.current
    if since is None:
        return None
    done = None
    for commit in delta.commits(place.table, since, columns):
        if commit.note == place.name:
            done = commit.version
        elif commit.texts & {*place.texts, None}:
            what = "was overwritten while it was restored" if after is not None else "is not what the server knows"
            raise InvalidQuestion(
                f"{place.one.entity} {place.one.instances[0]} {what}: version {commit.version} of {place.table} changed its rows; "
                "report that version, or reconcile, and make a new plan",
                table=place.table,
                version=commit.version,
            )
    return done


def _submit(job: Job, place: _Place) -> None:
    copy_request = {
        "table": place.table,
        "version": place.version,
        "where": place.where,
        "name": place.name,
        "rows": place.one.rows,
    }
    command = [
        *job.spark_submit,
        str(Path(__file__).with_name("restore_delta.py")),
        msgspec.json.encode(copy_request).decode(),
    ]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode != 0:
        raise InvalidQuestion(
            f"{job.spark_submit[0]} ended with {ended.returncode}; its output is above", table=place.table
        )


def _report(job: Job, place: _Place, version: int, server: Server) -> None:
    one = place.one
    checked = "" if place.current is not None else "; the version before was unknown and not checked"
    report: dict[str, Any] = {
        "entity": one.entity,
        "what": "produced",
        "instances": one.instances,
        "ref": job.run,
        "key": place.name,
        "future": True,
        "reason": f"restored from version {place.version} of {place.table}{checked}",
        "storage": {**one.storage, "delta_version": version, "restored_from": one.restored_from},
        **{
            name: getattr(one, name)
            for name in ("seq", "reads", "code", "fingerprint", "states", "rows", "bytes", "right")
        },
    }
    (refused,) = refusals(server.say(PATH, {"reports": [report]}))
    if refused is not None:
        raise InvalidQuestion(f"the server refuses the report: {refused}", entity=one.entity)


def main(path: str) -> int:
    """Run the job. The last line of output is the result, as with `headwater run --json`."""
    job = msgspec.json.decode(Path(path).read_bytes(), type=Job)
    error = None
    try:
        restore(job, _Patient(os.environ["HEADWATER_URL"], os.environ.get("HEADWATER_API_KEY")))
    except (HeadwaterError, OSError) as wrong:
        error = str(wrong)
    sys.stdout.write(f"{msgspec.json.encode({'run_id': job.run, 'error': error}).decode()}\n")
    return 0 if error is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
