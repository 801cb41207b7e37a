"""The lineage of whatever a text means, in one shape: of datasets, jobs and columns over the graph; of runs, versions, items, files and instances
over records of single runs.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection

import msgspec

from headwater.answer import records
from headwater.answer.lineage import lineage, paths, view
from headwater.answer.lineage.lineage_answer import (
    FoundObject,
    FoundObjects,
    Hidden,
    InstancesNode,
    Lineage,
    Node,
    RunNode,
    VersionNode,
)
from headwater.answer.objects import find_object
from headwater.answer.status.known_wrong import KnownWrong
from headwater.errors import InvalidQuestion, NotFound
from headwater.graph.paths import shortest
from headwater.store.database import Database

_OF_NAMES = {"DATASET", "JOB", "COLUMN"}
_MOST_PATHS = 10
_DEEPEST_RECORDS = 100_000
"""Chains of single runs are long; `max_nodes` bounds the answer."""


class Zoom(msgspec.Struct, frozen=True):
    """The options beside the question of `lineage`: the paths `to` something else, and what may have made something `wrong`."""

    to: str | None = None
    wrong: bool = False


async def lineage_of(database: Database, question: lineage.Question, shape: view.Shape, zoom: Zoom) -> Lineage:
    """Answer for whatever `question.node` means; with `candidates` and nothing else where that could be several things.

    Raises NotFound for what is not known, InvalidQuestion for options that have no meaning for it.
    """
    found = await _object(database, question.node)
    if found.object is None and not _same_record(found.candidates):
        return _ambiguous(question, found)
    subjects = [found.object] if found.object is not None else found.candidates
    subject = subjects[0]
    target = await _target(database, zoom.to) if zoom.to is not None else None
    if target is not None and subject.type in _OF_NAMES and target.type not in _OF_NAMES:
        # Ways between a dataset and a run are found from the run.
        subjects, subject, target = [target], target, subject
    if subject.type not in _OF_NAMES:
        lineage.check_reach(question.direction, question.depth, _DEEPEST_RECORDS)
        _check_records(subject, question, shape)
        answer = await _of_records(database, question, subjects, target, wrong=zoom.wrong)
    else:
        lineage.check_reach(question.direction, question.depth)
        if zoom.wrong:
            raise InvalidQuestion(
                f"{_words(subject)}; `wrong` asks what may have made a run, a version or an instance wrong: name one, as {subject.label}@INSTANCE",
                parameter="wrong",
            )
        answer = await _of_names(database, question, shape, subject, target)
    answer.subject = subject
    return answer


async def _object(database: Database, text: str) -> FoundObjects:
    """Resolve a text: a node id is taken as it is, other texts are looked up."""
    for prefix, kind in (("dataset:", "DATASET"), ("job:", "JOB")):
        if text.startswith(prefix):
            return FoundObjects(FoundObject(kind, text, text), [], [])  # type: ignore[arg-type]
    found = await find_object(database, text) if text.strip() else FoundObjects(None, [], [])
    if found.object is None and not found.candidates:
        near = f"; did you mean {' or '.join(map(repr, found.suggestions[:3]))}?" if found.suggestions else ""
        raise NotFound(f"nothing is named {text[:100]!r}{near}", suggestions=found.suggestions)
    return found


def _same_record(candidates: Collection[FoundObject]) -> bool:
    """Return whether these are one id under which several things were reported, a run and an item; or several instances of one entity."""
    kinds = {one.type for one in candidates}
    together = {one.entity for one in candidates} if kinds == {"INSTANCE"} else {one.id for one in candidates}
    return len(together) == 1 and not kinds & _OF_NAMES


def _ambiguous(question: lineage.Question, found: FoundObjects) -> Lineage:
    return Lineage(
        "", question.direction, question.depth, question.as_of or dt.datetime.now(dt.UTC), [], [], [], Hidden(0, None),
        candidates=found.candidates,
    )  # fmt: skip


async def _target(database: Database, text: str) -> FoundObject:
    found = await _object(database, text)
    if found.object is None:
        raise InvalidQuestion(
            f"{text[:100]!r} could be any of {len(found.candidates)}; give one of these",
            parameter="to",
            candidates=[one.id for one in found.candidates],
        )
    return found.object


def _words(one: FoundObject) -> str:
    article = "an" if one.type[0] in "AEIOU" else "a"
    return f"{one.label} is {article} {one.type.lower()}"


def _check_records(subject: FoundObject, question: lineage.Question, shape: view.Shape) -> None:
    if subject.type == "ENTITY":
        raise InvalidQuestion(
            f"{_words(subject)}; name its instances: headwater lineage {subject.id}@INSTANCE", entity=subject.id
        )
    if question.columns or question.field:
        raise InvalidQuestion(
            f"{_words(subject)}; columns are recorded of jobs and not of single runs: ask for its dataset with `columns`",
            parameter="columns",
        )
    plain = view.Shape()
    refused = [name for name in shape.__struct_fields__ if getattr(shape, name) != getattr(plain, name)]
    if refused:
        raise InvalidQuestion(
            f"{_words(subject)}; {', '.join(refused)} is for datasets and jobs only", parameter=refused[0]
        )


async def _of_names(
    database: Database,
    question: lineage.Question,
    shape: view.Shape,
    subject: FoundObject,
    target: FoundObject | None,
) -> Lineage:
    node = subject.node if subject.type == "COLUMN" and subject.node else subject.id
    if target is None:
        asked = msgspec.structs.replace(question, node=node)
        if subject.type == "COLUMN":
            asked = msgspec.structs.replace(asked, columns=True, field=subject.column)
        if shape.plain:
            return await lineage.lineage(database, asked)
        if question.bundle:
            raise InvalidQuestion("bundle cannot be combined with a filter, collapse or group", parameter="bundle")
        return await view.view(database, asked, shape)
    end = target.node if target.type == "COLUMN" and target.node else target.id
    way = paths.Question(
        node,
        end,
        question.field or subject.column,
        target.column,
        question.direction,
        _MOST_PATHS,
        as_of=question.as_of,
    )
    found = await paths.paths(database, way)
    total = f"{len(found.paths)} of {found.total:,} ways of this length" if found.total > len(found.paths) else None
    return Lineage(
        found.source,
        found.direction or question.direction,
        question.depth,
        found.as_of,
        list(found.nodes),
        found.edges,
        [],
        Hidden(0, found.reason),
        roots=[found.source],
        paths=[one.nodes for one in found.paths],
        notes=[total] if total else [],
    )


async def _of_records(
    database: Database,
    question: lineage.Question,
    subjects: list[FoundObject],
    target: FoundObject | None,
    *,
    wrong: bool,
) -> Lineage:
    direction = "upstream" if wrong and question.direction == "both" else question.direction
    asked = records.Question(direction, question.depth, question.max_nodes, question.as_of)
    async with database.snapshot() as connection:
        answer = await records.record_lineage(connection, asked, subjects)
        if wrong:
            rank = (await KnownWrong.load(connection)).judge(answer.nodes)
            answer.nodes.sort(key=lambda one: (rank.get(one.id, len(rank)), abs(one.hop), one.id))
    return answer if target is None else _narrowed(answer, target)


def _narrowed(answer: Lineage, target: FoundObject) -> Lineage:
    """Return the answer with only the shortest ways between the roots and what the target means."""
    ends = {one.id for one in answer.nodes if _is(one, target)}
    following: dict[str, list[str]] = defaultdict(list)
    for edge in answer.edges:
        if not edge.refused:
            following[edge.source].append(edge.target)
    roots = set(answer.roots)
    ways = shortest(following, roots, ends, _MOST_PATHS) or shortest(following, ends, roots, _MOST_PATHS)
    kept = {id_ for way in ways for id_ in way}
    answer.nodes = [one for one in answer.nodes if one.id in kept or (not ways and one.id in roots)]
    answer.edges = [edge for edge in answer.edges if {edge.source, edge.target} <= kept]
    answer.paths = ways
    if not ways and answer.hidden.nodes:
        answer.notes.append("no way was found within what was looked at; raise the depth")
    return answer


def _is(one: Node, target: FoundObject) -> bool:
    if isinstance(one, RunNode):
        return target.id in {one.run_id, one.job}
    if isinstance(one, InstancesNode):
        return target.entity == one.entity and (target.instance is None or target.instance in one.instances)
    if isinstance(one, VersionNode):
        return target.id in {one.version_id, one.item, one.dataset, one.external_version, *one.instances} or (
            target.type == "COLUMN" and one.dataset == target.node
        )
    return False
