"""Manual changes to datasets, jobs, columns and other targets: one class for each kind, validated on construction.

Pure. A change has its target's name as it was given; `facts` places the name under the identity rules. The latest fact of (target, kind, key) wins,
so changes merge in any order, as events do.
"""

import uuid
from typing import Any, Literal

import msgspec

from headwater.errors import InvalidChange
from headwater.model import version
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName
from headwater.model.tags import TagSchema, key_of

# The namespace of the job between two datasets that a person connects with an edge.
MANUAL = "manual"
_LONGEST_NAME = 20_000
_LONGEST_TEXT = 100_000


class Target(msgspec.Struct, frozen=True, order=True):
    """The target of a change. `field`: a column of the dataset. Namespaces, sources and tags have a name only."""

    kind: Literal["dataset", "job", "namespace", "source", "tag"]
    name: str
    namespace: str = ""
    field: str | None = None

    def __post_init__(self) -> None:
        named = (self.name, self.namespace) if self.kind in {"dataset", "job"} else (self.name,)
        if not all(part.strip() for part in named):
            raise InvalidChange(f"the name of a {self.kind} must not be blank", target=self.text)
        if self.field is not None and (self.kind != "dataset" or not self.field.strip()):
            raise InvalidChange("only a dataset has columns, and a column's name must not be blank", target=self.text)
        if len(self.text) > _LONGEST_NAME or "\0" in self.text:
            raise InvalidChange(f"a name must have at most {_LONGEST_NAME} characters and no null character")

    @property
    def node(self) -> str:
        """Its node id, without the column."""
        if self.kind in {"dataset", "job"}:
            return f"{self.kind}:{self.namespace}:{self.name}"
        return f"{self.kind}:{key_of(self.name) if self.kind == 'tag' else self.name}"

    @property
    def text(self) -> str:
        """Its node id; for a column `dataset:namespace:name#column`."""
        return self.node if self.field is None else f"{self.node}#{self.field}"

    @property
    def node_name(self) -> DatasetName | JobName:
        """The name of the dataset or job."""
        return (DatasetName if self.kind == "dataset" else JobName)(self.namespace, self.name)

    def placed(self, identity: Identity) -> "Target":
        """The target with its name placed under these rules."""
        if self.kind != "dataset":
            return self
        name = identity.place(DatasetName(self.namespace, self.name)).name
        return msgspec.structs.replace(self, namespace=name.namespace, name=name.name)

    @property
    def id(self) -> uuid.UUID | None:
        """The row id; only datasets and jobs have one."""
        if self.kind == "dataset":
            return version.dataset_id(DatasetName(self.namespace, self.name))
        return version.job_id(JobName(self.namespace, self.name)) if self.kind == "job" else None


def dataset(name: DatasetName) -> Target:
    return Target("dataset", name.name, name.namespace)


class ColumnPair(msgspec.Struct, frozen=True, order=True):
    """A column feeds a column. An end is empty if it is a job, or the dataset as a whole."""

    source: str = ""
    target: str = ""


class Describe(msgspec.Struct, frozen=True, tag="describe", tag_field="action"):
    """Set a description; null removes it, so that the events' description shows again."""

    target: Target
    text: str | None

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job", "namespace", columns=True)
        _text(self.text, "a description")


class Own(msgspec.Struct, frozen=True, tag="own", tag_field="action"):
    """Add an owner. `type`: the kind of ownership (steward, on call, …)."""

    target: Target
    owner: str
    type: str | None = None

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job")
        _named(self.owner, "an owner")
        _text(self.type, "a type of ownership", 200)


class Disown(msgspec.Struct, frozen=True, tag="disown", tag_field="action"):
    """Remove an owner, even one that events report."""

    target: Target
    owner: str

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job")
        _named(self.owner, "an owner")


class Tag(msgspec.Struct, frozen=True, tag="tag", tag_field="action"):
    """Add a tag, with or without a value. Tag names are case-insensitive and keep their spelling."""

    target: Target
    name: str
    value: str | int | float | bool | None = None

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job", columns=True)
        _named(self.name, "a tag")
        if isinstance(self.value, str):
            _text(self.value, "a tag's value", 2000)


class Untag(msgspec.Struct, frozen=True, tag="untag", tag_field="action"):
    """Remove a tag, even one that events report."""

    target: Target
    name: str

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job", columns=True)
        _named(self.name, "a tag")


