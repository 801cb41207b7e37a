"""Fingerprints of a path or URL that may be a file or a folder; files of a folder are read in parallel."""

from __future__ import annotations

import os
import stat
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any

from headwater.client.fingerprint.content import fingerprint_of
from headwater.client.fingerprint.manifest import Entry, digest_of, left_out, trace_folder
from headwater.client.fingerprint.result import FOLDER, Fingerprint
from headwater.client.fingerprint.source import LocalSource, RemoteSource, Source, file_system
from headwater.errors import ContentChanged, HeadwaterError, NotFound, UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[int, int | None], object]

_SAY_EVERY = 0.1


def of_path(path: str | bytes, raw: bool, progress: Progress | None) -> Fingerprint:
    """Fingerprint a local file or folder."""
    if not os.path.isdir(path):  # noqa: PTH112 - a path may be bytes
        with LocalSource(path) as source:
            return _file_fingerprint(source, raw, progress)
    before = _walk(os.fsencode(path))
    files = [(name, size) for name, size, _ in before]

    def opened(name: bytes) -> Source:
        return LocalSource(os.path.join(os.fsencode(path), name))  # noqa: PTH118 - bytes

    found = _many(files, opened, raw, progress)
    if _walk(os.fsencode(path)) != before:
        raise ContentChanged(
            f"files in {os.fsdecode(path)} came, went or changed while it was read", path=os.fsdecode(path)
        )
    return found


def of_url(url: str, raw: bool, progress: Progress | None, storage: dict[str, Any] | None) -> Fingerprint:
    """Fingerprint an object, or all objects under a prefix."""
    try:
        return _of_url(url, raw, progress, storage)
    except HeadwaterError:
        raise
    except Exception as error:  # every store has its own errors: no credentials, no bucket, no network
        raise UnreadableContent(f"{url} cannot be read: {type(error).__name__}: {error}", path=url) from error


def _of_url(url: str, raw: bool, progress: Progress | None, storage: dict[str, Any] | None) -> Fingerprint:
    system, path = file_system(url, storage)
    is_file = system.isfile(path)
    found = {} if is_file else system.find(path, detail=True)
    if is_file:
        with RemoteSource(system, path, url) as source:
            return _file_fingerprint(source, raw, progress)
    if not found and not system.isdir(path):
        raise NotFound(f"there is no {url}", path=url)
    root = path.rstrip("/") + "/"
    places = {place.removeprefix(root).encode("utf-8", "surrogateescape"): place for place in found}
    files = sorted((name, int(found[place].get("size") or 0)) for name, place in places.items() if not left_out(name))

    def opened(name: bytes) -> Source:
        return RemoteSource(system, places[name], f"{url.rstrip('/')}/{name.decode('utf-8', 'replace')}")

    return _many(files, opened, raw, progress)


def _file_fingerprint(source: Source, raw: bool, progress: Progress | None) -> Fingerprint:
    size = source.size
    return fingerprint_of(source, raw=raw, progress=None if progress is None else lambda stored: progress(stored, size))


def _walk(root: bytes) -> list[tuple[bytes, int, int]]:
    """Return relative names, sizes and modification times of the files below, sorted.

    Links are followed, except into a parent folder.
    """

    def below(folder: bytes, prefix: bytes, inside: frozenset[tuple[int, int]]) -> Iterator[tuple[bytes, int, int]]:
        try:
            here = os.stat(folder)  # noqa: PTH116 - bytes
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise UnreadableContent(
                f"{os.fsdecode(folder)} cannot be read: {error.strerror}", path=os.fsdecode(folder)
            ) from None
        within = inside | {(here.st_dev, here.st_ino)}
        for entry in entries:
            try:
                about = entry.stat()
            except OSError as error:
                if left_out(entry.name):
                    continue
                name = os.fsdecode(entry.path)
                raise UnreadableContent(f"{name} cannot be read: {error.strerror}", path=name) from None
            if stat.S_ISDIR(about.st_mode):
                if not trace_folder(entry.name) and (about.st_dev, about.st_ino) not in within:
                    yield from below(entry.path, prefix + entry.name + b"/", within)
            elif left_out(entry.name):
                continue
            elif stat.S_ISREG(about.st_mode):
                yield prefix + entry.name, about.st_size, about.st_mtime_ns
            else:
                name = os.fsdecode(entry.path)
                raise UnreadableContent(f"{name} is neither a file nor a folder and has no content", path=name)

    return sorted(below(root, b"", frozenset()))


def _many(
    files: list[tuple[bytes, int]],
    opened: Callable[[bytes], Source],
    raw: bool,
    progress: Progress | None,
) -> Fingerprint:
    # Imported late: a single file does not need it, and its import takes as long as hashing 100 MB.
    from concurrent.futures import ThreadPoolExecutor, wait

    total, done, lock = sum(size for _, size in files), [0], Lock()

    def fingerprint_file(file: bytes) -> tuple[Entry, Fingerprint]:
        before = 0

        def say(stored: int) -> None:
            nonlocal before
            with lock:
                done[0] += stored - before
            before = stored

        try:
            with opened(file) as source:
                found = fingerprint_of(source, raw=raw, progress=say)
        except NotFound as error:
            raise ContentChanged(f"{error.message}; it existed a moment ago", **error.detail) from None
        return Entry(file, found.text), found

    entries, content, stored, ignored = [], 0, 0, 0
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8), "headwater-fingerprint") as pool:
        pending = deque(pool.submit(fingerprint_file, file) for file, _ in files)
        try:
            while pending:
                if progress is not None:
                    progress(done[0], total)
                    wait([pending[0]], _SAY_EVERY)
                    if not pending[0].done():
                        continue
                entry, found = pending.popleft().result()
                entries.append(entry)
                content += found.bytes or 0
                stored += found.stored_bytes or 0
                ignored += found.ignored
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if progress is not None:
        progress(stored, total)
    return Fingerprint(FOLDER + digest_of(entries), content, stored, "folder", members=len(entries), ignored=ignored)
