"""Whether a job has imported a content before: what `step.once` asks.

Two know: the ledger, a file of this machine beside the spool, which answers at once and before a server has heard; and the server, which knows
of other machines. Refuses to wait for a server longer than `PATIENCE` seconds, all in all, and to ask one again that did not answer a moment ago.

The ledger is appended to by many processes: one JSON object a line, one write each. A torn line (a full disk, a power cut) is no import.
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
    """A content that the job has imported before: by which run, when it ended (UTC, None if unknown), as which dataset.

    `source`: who knew, `step` (this very step), `ledger` or `server`. `runs`: all that are known, the newest first.
    """

    fingerprint: str
    run_id: str
    at: datetime | None = None
    dataset: tuple[str, str] | None = None
    source: str
    runs: tuple[str, ...] = ()


class Import(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the ledger: this run of the job read this content to its end."""

    fingerprint: str
    namespace: str
    job: str
    run_id: str
    at: str
    dataset: tuple[str, str]
    bytes: int | None = None


class Unanswered(Exception):
    """No server could be asked; says why."""


def ledger_path() -> Path:
    return config.destination(transport="spool").spool / "imports.ndjson"


def remember(imports: list[Import], path: Path | None = None) -> None:
    """Append to the ledger. Raises OSError when the disk does not take it."""
    if not imports:
        return
    path = path or ledger_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Begins with a newline: a torn line of another process ends there and costs no other line.
    data = b"\n" + b"\n".join(msgspec.json.encode(each) for each in imports) + b"\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        written = os.write(fd, data)
    finally:
        os.close(fd)
    if written != len(data):
        raise OSError(f"only {written} of {len(data)} bytes were written to {path}")


def keep(imports: list[Import]) -> None:
    """`remember`, for who must not notice: a ledger that takes nothing is one log line."""
    try:
        remember(imports)
    except OSError as error:
        log.warning("what was imported is not in the ledger, only the server will know of it: %s", error)


def remembered(job: tuple[str, str], fingerprint: str, path: Path | None = None) -> list[Import]:
    """The job's imports of this content in the ledger, the newest first. Raises OSError when the ledger cannot be read."""
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
    """The job's runs that imported this content, as the server knows them, the newest first.

    Raises Unanswered when there is no server to ask, it does not answer within `PATIENCE` seconds, or it did not a moment ago.
    """
    server = _server(destination)
    if server is None:
        raise Unanswered(f"events go to {destination.transport}, which answers no questions")
    base, key = server
    if (until := _silent.get(base)) is not None and time.monotonic() < until[0]:
        raise Unanswered(until[1])
    # Here and not in the thread: a child forked meanwhile would inherit half a module.
    from headwater.client.ask import ask

    told: list[list[_Run] | Exception] = []
    # A thread, because no timeout of a socket bounds the look-up of a name, or a server that answers byte by byte.
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
    """The newest import of the content by the job that is known, and why a source could not be asked (None: all were, or it was not
    needed). With `whole` the server is asked even where the ledger knows.
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


_silent: dict[str, tuple[float, str]] = {}  # until when a server is not asked, and what it did


def _server(destination: "Destination") -> tuple[str, str | None] | None:
    """The Headwater to ask: the one that is named for it, else the first that events go to over HTTP."""
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
    """The ledger's line of an import that ended now."""
    return Import(fingerprint, *job, run_id, event.timestamp(), dataset, size)
