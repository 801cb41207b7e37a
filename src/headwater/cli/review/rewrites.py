"""Edits that change no result: comments and layout, and queries written in another way or cut into more models or fewer. Pure."""

from collections.abc import Mapping

from headwater.cli.review.texts import built_as
from headwater.columns.catalog import table_key
from headwater.columns.project import AnalysedText, Text
from headwater.columns.result import TableName
from headwater.columns.shape.same_result import written_result
from headwater.columns.shape.words import words


class Rewrites:
    """Compares texts of two states. A model that one state alone has counts as a part of the texts that read it."""

    def __init__(self, old: Mapping[str, AnalysedText], new: Mapping[str, AnalysedText], dialect: str) -> None:
        self._dialect = dialect
        self._old, self._new = _models(old, new), _models(new, old)

    def is_same_result(self, old: Text, new: Text) -> bool:
        """Return whether both build the same, of the same words or provably with the same rows and columns."""
        if built_as(old) != built_as(new):
            return False
        if words(old.text, self._dialect) == words(new.text, self._dialect):
            return True
        before = written_result(old.text, self._dialect, self._old)
        return before is not None and before == written_result(new.text, self._dialect, self._new)


def _models(one: Mapping[str, AnalysedText], other: Mapping[str, AnalysedText]) -> dict[TableName, str]:
    """Return the texts of models that `one` has and `other` has not."""
    return {
        table_key(each.text.target): each.text.text
        for identity, each in one.items()
        if each.text.target is not None and each.text.text and identity not in other
    }
