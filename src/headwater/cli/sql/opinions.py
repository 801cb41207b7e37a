"""The columns of a dbt project about which Headwater and dbt v2 disagree."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from headwater.capture.dbt.second_opinion import VALUE_KINDS, opinion_file, read_opinion, through
from headwater.cli.sql.reading import Reading
from headwater.cli.sql.statements import ParsedStatement, name
from headwater.errors import InvalidQuestion

_COPY, _MOD = "copy", "mod"
_Place = tuple[str, str, str, str]


class Difference(NamedTuple):
    """`dbt`, `headwater`: how each says that the value is used, `copy` or `mod`; "" if it says that the column feeds no value there."""

    target: str
    target_column: str
    source: str
    source_column: str
    dbt: str
    headwater: str


class Comparison(NamedTuple):
    """`agreed`: edges of values that both have, of one kind. `not_analysed`: models of which dbt says nothing."""

    agreed: int
    differences: list[Difference]
    not_analysed: list[str]


def compare(found: Iterable[ParsedStatement], reading: Reading, paths: Sequence[str]) -> Comparison:
    """Compare the columns whose values flow. Raises InvalidQuestion where there is no dbt project, no manifest or no table of dbt's."""
    reported = next((one.reported for one in reading.dbt if one.reported is not None), None)
    if reported is None:
        raise InvalidQuestion(
            f"{', '.join(paths)}: no dbt project with a manifest.json; run dbt compile, and name its folder"
        )
    folder = next(path for path in map(Path, paths) if path.is_dir())
    target = folder / "target" if (folder / "dbt_project.yml").is_file() else folder
    names = {str(node["unique_id"]): name(table) for table, node in reported.tables.items()}
    theirs: dict[_Place, str] = {}
    told = read_opinion(opinion_file(target))
    for edge in through(told, names):
        if edge.target in names and edge.kind in VALUE_KINDS:
            place = names[edge.target], edge.target_column.lower(), names[edge.source], edge.source_column.lower()
            theirs[place] = _COPY if edge.kind == _COPY and theirs.get(place, _COPY) == _COPY else _MOD
    analysed = {names[edge.target] for edge in told if edge.target in names}
    models = {name(table) for table, node in reported.tables.items() if node.get("resource_type") in {"model", "snapshot"}}  # fmt: skip
    ours = {place: kind for place, kind in _values(found) if place[0] in models}
    places = {place for place in {*ours, *theirs} if place[0] in analysed & models}
    differences = [
        Difference(*place, theirs.get(place, ""), ours.get(place, ""))
        for place in sorted(places)
        if theirs.get(place) != ours.get(place)
    ]
    return Comparison(len(places) - len(differences), differences, sorted(models - analysed))


def _values(found: Iterable[ParsedStatement]) -> Iterable[tuple[_Place, str]]:
    for flow in (flow for one in found for flow in one.statement.flows):
        if flow.target is None:
            continue
        for output in flow.columns:
            for given in output.inputs:
                direct = [kind.subtype for kind in given.transformations if kind.type == "DIRECT"]
                if direct:
                    place = name(flow.target), output.name.lower(), name(given.table), given.field.lower()
                    yield place, _COPY if direct == ["IDENTITY"] else _MOD


def lines(comparison: Comparison) -> Iterable[str]:
    """Yield the comparison for people: each difference, then the counts."""
    for one in comparison.differences:
        says = f"dbt: {one.dbt or 'no value'}, Headwater: {one.headwater or 'no value'}"
        yield f"{one.target}.{one.target_column} ← {one.source}.{one.source_column}  ({says})"
    for model in comparison.not_analysed:
        yield f"{model}  (dbt has analysed nothing of it)"
    yield f"{comparison.agreed:,} agreed, {len(comparison.differences):,} differ, {len(comparison.not_analysed):,} models without an opinion of dbt"
