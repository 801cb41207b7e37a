"""Prepare the next pieces in a thread while one is used: reading, decompressing and hashing all release the interpreter's lock."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

Piece = TypeVar("Piece")
_PATIENCE = 0.05  # seconds between checks whether the reader still needs pieces


@contextmanager
def ahead(pieces: Iterator[Piece], depth: int = 3) -> Generator[Iterator[Piece], None, None]:
    """Yield the same pieces from a thread that is at most `depth` pieces ahead. An error is raised in place of its piece.

    The thread has ended when the block is left, also after an error.
    """
    queue: Queue[tuple[bool, Piece | None, BaseException | None]] = Queue(depth)
    unwanted = Event()

    def put(item: tuple[bool, Piece | None, BaseException | None]) -> None:
        while not unwanted.is_set():
            with suppress(Full):
                queue.put(item, timeout=_PATIENCE)
                return

    def make() -> None:
        try:
            for piece in pieces:
                put((True, piece, None))
                if unwanted.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - raised again in the reader
            put((False, None, error))
        else:
            put((False, None, None))

    def taken() -> Iterator[Piece]:
        while True:
            more, piece, error = queue.get()
            if not more:
                if error is not None:
                    raise error
                return
            yield piece  # type: ignore[misc]  # there is one whenever there is more

    thread = Thread(target=make, name="headwater-fingerprint", daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        unwanted.set()
        with suppress(Empty):
            while True:
                queue.get_nowait()
        thread.join()
