"""Edits that change no result or some columns of it: layout, and queries written in another way or cut into more models or fewer. Pure."""

from collections.abc import Callable, Mapping

from headwater.capture.dbt.model_settings import read_model_text
from headwater.cli.review.texts import built_as
from headwater.columns.catalog import table_key
from headwater.columns.project import AnalysedText, Text
from headwater.columns.result import TableName
from headwater.columns.shape.grouping import refused_groups
from headwater.columns.shape.proofs import ProvenQuery, TableProofs
from headwater.columns.shape.same_result import changed_columns, is_reordered, written_result
from headwater.columns.shape.sure_change import surely_changed, surely_other_rows
from headwater.columns.shape.words import words
from headwater.columns.shape.writing import WrittenQuery


class Rewrites:
    """Compares texts of two states. A model that one state alone has counts as a part of the texts that read it."""

    def __init__(self, old: Mapping[str, AnalysedText], new: Mapping[str, AnalysedText], dialect: str) -> None:
        self._dialect = dialect
        self._made = {table_key(one.text.target)[-1] for one in (*old.values(), *new.values()) if one.text.target}
        self._old, self._new = _models(old, new, dialect), _models(new, old, dialect)
        self._proofs = _shared_proofs(old, new)

    def is_same_result(self, old: Text, new: Text) -> bool:
        """Return whether both build the same, of the same words or provably with the same rows and columns, in the same order if there is one."""
        if built_as(old) != built_as(new):
            return False
        if words(old.text, self._dialect) == words(new.text, self._dialect):
            return True
        # A database compares what is selected with GROUP BY by its words.
        return not self.refused(old, new) and self._holds(old, new, lambda before, now: before == now)

    def refused(self, old: Text, new: Text) -> list[str]:
        """Return what the new text alone does that GROUP BY forbids, in words that go on from `it`."""
        return sorted(refused_groups(new.text, self._dialect) - refused_groups(old.text, self._dialect))

    def is_reordered(self, old: Text, new: Text) -> bool:
        """Return whether both build provably the same rows, perhaps in another order."""
        return built_as(old) == built_as(new) and self._holds(old, new, is_reordered)

    def changed_columns(self, old: Text, new: Text) -> frozenset[str] | None:
        """Return the columns, in lower case, that may differ where all else provably is the same; None if the rows may be other ones."""
        pairs = self._pairs(old, new) if old.view == new.view else None
        found = [changed_columns(*pair) for pair in pairs] if pairs else [None]
        return None if None in found else frozenset(name.lower() for one in found for name in one or ())

    def surely_changed(self, old: Text, new: Text) -> frozenset[str]:
        """Return the columns, in lower case, of the same rows that hold other values whatever the data are, save by chance."""
        pairs = (self._pairs(old, new) if old.view == new.view else None) or []
        return frozenset(name.lower() for pair in pairs for name in surely_changed(*pair))

    def surely_other_rows(self, old: Text, new: Text) -> bool:
        """Return whether the rows are other ones whatever the data are, save by chance."""
        pairs = (self._pairs(old, new) if old.view == new.view else None) or []
        return any(surely_other_rows(*pair, lambda name: name.lower() not in self._made) for pair in pairs)

    def _holds(self, old: Text, new: Text, test: Callable[[WrittenQuery, WrittenQuery], bool]) -> bool:
        pairs = self._pairs(old, new)
        return bool(pairs) and all(test(*pair) for pair in pairs or ())

    def _pairs(self, old: Text, new: Text) -> list[tuple[WrittenQuery, WrittenQuery]] | None:
        """Return the writings of both for each query of the text, without what proven facts make needless; None in doubt."""
        if self._proofs:
            was, becomes = ProvenQuery(self._proofs), ProvenQuery(self._proofs)
            pairs = self._write_pairs(old, new, was, becomes)
            # A database may refuse what the new text adds, even if it is needless.
            if pairs is None or becomes.refusable <= was.refusable:
                return pairs
        return self._write_pairs(old, new, None, None)

    def _write_pairs(
        self, old: Text, new: Text, before: ProvenQuery | None, now: ProvenQuery | None
    ) -> list[tuple[WrittenQuery, WrittenQuery]] | None:
        sides = [read_model_text(one.text, self._dialect) for one in (old, new)]
        if sides[0].settings != sides[1].settings:
            return None
        count = max(len(one.queries) for one in sides)
        was, becomes = (
            [
                written_result(one, self._dialect, models, proven)
                for one in (*side.queries, *side.queries[-1:] * (count - len(side.queries)))
            ]
            for side, models, proven in zip(sides, (self._old, self._new), (before, now), strict=True)
        )
        pairs = [(a, b) for a, b in zip(was, becomes, strict=True) if a is not None and b is not None]
        return pairs if len(pairs) == count else None


def _models(one: Mapping[str, AnalysedText], other: Mapping[str, AnalysedText], dialect: str) -> dict[TableName, str]:
    """Return the queries of models that `one` has and `other` has not, without those that are incremental."""
    found = {
        table_key(each.text.target): read_model_text(each.text.text, dialect)
        for identity, each in one.items()
        if each.text.target is not None and each.text.text and identity not in other
    }
    return {key: text.queries[0] for key, text in found.items() if not text.is_incremental}


def _shared_proofs(old: Mapping[str, AnalysedText], new: Mapping[str, AnalysedText]) -> dict[TableName, TableProofs]:
    """Return the facts of tables that hold before a change and after it."""
    before, now = (
        {table_key(one.text.target): one.text.proofs for one in side.values() if one.text.target and one.text.proofs}
        for side in (old, new)
    )
    return {key: shared for key in before.keys() & now.keys() if (shared := before[key] & now[key])}
