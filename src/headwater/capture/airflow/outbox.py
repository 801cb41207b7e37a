"""Delivery of reports: tried for a while, then stored in a folder until the next report from this machine.

The folder is that of the client's spool (`HEADWATER_SPOOL`), in `reports/`: one file per set of reports of a task. The server
ignores a report that arrives twice, so files are not locked. Never raises: a task does not fail because the server is unavailable.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.capture.airflow.config import Config
from headwater.client.ask import ask
from headwater.client.reports import PATH, refusals
from headwater.client.retries import retry
from headwater.errors import HeadwaterError

log = logging.getLogger("headwater")

_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
_AT_ONCE = 1000
_OLD_AT_ONCE = 100  # files of other tasks that one task sends, since it occupies a slot meanwhile


def deliver(
    config: Config, reports: Sequence[dict[str, Any]], *, sleep: Callable[[float], None] = time.sleep, keep: bool = True
) -> bool:
    """Send reports. True if the server has accepted or permanently refused them all; refusals are logged. Otherwise they are stored, if `keep`."""
    for start in range(0, len(reports), _AT_ONCE):
        part = reports[start : start + _AT_ONCE]
        if not _sent(config, part, _PAUSES if keep else (), sleep):
            if keep:
                _keep(config.outbox, reports[start:])
            return False
    flush(config)
    return True


def flush(config: Config) -> int:
    """Send stored reports, the oldest first, until a delivery fails. Return the number of files sent."""
    try:
        kept = sorted(config.outbox.glob("*.json"), key=lambda path: path.name)[:_OLD_AT_ONCE]
    except OSError:
        return 0
    done = 0
    for path in kept:
        try:
            reports = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
        except FileNotFoundError:  # another task sent it
            continue
        except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
            log.warning("headwater: %s cannot be read and stays: %s", path, error)
            continue
        if not _sent(config, reports, (), time.sleep):
            break
        path.unlink(missing_ok=True)
        done += 1
    return done


def _sent(
    config: Config, reports: Sequence[dict[str, Any]], pauses: Sequence[float], sleep: Callable[[float], None]
) -> bool:
    body = msgspec.json.encode({"reports": reports})

    def may_pass(error: Exception) -> bool:
        if isinstance(error, HeadwaterError) and error.permanent:
            return False
        why = (
            error.message if isinstance(error, HeadwaterError) else f"{config.url} returns an unexpected body: {error}"
        )
        log.warning("headwater could not deliver reports: %s", why)
        return isinstance(error, HeadwaterError | msgspec.DecodeError)

    try:
        refused = retry(
            lambda: refusals(ask(config.url, PATH, api_key=config.api_key, timeout=10.0, method="POST", body=body)),
            passes=may_pass,
            pauses=pauses,
            sleep=sleep,
        )
    except HeadwaterError as error:
        if error.permanent:
            log.error("headwater refused %d reports: %s", len(reports), error.message)
        return error.permanent
    except msgspec.DecodeError:
        return False
    for report, why in zip(reports, refused, strict=False):
        if why is not None:
            log.error("headwater refused %s of %s: %s", report["what"], report["entity"], why)
    return True


def _keep(folder: Path, reports: Sequence[dict[str, Any]]) -> None:
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f".{name}").write_bytes(msgspec.json.encode(reports))
        os.replace(folder / f".{name}", folder / f"{name}.json")  # noqa: PTH105 - a reader never sees half a file
    except OSError as error:
        log.error("headwater could not deliver reports, and %s cannot store them: %s: %s", folder, error, reports)
        return
    log.warning("headwater could not deliver reports; %d wait in %s for the next task here", len(reports), folder)
