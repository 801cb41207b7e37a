"""Compiled classes that stay between programs: to compile takes longer than all else that capture does when a program begins.

A file in `compiled` of HEADWATER_HOME holds the classes of one source of ours, one build of Spark and one Java. It is used only if its folder and
itself are this user's, and if it is whole. Where nothing can be written, each program compiles.
"""

import hashlib
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.home import home, write_private

log = logging.getLogger("headwater")

_MOST_FILES = 8
_DIGEST_BYTES = 32
_decode = msgspec.msgpack.Decoder(dict[str, bytes]).decode


def file_for(*parts: str) -> Path:
    """Return the file of what these say, such as a source and the versions of what compiles it."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return home() / "compiled" / digest


def read(file: Path) -> dict[str, bytes] | None:
    """Return the classes by name; None if there are none, or another user may have written them, or they are not whole. Never raises."""
    try:
        with file.open("rb") as opened:
            if not (_is_own(os.fstat(opened.fileno())) and _is_own(file.parent.stat())):
                log.info("headwater capture: %s is not used: others may write it", file)
                return None
            content = opened.read()
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return _decode(body) if hashlib.sha256(body).digest() == digest else None
    except (OSError, RuntimeError, msgspec.MsgspecError):
        return None


def write(file: Path, classes: Mapping[str, bytes]) -> None:
    """Write the classes, whole or not at all, and remove the files that are oldest. Never raises."""
    body = msgspec.msgpack.encode(dict(classes))
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, hashlib.sha256(body).digest() + body)
        for old in sorted(file.parent.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)[_MOST_FILES:]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError) as problem:
        log.info("headwater capture: compiled classes are not written: %s", problem)


def _is_own(status: os.stat_result) -> bool:
    """Return whether this user alone may write what has this status."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