class DefineTag(msgspec.Struct, frozen=True, tag="define_tag", tag_field="action"):
    """Define a tag: its meaning and its allowed values."""

    name: str
    schema: TagSchema

    def __post_init__(self) -> None:
        _named(self.name, "a tag")

    @property
    def target(self) -> Target:
        return Target("tag", self.name)


class RemoveTag(msgspec.Struct, frozen=True, tag="remove_tag", tag_field="action"):
    """Remove the definition of a tag. Datasets, jobs and columns keep the tag."""

    name: str

    def __post_init__(self) -> None:
        _named(self.name, "a tag")

    @property
    def target(self) -> Target:
        return Target("tag", self.name)


class NameNamespace(msgspec.Struct, frozen=True, tag="name_namespace", tag_field="action"):
    """Set the owner of a namespace. This creates the namespace, even without datasets, and unhides it."""

    name: str
    owner: str

    def __post_init__(self) -> None:
        _named(self.name, "a namespace")
        _named(self.owner, "an owner")

    @property
    def target(self) -> Target:
        return Target("namespace", self.name)


class NameSource(msgspec.Struct, frozen=True, tag="name_source", tag_field="action"):
    """Define a data source: its type and URL."""

    name: str
    type: str
    url: str
    description: str | None = None

    def __post_init__(self) -> None:
        _named(self.name, "a source")
        _named(self.type, "a type of source")
        _named(self.url, "a source's address")
        _text(self.description, "a description")

    @property
    def target(self) -> Target:
        return Target("source", self.name)


class Hide(msgspec.Struct, frozen=True, tag="hide", tag_field="action"):
    """Hide from lists and searches until an event mentions it again. `along`: what is hidden with it (a namespace's nodes, its other names)."""

    target: Target
    along: tuple[Target, ...] = ()

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job", "namespace")


class Unhide(msgspec.Struct, frozen=True, tag="unhide", tag_field="action"):
    """Show in lists and searches again, with `along`."""

    target: Target
    along: tuple[Target, ...] = ()

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset", "job", "namespace")


class Link(msgspec.Struct, frozen=True, tag="link", tag_field="action"):
    """Link two names of one dataset; `target` becomes the canonical one."""

    target: Target
    alias: Target

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset")
        _kinds(self.alias, "dataset")


class Unlink(msgspec.Struct, frozen=True, tag="unlink", tag_field="action"):
    """Undo a Link. Names that events link stay linked."""

    target: Target
    alias: Target

    def __post_init__(self) -> None:
        _kinds(self.target, "dataset")
        _kinds(self.alias, "dataset")


class DrawEdge(msgspec.Struct, frozen=True, tag="draw_edge", tag_field="action"):
    """Draw an edge from `source` to `target`: dataset to job, job to dataset, or dataset to dataset (with a job of its own in between)."""

    source: Target
    target: Target
    columns: tuple[ColumnPair, ...] = ()

    def __post_init__(self) -> None:
        _edge(self.source, self.target)
        for pair in self.columns:
            for end, name in ((self.source, pair.source), (self.target, pair.target)):
                if end.kind == "job" and name:
                    raise InvalidChange(f"{end.text!r} is a job and has no column {name!r}", column=name)
            if not pair.source and not pair.target:
                raise InvalidChange("A column pair must name at least one column.")


class RemoveEdge(msgspec.Struct, frozen=True, tag="remove_edge", tag_field="action"):
    """Undo a DrawEdge. The edge stays if events report it."""

    source: Target
    target: Target

    def __post_init__(self) -> None:
        _edge(self.source, self.target)


Change = (
    Describe | Own | Disown | Tag | Untag | DefineTag | RemoveTag | NameNamespace | NameSource
    | Hide | Unhide | Link | Unlink | DrawEdge | RemoveEdge
)  # fmt: skip


class Fact(msgspec.Struct, frozen=True):
    """A fact that a change sets. `deleted`: the change removes the fact; `value` still holds what was removed."""

    target: Target
    kind: str
    key: str
    value: dict[str, Any]
    deleted: bool = False

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.target.text, self.kind, self.key)


