"""Import once: the decision of `Step.once`, from a content's fingerprint and its imports in `headwater.client.imports`.

Only a completed step counts: the ledger's line is written after the final event, and a step that fails leaves none. Two steps that import
the same content at the same moment both do it: neither waits for the other.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from headwater.client import imports
from headwater.client.entries import Entry
from headwater.client.imports import AlreadyImported, Import
from headwater.client.item import Item
from headwater.client.output import emitter
from headwater.errors import InvalidQuestion, ServerUnavailable


class Importing(Protocol):
    """A step as this module needs it: `headwater.client.recording.Step`."""

    id: str

    @property
    def job(self) -> tuple[str, str]: ...

    @property
    def running(self) -> bool: ...

    def sources(self, source: Any) -> list[Item]: ...

    def input(self, source: Any) -> Item | None: ...

    def imports(self, fingerprint: str) -> bool: ...

    def imported(self, item: Item, runs: Iterable[str], line: Import, *, forced: bool) -> None: ...

    def skipped(self, item: Item, run_id: str) -> None: ...

    def say(self, what: str, error: BaseException) -> None: ...


def once(step: Importing, source: Any, *, force: bool, strict: bool) -> AlreadyImported | None:
    """Decide for `Step.once`. Raises only with `strict`."""
    try:
        if not step.running:
            raise RuntimeError("no step is running")
        item = _content(step, source)
    except Exception as error:
        if strict:
            raise
        step.say("once", error)
        step.input(source)
        return None
    fingerprint = item.fingerprint or ""
    known: AlreadyImported | None = None
    why: str | None = None
    try:
        if step.imports(fingerprint) and not force:
            known = AlreadyImported(fingerprint=fingerprint, run_id=step.id, source="step", runs=(step.id,))
        else:
            known, why = imports.earlier(step.job, fingerprint, emitter().destination, whole=force)
    except Exception as error:  # noqa: BLE001 - lineage must not end the host's work
        why = f"{type(error).__name__}: {error}"
    if known is not None and not force:
        step.skipped(item, known.run_id)
        return known
    if known is None and why is not None and not force:
        message = f"whether {item.place} was imported before is unknown: {why}"
        if strict:
            raise ServerUnavailable(message)
        step.say("once", ServerUnavailable(message))
    line = imports.line(fingerprint, step.job, step.id, item.dataset, item.bytes)
    step.imported(item, known.runs if known else (), line, forced=force)
    return None


def _content(step: Importing, source: Any) -> Item:
    """Return the only item, with the fingerprint of its content."""
    found = step.sources(source)
    if len(found) != 1:
        many = f"is {len(found)} things to read; ask for each of them" if found else "cannot be read"
        raise InvalidQuestion(f"{source!r} {many}")
    item = found[0]
    if item.fingerprint is None:
        Entry(item).measure()
    return item
