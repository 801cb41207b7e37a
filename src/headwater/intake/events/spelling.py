"""Spell the columns of lineage as the schemas of the same event do. Pure.

A database tells a producer `CUSTOMER`; the producer's SQL parser reads `customer` out of the text, and its columnLineage facet names that. Without
this they are two columns, and lineage ends between them. Only an event's own schemas count: the order of events changes nothing.
"""

import msgspec

from headwater.intake.events.facets import FacetDecoder, is_deleted
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import DatasetReport, Event
from headwater.model.facets import Field
from headwater.model.lineage import ColumnInput
from headwater.model.names import DatasetName, JobName

# A column in lower case, to its spelling; the spellings themselves lead to themselves. None: several columns differ by case alone.
_Spelling = dict[str, str | None]
_Inputs = dict[str, list[ColumnInput]]


class Spellings:
    """The spellings of columns by the schemas of one event's datasets."""

    def __init__(self, event: Event, decoder: FacetDecoder) -> None:
        self._decoder = decoder
        own = [event.dataset] if event.dataset is not None else []
        self._bodies: dict[DatasetName | JobName, msgspec.Raw] = {
            report.name: report.facets["schema"]
            for report in (*event.outputs, *event.inputs, *own)
            if "schema" in report.facets
        }

    def columns_of(
        self, report: DatasetReport, columns: ColumnSet, without: frozenset[DatasetName] = frozenset()
    ) -> ColumnSet:
        """Return the set of this dataset's columnLineage facet, which is `columns` as the facet spells it. `without`: sources whose fields go."""
        if not self._bodies and not without:
            return columns

        def respell(body: bytes) -> ColumnSet:
            told = self._decoder.decode("column_lineage", body)[0]
            inputs = told
            if without:
                inputs = {name: some for name, some in told.items() if not any(one.source in without for one in some)}
            spelled = self.spelled(report.name, inputs)
            return columns if spelled is told else column_set(spelled, self._decoder.identity)

        # Producers send the same with every run, and a look at each of hundreds of columns takes longer than all else.
        schemas = tuple((name, self._decoder.content(bytes(body))[0]) for name, body in self._bodies.items())
        kind = "spelled", report.name, schemas, without
        found: ColumnSet = self._decoder.cache(kind, bytes(report.facets["columnLineage"]), respell)
        return found

    def spelled(self, target: DatasetName | JobName | None, inputs: _Inputs) -> _Inputs:
        """Return the inputs of a target's fields with all columns spelled as the schemas do: the same object if they are."""
        known = {name: self._of(name) for name in {target, *(one.source for some in inputs.values() for one in some)}}
        fields = known[target]
        changed = False
        found: _Inputs = {}
        for field, some in inputs.items():
            name = _as_known(field, fields)
            written = [_source_as_known(one, known[one.source]) for one in some]
            changed = changed or name != field or any(a is not b for a, b in zip(some, written, strict=True))
            found.setdefault(name, []).extend(written)
        return found if changed else inputs

    def _of(self, name: DatasetName | JobName | None) -> _Spelling:
        body = None if name is None else self._bodies.get(name)
        if body is None or is_deleted(bytes(body)):
            return {}
        return self._decoder.cache("spelling", bytes(body), self._decoded)  # type: ignore[no-any-return]

    def _decoded(self, body: bytes) -> _Spelling:
        fields: list[Field] = self._decoder.decode("schema", body)[0] or []
        found: _Spelling = {}
        for field in fields:
            small = field.name.lower()
            found[small] = None if found.get(small, field.name) != field.name else field.name
        return found | {field.name: field.name for field in fields}


def _as_known(field: str, known: _Spelling) -> str:
    return known.get(field) or known.get(field.lower()) or field


def _source_as_known(one: ColumnInput, known: _Spelling) -> ColumnInput:
    name = _as_known(one.field, known)
    return one if name == one.field else ColumnInput(one.source, name, one.transformations)