def facts(change: Change, identity: Identity) -> list[Fact]:  # noqa: PLR0911, PLR0912 - one case for each kind
    """The facts of a change under these rules. An edge between datasets is a fact of the job between them."""
    match change:
        case Describe(target, text):
            return [Fact(target.placed(identity), "description", "", {"text": text}, text is None)]
        case Own(target, owner, type_):
            return [Fact(target.placed(identity), "owner", owner, {"name": owner, "type": type_})]
        case Disown(target, owner):
            return [Fact(target.placed(identity), "owner", owner, {"name": owner}, deleted=True)]
        case Tag(target, name, value):
            return [Fact(target.placed(identity), "tag", key_of(name), {"name": name, "value": value})]
        case Untag(target, name):
            return [Fact(target.placed(identity), "tag", key_of(name), {"name": name}, deleted=True)]
        case DefineTag(name, schema):
            return [Fact(change.target, "schema", "", {"name": name, **msgspec.to_builtins(schema)})]
        case RemoveTag(name):
            return [Fact(change.target, "schema", "", {"name": name}, deleted=True)]
        case NameNamespace(_, owner):
            return [
                Fact(change.target, "owner", "", {"name": owner}),
                Fact(change.target, "hidden", "", {}, deleted=True),
            ]
        case NameSource(_, type_, url, description):
            return [Fact(change.target, "source", "", {"type": type_, "url": url, "description": description})]
        case Hide() | Unhide():
            shown = isinstance(change, Unhide)
            return [Fact(t.placed(identity), "hidden", "", {}, shown) for t in (change.target, *change.along)]
        case Link(target, alias) | Unlink(target, alias):
            other = alias.placed(identity)
            also: dict[str, Any] = {"id": str(other.id), "namespace": other.namespace, "name": other.name}
            return [Fact(target.placed(identity), "alias", other.node, also, isinstance(change, Unlink))]
        case DrawEdge() | RemoveEdge():
            columns = [[c.source, c.target] for c in sorted(change.columns)] if isinstance(change, DrawEdge) else []
            legs = []
            for end, job, direction in ends(change, identity):
                leg: dict[str, Any] = {
                    "direction": direction, "namespace": end.namespace, "name": end.name,
                    "columns": columns if _carries(change, direction) else [],
                }  # fmt: skip
                legs.append(Fact(job, "edge", f"{direction}:{end.node}", leg, isinstance(change, RemoveEdge)))
            return legs


def _carries(change: DrawEdge | RemoveEdge, direction: str) -> bool:
    """Return whether the leg carries the edge's columns; only the last one does."""
    return direction == ("in" if change.target.kind == "job" else "out")


def ends(change: DrawEdge | RemoveEdge, identity: Identity) -> list[tuple[Target, Target, str]]:
    """(dataset, job, direction) of each leg."""
    source, target = change.source.placed(identity), change.target.placed(identity)
    if target.kind == "job":
        return [(source, target, "in")]
    if source.kind == "job":
        return [(target, source, "out")]
    between = Target("job", f"{source.namespace}:{source.name} -> {target.namespace}:{target.name}", MANUAL)
    return [(source, between, "in"), (target, between, "out")]


def other_end(change: Change) -> Target | None:
    """The second target of a change: the source of an edge, or the other name of a dataset."""
    match change:
        case DrawEdge() | RemoveEdge():
            return change.source
        case Link() | Unlink():
            return change.alias
    return None


def _kinds(target: Target, *allowed: str, columns: bool = False) -> None:
    if target.kind not in allowed:
        raise InvalidChange(
            f"{target.text!r} is a {target.kind}; name one of {', '.join(allowed)} instead", target=target.text
        )
    if target.field is not None and not columns:
        raise InvalidChange(
            f"{target.text!r} is a column; name one of {', '.join(allowed)} instead", target=target.text
        )


def _edge(source: Target, target: Target) -> None:
    kinds = (source.kind, target.kind)
    if kinds not in {("dataset", "job"), ("job", "dataset"), ("dataset", "dataset")}:
        raise InvalidChange(
            f"an edge must lead from dataset to job, job to dataset or dataset to dataset, not from {kinds[0]} to {kinds[1]}"
        )
    if source == target:
        raise InvalidChange(f"{source.text!r} cannot feed itself; name two ends")
    if source.field is not None or target.field is not None:
        raise InvalidChange("an end of an edge must not be a column; name column pairs with `columns`")


def _named(text: str, what: str) -> None:
    if not text.strip():
        raise InvalidChange(f"{what} must not be blank")
    _text(text, what, 2000)


def _text(text: str | None, what: str, longest: int = _LONGEST_TEXT) -> None:
    if text is not None and (len(text) > longest or "\0" in text):
        raise InvalidChange(f"{what} must have at most {longest} characters and no null character")
