"""A draft as YAML that a person reads, corrects and keeps: each thing that was inferred has beside it from what, and how sure it is. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headwater.entities.inference.cut import Confidence

_PLAIN = re.compile(r"[A-Za-z_/][\w./:@$+=-]*(?: [\w./:@$+=][\w./:@$+=-]*)*", re.ASCII)
_LONGEST = 10_000
_DATE_OR_LENGTH = re.compile(r"\d{4}-\d\d-\d\d|\d+[a-z]+", re.ASCII)
_NOT_TEXT = re.compile(r"(?i:yes|no|on|off|true|false|null|y|n)|.*:(?: .*)?", re.ASCII)


class Need(NamedTuple):
    """A dependency of a draft. `dates` None: what the kind needs anyway. `left_out`: why it is only a comment. `upstream`: an entity's name, or of
    what is left out for want of one a dataset's node id.
    """

    upstream: str
    dates: str | None = None
    evidence: str = ""
    confidence: Confidence | None = None
    left_out: str = ""


class Draft(NamedTuple):
    """An entity as YAML has it. `said`: other words, each a text, a list of texts or a mapping of texts. `notes`: what a person should know first."""

    name: str
    period: Mapping[str, str]
    evidence: str
    confidence: Confidence
    kind: str = "timeseries"
    window: str = ""
    said: Mapping[str, str | list[str] | Mapping[str, str]] = {}
    needs: tuple[Need, ...] = ()
    notes: tuple[str, ...] = ()


def written(draft: Draft) -> str:
    """Return one document of YAML, without the line between documents."""
    return "".join(f"{line}\n" for line in _lines(draft))


def document(draft: Draft) -> dict[str, object]:
    """The same as the reader of declarations has it, without what is left out."""
    needs = [each for each in draft.needs if not each.left_out]
    found: dict[str, object] = {"entity": draft.name, "period": dict(draft.period), **draft.said}
    if draft.kind != "timeseries":
        found["kind"] = draft.kind
    if draft.window:
        found["window"] = draft.window
    if needs:
        found["depends_on"] = [each.upstream if each.dates is None else {each.upstream: each.dates} for each in needs]
    return found


def readable(text: str) -> str:
    """The text as declarations take texts: one line, all of it printable, not longer than they may be."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:_LONGEST].strip()


def commented(text: str) -> str:
    """The text as a comment of one line."""
    return f"# {readable(text)}"


def _lines(draft: Draft) -> Iterator[str]:
    yield f"entity: {_scalar(draft.name)}"
    for word in ("description", "owner", "tags"):
        if word in draft.said:
            yield f"{word}: {_value(draft.said[word])}"
    for note in draft.notes:
        yield commented(note)
    yield commented(f"from {draft.evidence}; confidence {draft.confidence}")
    yield f"period: {_value(draft.period) if set(draft.period) != {'every'} else _scalar(draft.period['every'])}"
    if draft.kind != "timeseries":
        yield f"kind: {draft.kind}"
    if draft.window:
        yield f"window: {draft.window}"
    for word in ("produced_by", "stored_in"):
        if word in draft.said:
            yield f"{word}: {_value(draft.said[word])}"
    if not draft.needs:
        return
    yield "depends_on:" if any(not each.left_out for each in draft.needs) else "# depends_on:"
    for each in draft.needs:
        yield f"  {_need(each)}"


def _need(need: Need) -> str:
    name = _scalar(need.upstream)
    if need.left_out:
        return commented(
            f"- {need.upstream if need.dates is None else f'{need.upstream}: {need.dates}'}  # {need.left_out}"
        )
    told = f"- {name}" if need.dates is None else f"- {name}: {need.dates}"
    why = f"{need.evidence}; confidence {need.confidence}" if need.confidence else need.evidence
    return f"{told}  {commented(why)}" if why else told


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(str(key))}: {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(str(each)) for each in value) + "]"
    return _scalar(str(value))


def _scalar(text: str) -> str:
    """Return the text bare if YAML reads it as the same text, otherwise in double quotes."""
    if (_PLAIN.fullmatch(text) and not _NOT_TEXT.fullmatch(text)) or _DATE_OR_LENGTH.fullmatch(text):
        return text
    return '"' + "".join(_quoted(char) for char in text) + '"'


def _quoted(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
