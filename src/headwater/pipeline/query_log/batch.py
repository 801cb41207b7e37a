"""The batches of a sync: some files, all that fit a bound, and the stages done with them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Self

import msgspec

from headwater.errors import InvalidQuestion
from headwater.pipeline.folder import InputFile
from headwater.pipeline.tables import Consumed

BATCH_FILES: Final = 2_000
BATCH_BYTES: Final = 4 << 30
STATE: Final = "batch"


@dataclass(frozen=True, slots=True)
class Asked:
    """The input that a sync is asked to import. `since` (from then on) and `until` (before then) are times with a zone; None: no bound."""

    source: str
    inputs: tuple[str, ...]
    namespace: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    batch_files: int = BATCH_FILES
    batch_bytes: int = BATCH_BYTES

    def __post_init__(self) -> None:
        if self.since and self.until and self.since >= self.until:
            raise InvalidQuestion(
                f"--since {self.since.isoformat()} is not before --until {self.until.isoformat()}", parameter="since"
            )


class Batch(msgspec.Struct, kw_only=True):
    """A batch under way, as the store's state keeps it. `days`: rows landed of each day; `records`: executions that the
    files tell of, `outside` of them past the time that was asked for, `skipped` those of no execution; `reasons`: unusable ones by
    code; `done`: the stages that are committed."""

    number: int
    batches: int
    source: str
    namespace: str | None = None
    files: list[str] = []
    since: str | None = None
    until: str | None = None
    records: int = 0
    rows: int = 0
    outside: int = 0
    skipped: int = 0
    reasons: dict[str, int] = {}
    quarantined: int = 0
    days: dict[str, int] = {}
    done: list[str] = []

    @classmethod
    def of(cls, state: dict[str, Any]) -> Self | None:
        """The batch that was begun and not ended, if there is one."""
        return msgspec.convert(state[STATE], cls) if state.get(STATE) else None

    def put(self, state: dict[str, Any]) -> None:
        state[STATE] = msgspec.to_builtins(self)

    def touched(self) -> list[date]:
        return sorted(date.fromisoformat(day) for day in self.days)


def moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()


def unconsumed(
    files: Iterable[InputFile], ledger: Iterable[Consumed], asked: Asked, reading: int = 0
) -> list[InputFile]:
    """The files that were not imported yet, or only for a part of time that does not cover the one asked for now, or by earlier settings.

    A file that changed since is another file: its rows that were known already change nothing.
    """
    covered: dict[tuple[str, int, int], list[Consumed]] = {}
    for entry in ledger:
        if entry.source == asked.source and entry.reading == reading:
            covered.setdefault((entry.path, entry.size, entry.modified), []).append(entry)
    return [
        file
        for file in files
        if not any(_covers(entry, asked) for entry in covered.get((file.path, file.size, file.modified), ()))
    ]


def _covers(entry: Consumed, asked: Asked) -> bool:
    from_early_enough = entry.since is None or (
        asked.since is not None and datetime.fromisoformat(entry.since) <= asked.since
    )
    to_late_enough = entry.until is None or (
        asked.until is not None and datetime.fromisoformat(entry.until) >= asked.until
    )
    return from_early_enough and to_late_enough


def windows(
    files: Sequence[InputFile], most_files: int, most_bytes: int, first_bytes: int | None = None
) -> Iterator[list[InputFile]]:
    """The files in their order, cut so that no window has more files or, but for one larger file, more bytes. `first_bytes`: bound of the first."""
    most = most_bytes if first_bytes is None else first_bytes
    window: list[InputFile] = []
    size = 0
    for file in files:
        if window and (len(window) >= most_files or size + file.size > most):
            yield window
            window, size, most = [], 0, most_bytes
        window.append(file)
        size += file.size
    if window:
        yield window
