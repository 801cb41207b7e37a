"""Find out whether a job has imported a content before, for `step.once`.

There are two sources: the ledger, a file on this machine beside the spool, which answers at once and before the server has the event; and the
server, which covers other machines. Waits for a server at most `PATIENCE` seconds in all, and does not ask again one that just failed to answer.

The ledger is appended to by many processes: one JSON object per line, one write each. A torn line (a full disk, a power cut) does not count.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.client import config, event
from headwater.client.address import ENDPOINT
from headwater.model.moments import aware

if TYPE_CHECKING:
    from headwater.client.config import Destination

log = logging.getLogger("headwater")

PATIENCE = 2.0
_AGAIN = 30.0  # seconds before a server that did not answer is asked again: a loop over files must not wait for each
_MOST = 100  # runs kept as `overrides`


class AlreadyImported(msgspec.Struct, frozen=True, kw_only=True):
    """A content that the job has imported before: the run, its end (UTC, None if unknown), the dataset.

    `source`: `step` (this very step), `ledger` or `server`. `runs`: all known ones, the newest first.
    """

    fingerprint: str
    run_id: str
    at: datetime | None = None
    dataset: tuple[str, str] | None = None
    source: str
    runs: tuple[str, ...] = ()


class Import(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the ledger: a completed run of the job that read this content."""

    fingerprint: str
    namespace: str
    job: str
    run_id: str
    at: str
    dataset: tuple[str, str]
    bytes: int | None = None


class Unanswered(Exception):
    """The error if no server could be asked; has the reason."""


def ledger_path() -> Path:
    return config.destination(transport="spool").spool / "imports.ndjson"


def remember(imports: list[Import], path: Path | None = None) -> None:
    """Append to the ledger. Raises OSError if the disk does not accept it."""
    if not imports:
        return
    path = path or ledger_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Begins with a newline, which ends a torn line of another process.
    data = b"\n" + b"\n".join(msgspec.json.encode(each) for each in imports) + b"\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        written = os.write(fd, data)
    finally:
        os.close(fd)
    if written != len(data):
        raise OSError(f"only {written} of {len(data)} bytes were written to {path}")


def keep(imports: list[Import]) -> None:
    """Call `remember` without raising: a failure is one log line."""
    try:
        remember(imports)
    except OSError as error:
        log.warning("an import is not in the ledger, only on the server: %s", error)


def remembered(job: tuple[str, str], fingerprint: str, path: Path | None = None) -> list[Import]:
    """Return the job's imports of this content in the ledger, the newest first. Raises OSError if it cannot be read."""
    needle = fingerprint.encode()
    found = []
    try:
        with (path or ledger_path()).open("rb") as file:
            for line in file:
                if needle not in line:
                    continue
                try:
                    each = msgspec.json.decode(line, type=Import)
                except ValueError:
                    continue  # torn
                if each.fingerprint == fingerprint and (each.namespace, each.job) == job:
                    found.append(each)
    except FileNotFoundError:
        return []
    return found[::-1]


class _Run(msgspec.Struct):
    run_id: str
    ended_at: datetime | None = None
    dataset: Any = None


class _Answer(msgspec.Struct):
    runs: list[_Run]


def ask_server(job: tuple[str, str], fingerprint: str, destination: "Destination") -> list[_Run]:
    """Ask the server for the job's runs that imported this content, the newest first.

    Raises Unanswered if there is no server to ask, it does not answer within `PATIENCE` seconds, or it just failed to.
    """
    server = _server(destination)
    if server is None:
        raise Unanswered(f"events go to {destination.transport}, which cannot be asked")
    base, key = server
    if (until := _silent.get(base)) is not None and time.monotonic() < until[0]:
        raise Unanswered(until[1])
    # Not in the thread: a child forked meanwhile would inherit half a module.
    from headwater.client.ask import ask

    told: list[list[_Run] | Exception] = []
    # A thread, because socket timeouts bound neither a name look-up nor a server that answers byte by byte.
    asking = threading.Thread(
        target=_ask, args=(ask, base, key, job, fingerprint, told), name="headwater-once", daemon=True
    )
    asking.start()
    asking.join(PATIENCE)
    answer = told[0] if told else TimeoutError(f"{base} did not answer within {PATIENCE:g} s")
    if isinstance(answer, Exception):
        _silent[base] = (time.monotonic() + _AGAIN, str(answer))
        raise Unanswered(str(answer)) from answer
    _silent.pop(base, None)
    return answer


def earlier(
    job: tuple[str, str], fingerprint: str, destination: "Destination", *, whole: bool
) -> tuple[AlreadyImported | None, str | None]:
    """Return the job's newest known import of the content, and why a source could not be asked (None: all were, or it was not
    needed). With `whole`, ask the server even if the ledger has an import.
    """
    unknown = None
    found: AlreadyImported | None = None
    try:
        lines = remembered(job, fingerprint)
    except OSError as error:
        lines, unknown = [], f"the ledger cannot be read: {error}"
    if lines:
        found = AlreadyImported(
            fingerprint=fingerprint,
            run_id=lines[0].run_id,
            at=_moment(lines[0].at),
            dataset=lines[0].dataset,
            source="ledger",
            runs=tuple(dict.fromkeys(line.run_id for line in lines))[:_MOST],
        )
        if not whole:
            return found, None
    try:
        runs = ask_server(job, fingerprint, destination)
    except Unanswered as error:
        return found, str(error)
    if not runs:
        return found, unknown
    ids = tuple(dict.fromkeys([run.run_id for run in runs] + list(found.runs if found else ())))
    if found is not None:
        return msgspec.structs.replace(found, runs=ids[:_MOST]), None
    newest = runs[0]
    return AlreadyImported(
        fingerprint=fingerprint,
        run_id=newest.run_id,
        at=newest.ended_at,
        dataset=_dataset(newest.dataset),
        source="server",
        runs=ids[:_MOST],
    ), None


def _ask(
    ask: Callable[..., bytes],
    base: str,
    key: str | None,
    job: tuple[str, str],
    fingerprint: str,
    told: list[list[_Run] | Exception],
) -> None:
    try:
        asked = {"fingerprint": fingerprint, "namespace": job[0], "job": job[1]}
        reply = ask(base, "/api/v2/imports", asked, api_key=key, timeout=PATIENCE)
        told.append(msgspec.json.decode(reply, type=_Answer).runs)
    except Exception as error:  # noqa: BLE001 - carried to the thread that waits, and said there
        told.append(error)


_silent: dict[str, tuple[float, str]] = {}  # until when a server is not asked, and its failure


def _server(destination: "Destination") -> tuple[str, str | None] | None:
    """Return the Headwater server to ask: the configured one, else the first HTTP destination of events."""
    if named := os.environ.get("HEADWATER_IMPORTS_URL", "").strip():
        return named, os.environ.get("HEADWATER_API_KEY", "").strip() or None
    for each in destination.each:
        if each.transport == "http" and each.backend == "headwater":
            return each.url.removesuffix(f"/{ENDPOINT}"), each.api_key
    return None


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return aware(moment)


def _dataset(given: Any) -> tuple[str, str] | None:
    if isinstance(given, dict) and isinstance(given.get("namespace"), str) and isinstance(given.get("name"), str):
        return given["namespace"], given["name"]
    return None


def line(fingerprint: str, job: tuple[str, str], run_id: str, dataset: tuple[str, str], size: int | None) -> Import:
    """Return the ledger's line of an import that ends now."""
    return Import(fingerprint, *job, run_id, event.timestamp(), dataset, size)
