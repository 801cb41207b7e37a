"""The one shape of lineage, at every zoom: nodes, edges with the sources that claim them, what was left out, and the object of the question."""

import datetime as dt
from typing import Literal

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.runs import RunRef

Type = Literal["DATASET", "COLUMN", "JOB", "RUN", "VERSION", "INSTANCE", "ENTITY", "ITEM", "CONTENT"]


class FoundObject(msgspec.Struct, frozen=True):
    """`id`: of a dataset or job its node id; of a run, a version or an item its id; of a content its fingerprint; of an instance `ENTITY@INSTANCE`.

    `node`: the dataset of a column, version or instance; the job of a run. `column`; `entity` and `instance`, of an instance; `entity` of a dataset
    with one schedule; `run`: the id of the run that wrote a version.
    """

    type: Type
    id: str
    label: str
    node: str | None = None
    column: str | None = None
    entity: str | None = None
    instance: str | None = None
    run: str | None = None


class FoundObjects(msgspec.Struct, frozen=True):
    """`object`: what is meant, if it is one thing; else `candidates`; if nothing is meant, `suggestions`: node ids that are near."""

    object: FoundObject | None
    candidates: list[FoundObject]
    suggestions: list[str]


class Claim(msgspec.Struct, frozen=True, gc=False):
    """`origin`: OBSERVED, DECLARED, PARSED_SQL, MANUAL or SCHEDULE. `evidence`: TOLD by events, EXPLICIT lineage, DERIVED from the time at which a
    run began, or UNKNOWN, if no version is known; of PARSED_SQL, how far the text is understood: SQL_FULL, SQL_PARTIAL or SQL_TABLES.
    `by`: the job, run or entity that says so; null for a person. `since`: null if no time is known.
    """

    origin: str
    evidence: str
    by: str | None
    since: dt.datetime | None


class AnswerEdge(msgspec.Struct, gc=False):
    """`relation`: READ and WROTE; CAUSED; IS, of an item and its content; PART, of an item and its version; NEEDS and MADE, of instances; FEEDS,
    where jobs are not drawn. `refused`: it would close a loop, and is not followed. `parts`: those of the dataset, where a run names them.
    `intermittent`: some of the job's latest complete runs reported it, others did not.
    """

    source: str
    target: str
    origin: str
    first_seen: dt.datetime | None
    last_seen: dt.datetime | None
    relation: str = "FEEDS"
    claims: list[Claim] = []
    refused: bool = False
    parts: list[dict[str, str]] = []
    intermittent: bool = False


class DrawnEdge(AnswerEdge):
    """`count`: edges drawn as this one. `via`: nodes that are not shown, on the shortest way it stands for."""

    count: int = 1
    via: int = 0


class Bundle(msgspec.Struct):
    """Many nodes that are alike, drawn as one: of one `kind` (DATASET or JOB), as many hops away, beyond the same nodes. `label`: what their names
    begin with, or the job that all are part of. `members`: their node ids. `is_open`: they are among the nodes of the answer, one by one.
    """

    id: str
    kind: str
    label: str
    count: int
    members: list[str]
    hop: int
    is_open: bool = False
    hidden_upstream: int = 0
    hidden_downstream: int = 0


class Skipped(msgspec.Struct):
    """A content that a step skipped, because this run had imported it."""

    fingerprint: str
    run_id: str | None


class RunNode(msgspec.Struct, kw_only=True, gc=False, tag_field="type", tag="RUN"):
    """`version`, `forced`, `overrides`, `skipped`, `details`: what the step reports. `against`: what speaks against it, for `wrong`.

    A run that only others name has no state.
    """

    id: str
    run_id: str
    external_id: str | None
    job: str | None
    label: str
    state: str | None
    effective_state: str | None
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    duration_ms: int | None
    parent: RunRef | None
    hop: int
    version: str | None = None
    forced: bool = False
    overrides: list[str] = []
    skipped: list[Skipped] = []
    details: dict[str, msgspec.Raw] = {}
    hidden_upstream: int = 0
    hidden_downstream: int = 0
    against: str | None = None


class VersionNode(msgspec.Struct, kw_only=True, gc=False, tag_field="type", tag="VERSION"):
    """A version of a dataset, an item, a content: one node, if they are one. Without `version_id` no write of it is recorded.

    `instances`: `ENTITY@INSTANCE` of those whose current version it is. `part`: of the dataset. `collided`: several runs or datasets claim its id.
    """

    id: str
    dataset: str | None
    label: str
    version_id: str | None
    external_version: str | None
    written_at: dt.datetime | None
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    hop: int
    item: str | None = None
    part: dict[str, str] | None = None
    instances: list[str] = []
    collided: bool = False
    claimed_by: list[RunRef] = []
    hidden_upstream: int = 0
    hidden_downstream: int = 0
    state: str | None = None
    against: str | None = None


class InstancesNode(msgspec.Struct, kw_only=True, tag_field="type", tag="INSTANCES"):
    """Instances of one entity, by its schedule. `against`: what speaks against some of them, and `of_these` which. `through`: what led here."""

    id: str
    entity: str
    label: str
    instances: list[str]
    count: int
    hop: int
    through: str = ""
    against: str | None = None
    of_these: list[str] = []
    state: str | None = None
    hidden_upstream: int = 0
    hidden_downstream: int = 0


Node = node.DatasetNode | node.JobNode | RunNode | VersionNode | InstancesNode


class AnswerTransformation(msgspec.Struct):
    type: str
    subtype: str | None
    masking: bool
    description: str | None


class AnswerColumnEdge(msgspec.Struct):
    """A null field is the whole dataset; a target that is a job means that the columns feed the job itself."""

    source: str
    source_field: str | None
    target: str
    target_field: str | None
    job: str
    origin: str
    transformations: list[AnswerTransformation]


class Hidden(msgspec.Struct):
    """Nodes that are no part of the answer, and why. `at_least`: there are more than were counted."""

    nodes: int
    reason: str | None
    at_least: bool = False


class Lineage(msgspec.Struct):
    """`subject`: what the question was taken to be about; null if it could be any of `candidates`. `root` is the first of `roots`; empty
    where there is none.

    `paths`: with `to`, the ways there, by node ids along the flow of the data. `notes`: what else there is to know, in words. `bundles`: with
    `bundle`, nodes drawn as one; edges lead to and from them.
    """

    root: str
    direction: str
    depth: int | str
    as_of: dt.datetime
    nodes: list[Node]
    edges: list[AnswerEdge]
    column_edges: list[AnswerColumnEdge]
    hidden: Hidden
    roots: list[str] = []
    subject: FoundObject | None = None
    candidates: list[FoundObject] = []
    paths: list[list[str]] = []
    notes: list[str] = []
    bundles: list[Bundle] = []

    def named_nodes(self) -> list[node.Node]:
        """The datasets and jobs of the answer."""
        return [one for one in self.nodes if isinstance(one, node.DatasetNode | node.JobNode)]
