"""Leave undelivered events in a file system of Hadoop (`s3a://`, `gs://`, `abfs://`, `hdfs://`), for a driver whose disk vanishes with it.

What is left when the program ends goes into one file. The next program with the same setting sends it, and deletes the file once all of it is
delivered or left again: nothing is lost in between, and what is sent twice the server stores once. Needs the JVM, but no session: it works after
`spark.stop()`.
"""

import logging
import os
import uuid
from pathlib import Path
from typing import Any

from headwater.client.address import Destination
from headwater.client.spool import HEADER_SIZE, SUFFIX

log = logging.getLogger("headwater")

_ENDING = ".ndjson"
_MOST_FILES = 1000
"""Files of ended programs that one program takes over."""
_CHECKSUM = 9
"""The characters of a spooled record before its event."""


class RemoteSpool:
    """The folder `place` of a file system that the JVM knows. `emitter`: the client's."""

    def __init__(self, sc: Any, place: str, emitter: Any) -> None:
        self._jvm = sc._jvm
        self._conf = sc._jsc.hadoopConfiguration()
        self._application = str(sc.applicationId)
        self._place = place.rstrip("/")
        self._emitter = emitter
        self._taken: list[Any] = []

    def collect(self) -> None:
        """Emit what ended programs left for the same destinations."""
        folder = self._path(self._place)
        files = folder.getFileSystem(self._conf)
        if not files.exists(folder):
            return
        marks = tuple(f"{one.mark}-" for one in self._destinations())
        for status in list(files.listStatus(folder))[:_MOST_FILES]:
            path = status.getPath()
            name = str(path.getName())
            if not (name.endswith(_ENDING) and name.startswith(marks)):
                continue
            stream = files.open(path)
            try:
                content = bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
            for line in content.splitlines():
                self._emitter.emit_encoded(lambda line=line: line)
            self._taken.append(path)

    def leave(self, seconds: float | None = None) -> None:
        """End the emitter, which waits for its server as always, or `seconds`; write what it could not deliver; delete what was taken over."""
        self._emitter.close(seconds)
        for one in self._destinations():
            if lines := _undelivered(one):
                self._write(f"{one.mark}-{self._application}-{uuid.uuid4().hex}", b"".join(lines))
        for path in self._taken:
            path.getFileSystem(self._conf).delete(path, False)
        self._taken.clear()

    def _write(self, name: str, content: bytes) -> None:
        part, whole = self._path(f"{self._place}/{name}.part"), self._path(f"{self._place}/{name}{_ENDING}")
        files = part.getFileSystem(self._conf)
        stream = files.create(part)
        try:
            stream.write(content)
        finally:
            stream.close()
        files.rename(part, whole)
        log.info("headwater capture: %d bytes of events are left in %s", len(content), whole.toString())

    def _destinations(self) -> list[Destination]:
        return [one for one in self._emitter.destination.each if one.remote]

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)


def _undelivered(destination: Destination) -> list[bytes]:
    """Return the events, each a line, that this process has for a destination and has not delivered. Its emitter is closed."""
    ending = f"-{os.getpid()}-{destination.mark}{SUFFIX}"
    found: list[bytes] = []
    for path in sorted(Path(destination.spool).glob(f"*{ending}")):
        content = path.read_bytes()
        header = content[: HEADER_SIZE - 1]
        sent = int(header) if header.strip().isdigit() else HEADER_SIZE
        found += [line[_CHECKSUM:] + b"\n" for line in content[max(sent, HEADER_SIZE) :].splitlines()]
    return found
