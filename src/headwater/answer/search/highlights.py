"""The reasons for which a dataset or job matches a search: the texts of it that have the words, and the places of the words."""

from collections.abc import Iterable, Sequence

import msgspec

from headwater.answer.search.question import Question, Run
from headwater.model import words
from headwater.model.described import Described
from headwater.model.names import DatasetName

_AROUND, _MOST_TEXT, _MOST_COLUMNS = 80, 100_000, 5


class Highlight(msgspec.Struct):
    """A text and the parts of it that were meant: `marks` are [start, end) in characters. Long texts are cut, with … where."""

    field: str
    text: str
    marks: list[tuple[int, int]]


def of_node(
    question: Question, namespace: str, name: str, aliases: Sequence[DatasetName], about: Described
) -> list[Highlight]:
    """Return the highlights by field, in the order name, column, tag, owner, namespace, description, sql; the columns
    with most of the words first."""
    found = [_marked("name", name, question.runs)]
    if not found[0].marks:
        found += [_marked("name", f"{alias.namespace}:{alias.name}", question.runs) for alias in aliases]
    wanted = words.fold(question.text.strip())
    columns = [(_marked("column", column, question.runs), column) for column, _ in about.columns]
    ranked = sorted(
        (one for one in columns if one[0].marks),
        key=lambda one: (words.fold(one[1]) != wanted, -len(_met(one[1], question.runs)), len(one[1])),
    )
    found += [highlight for highlight, _ in ranked[:_MOST_COLUMNS]]
    found += [_marked("tag", tag, question.runs) for tag in about.tags]
    found += [_marked("owner", owner, question.runs) for owner in about.owners]
    found.append(_marked("namespace", namespace, question.runs))
    if about.description:
        found.append(_marked("description", about.description, question.runs))
    for column, text in about.columns:
        if text and (one := _marked("description", text, question.runs)).marks:
            ahead = len(column) + 2
            found.append(
                Highlight("description", f"{column}: {one.text}", [(a + ahead, b + ahead) for a, b in one.marks])
            )
    if about.sql:
        found.append(_marked("sql", about.sql, question.runs))
    described = 0
    kept = []
    for one in found:
        if one.marks:
            described += one.field == "description"
            if one.field != "description" or described <= _MOST_COLUMNS:
                kept.append(one)
    return kept


def _marked(field: str, text: str, runs: Iterable[Run]) -> Highlight:
    text = text[:_MOST_TEXT]
    places = sorted(_places(text, list(runs)))
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    if field in {"description", "sql"} and merged and len(text) > 3 * _AROUND:
        return _snippet(field, text, merged)
    return Highlight(field, text, merged)


def _places(text: str, runs: list[Run]) -> set[tuple[int, int]]:
    found = set()
    exactly = {one for run in runs for one in run.spellings()}
    begins = tuple(one for run in runs if run.prefix for one in run.spellings())
    for piece in words.pieces(text):
        if piece.word in exactly:
            found.add((piece.start, piece.end))
        elif begins and piece.word.startswith(begins):
            longest = max(len(one) for one in begins if piece.word.startswith(one))
            found.add((piece.start, min(piece.end, piece.start + longest)))
    return found


def _met(text: str, runs: Sequence[Run]) -> set[int]:
    """Return the indexes of the runs that stand in the text."""
    return {place for place, run in enumerate(runs) if _places(text, [run])}


def _snippet(field: str, text: str, marks: list[tuple[int, int]]) -> Highlight:
    """The text around its first mark."""
    start, end = max(0, marks[0][0] - _AROUND), min(len(text), marks[0][1] + _AROUND)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    moved = [(a - start + len(before), min(b, end) - start + len(before)) for a, b in marks if start <= a < end]
    return Highlight(field, f"{before}{text[start:end]}{after}", moved)
