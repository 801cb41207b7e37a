"""A dbt project as texts for the column engine: what each model builds, from its manifest, or from its files where there is no manifest.

With a manifest dbt itself has resolved refs and sources, and compiled models are exact SQL. Sources of the rules: dbt's documentation of
artifacts, snapshots and seeds.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from headwater.capture.dbt.manifest import Manifest, Node, Relation, catalog_columns, read_manifest, reads
from headwater.capture.dbt.proofs import ProvenFacts
from headwater.capture.dbt.rendering import Names, rendered
from headwater.capture.dbt.reported import LastRun, Reported, last_run
from headwater.capture.dbt.seeds import digest_of, digest_of_sorted_rows, digests_of_columns, given_types, read_types
from headwater.capture.dbt.tiers import tier_of
from headwater.capture.dbt.unique_keys import unique_keys
from headwater.columns.catalog import folded_name
from headwater.columns.project import Text
from headwater.columns.shape.proofs import TableProofs
from headwater.errors import InvalidQuestion

_VIEWS: dict[str, Literal["view", "materialized", "ephemeral"]] = {
    "view": "view",
    "materialized_view": "materialized",
    "ephemeral": "ephemeral",
}
# dbt's adapters that are not called as their dialect.
_DIALECTS = {
    "sqlserver": "tsql",
    "fabric": "tsql",
    "synapse": "tsql",
    "dremio": "",
    "glue": "spark",
    "vertica": "postgres",
}
_SNAPSHOT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")
_SNAPSHOT_START, _SNAPSHOT_END = " from (", "\n) as dbt_snapshot"
SNAPSHOT_COLUMNS = len(_SNAPSHOT_COLUMNS)
"""The number of columns that dbt adds to the query of a snapshot."""


class Dependent(msgspec.Struct, frozen=True):
    """A node that reads or writes tables without SQL of its own: a test, an exposure, a metric, a semantic model, a model in Python.

    `reads`, `writes`: by dbt's account.
    """

    kind: str
    name: str
    place: str
    reads: tuple[Relation, ...]
    writes: Relation | None = None


class DbtProject(msgspec.Struct, frozen=True):
    """A project ready to be analysed.

    `tables`: columns of relations that dbt's catalog lists. `jobs`: the job of each text, `project.model`; `reads`: what
    each text depends on by dbt's account. `problems`: what could not be read, each with the file and what to do. `reported`: the events that
    dbt-ol would send of it, where there is a manifest. `stale`: a file that is not as the manifest has it, "" if there is none. `tiers`: of relations
    whose models have one.
    """

    name: str
    dialect: str
    texts: tuple[Text, ...]
    tables: dict[str | Relation, dict[str, str]]
    jobs: dict[str, str]
    reads: dict[str, tuple[Relation, ...]]
    dependents: tuple[Dependent, ...]
    problems: tuple[str, ...]
    reported: Reported | None = None
    stale: str = ""
    tiers: dict[Relation, str] = {}


def dialect_of(adapter: str) -> str:
    """Return the dialect of a dbt adapter; "" for one that is not known."""
    from headwater.columns.dialect import rules

    name = _DIALECTS.get(adapter, adapter)
    try:
        rules(name)
    except ValueError:
        return ""
    return name


def read_compiled(path: Path, root: Path, shown: str, dialect: str = "", *, as_written: bool = False) -> DbtProject:
    """Read a project by its manifest `path`. `root`: the project's folder, for the headers of seeds. `shown`: the folder as errors call it.

    `dialect`: instead of the adapter's. `as_written`: read incremental models from their files, so that two readings differ only where these
    do; else as dbt compiled them, which is what ran. Raises InvalidQuestion where the manifest cannot be read; one node that cannot is a problem.
    """
    return _Reader(read_manifest(path), path, root, shown, dialect, as_written).result()


class _Reader:
    def __init__(self, manifest: Manifest, path: Path, root: Path, shown: str, dialect: str, as_written: bool) -> None:
        self.as_written = as_written
        self.manifest, self.path, self.root, self.shown = manifest, path, root, shown
        self.dialect = dialect or dialect_of(manifest.adapter)
        self.keys = unique_keys(manifest)
        self.proofs = ProvenFacts(manifest, self.table).collect()
        self.texts: list[Text] = []
        self.jobs: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.reads: dict[str, tuple[Relation, ...]] = {}
        self.dependents: list[Dependent] = []
        self.problems: list[str] = []
        self.places: Counter[str] = Counter()
        self.any_rendered = any(map(self.is_rendered, manifest.nodes.values()))
        settings = root / "dbt_project.yml"
        self.shared_source = repr(sorted(manifest.macros)) + (settings.read_text("utf-8") if settings.is_file() else "")

    def result(self) -> DbtProject:
        built: dict[Relation, Node] = {}
        for id_, node in [*self.manifest.nodes.items(), *self.manifest.others.items()]:
            try:
                self.node(node)
                if node.get("resource_type") in {"model", "snapshot", "seed", "source"} and (table := self.table(node)):
                    built[table] = node
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                self.problems.append(
                    f"{self.path}: {id_} is not in dbt's format ({type(error).__name__}: {error}); the rest is read. "
                    "Let dbt write it again: dbt compile"
                )
        reported = Reported(self.manifest, self.nodes, built, self.last_run(), self.root)
        return DbtProject(
            self.manifest.project,
            self.dialect,
            tuple(self.texts),
            self.tables(),
            self.jobs,
            self.reads,
            tuple(self.dependents),
            tuple(self.problems),
            reported,
            str(Path(self.shown) / stale) if (stale := self.stale_file()) else "",
            {table: tier for table, node in built.items() if (tier := tier_of(node.get("config"), node))},
        )

    def stale_file(self) -> str:
        """Return a file that is not as dbt read it: another text, gone, or new beside those that dbt read; "" if there is none."""
        written = self.manifest.written
        for name, texts in written.items():
            path = self.root / name
            if not name.endswith(".sql"):
                continue
            try:
                text = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                return name
            if any(one.strip().replace("\r\n", "\n") not in text for one in texts):
                return name
        folders = {name.partition("/")[0] for name in written}
        for folder in sorted(folders):
            for path in sorted((self.root / folder).rglob("*.sql")):
                name = path.relative_to(self.root).as_posix()
                if name not in written and path.read_bytes().strip():
                    return name
        return ""

    def last_run(self) -> LastRun | None:
        try:
            return last_run(self.path.with_name("run_results.json"))
        except InvalidQuestion as error:
            self.problems.append(f"{error.message}; the project is read without it")
            return None

    def node(self, node: Node) -> None:
        kind = str(node.get("resource_type") or "semantic_model")
        if kind in {"source", "analysis", "operation", "sql_operation", "rpc"}:
            return
        place = self.place(node)
        table = self.table(node) if kind in {"model", "seed", "snapshot"} else None
        inputs = tuple(self.manifest.inputs(node, self.table))
        if kind in {"model", "snapshot"} and str(node.get("language") or "sql") == "sql":
            self.built(node, kind, place, table, inputs)
        elif kind == "seed":
            keys = self.keys.get(str(node.get("unique_id")), ())
            columns, types, rows = self.header(node), self.types(node), self.rows(node)
            values, unordered = self.values(node)
            self.texts.append(
                Text(
                    place,
                    "",
                    table,
                    columns=columns,
                    rows=rows,
                    keys=keys,
                    types=types,
                    values=values,
                    unordered=unordered,
                    proofs=self.proofs.get(str(node.get("unique_id")), TableProofs()),
                )
            )
        else:
            called = "python model" if kind == "model" else kind.replace("_", " ")
            self.dependents.append(Dependent(called, str(node["name"]), place, inputs, table))

    def built(self, node: Node, kind: str, place: str, table: Relation | None, inputs: tuple[Relation, ...]) -> None:
        config = node["config"]
        text = node.get("compiled_code")
        if not isinstance(text, str) or not text.strip() or self.is_rendered(node):
            text = rendered(str(node["raw_code"]), self.names(node))
        elif table is None and not self.any_rendered:  # What reads it has its text as a common table.
            return
        if kind == "snapshot":
            text = versioned(text, config)
        target = table or (f"__dbt__cte__{node['name']}",)
        keys = self.keys.get(str(node.get("unique_id")), ())
        proofs = self.proofs.get(str(node.get("unique_id")), TableProofs())
        source, contract = self.source_of(node), contract_of(node)
        view = view_of(config)
        self.texts.append(Text(place, text, target, view, source=source, keys=keys, contract=contract, proofs=proofs))
        self.jobs[place] = f"{self.manifest.project}.{node['name']}"
        self.nodes[place] = node
        self.reads[place] = inputs

    def is_rendered(self, node: Node) -> bool:
        """Return whether the text of a model is read instead of what dbt compiled: of an incremental model dbt compiles another text where its table
        is there already. Not if it calls macros of a package."""
        if not self.as_written:
            return False
        macros = (node.get("depends_on") or {}).get("macros") or ()
        builtin = ("macro.dbt.", f"macro.dbt_{self.manifest.adapter}.")
        return "is_incremental" in str(node.get("raw_code")) and all(str(one).startswith(builtin) for one in macros)

    def source_of(self, node: Node) -> str:
        """Return a digest of all that the project's files say of a model: where it is the same, so is the model, whatever dbt compiled of it."""
        config = node["config"]
        parts = (
            str(node.get("raw_code")),
            str(config.get("materialized")),
            str(config.get("vars")),
            sorted(self.sources_of(node)),
            self.shared_source,
        )
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    def sources_of(self, node: Node) -> Iterator[tuple[str, str]]:
        """The schema and the name of each source that a model reads: a file of properties can give a source another table."""
        for id_ in reads(node):
            read = self.manifest.nodes.get(id_)
            if read is not None and read.get("resource_type") == "source":
                yield str(read.get("schema")), str(read.get("identifier") or read.get("name"))

    def names(self, node: Node) -> Names:
        """Return what refs and sources of a model that is not compiled stand for: dbt has listed them in its dependencies."""
        refs: dict[tuple[str, ...], str] = {}
        sources: dict[tuple[str, ...], str] = {}
        for id_ in reads(node):
            read = self.manifest.nodes.get(id_)
            if read is None:
                continue
            if read.get("resource_type") == "source":
                sources[str(read["source_name"]), str(read["name"])] = str(read.get("relation_name") or read["name"])
                continue
            ephemeral = (read.get("config") or {}).get("materialized") == "ephemeral"
            text = f"__dbt__cte__{read['name']}" if ephemeral else str(read.get("relation_name") or read["name"])
            name = str(read["name"])
            refs[str(read.get("package_name")), name] = text
            refs.setdefault((name,), text)
            if (version := read.get("version")) is not None:
                refs[name, f"v{version}"] = refs[str(read.get("package_name")), name, f"v{version}"] = text
                if version == read.get("latest_version"):  # What a ref without a version means.
                    refs[name,] = refs[str(read.get("package_name")), name] = text
        return Names(refs, sources, str(node.get("relation_name") or node["name"]))

    def table(self, node: Node) -> Relation | None:
        """Return the relation of a node as its dialect folds it: dbt writes `relation_name` as it does in SQL."""
        if self.manifest.relation(node) is None:
            return None
        return folded_name(str(node.get("relation_name") or ""), self.dialect) or self.manifest.relation(node)

    def place(self, node: Node) -> str:
        """Return the file of a node, from where the user stands; a file of several nodes with the name of each."""
        path = str(node["original_file_path"])
        package = str(node.get("package_name") or self.manifest.project)
        folder = Path(self.shown) if package == self.manifest.project else Path(self.shown) / "dbt_packages" / package
        place = str(folder / path)
        several = str(node.get("resource_type")) in {"test", "snapshot", "exposure", "metric", "semantic_model"}
        place = f"{place}[{node['name']}]" if several or place in self.places else place
        self.places[place] += 1
        return place if self.places[place] == 1 else f"{place}#{self.places[place]}"

    def header(self, node: Node) -> tuple[str, ...]:
        """Return the columns of a seed by the first line of its file; none where the file is not there."""
        if str(node.get("package_name")) != self.manifest.project:
            return ()
        path = self.root / str(node["original_file_path"])
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                return ()
            with path.open(encoding="utf-8-sig", newline="") as file:
                delimiter = str(node["config"].get("delimiter") or ",")
                return tuple(next(csv.reader(file, delimiter=delimiter), ()))
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            self.problems.append(f"{path}: the header of this seed cannot be read ({error}); the rest is read")
            return ()

    def types(self, node: Node) -> tuple[str, ...]:
        """Return the types of a seed's columns; none for the seed of a package."""
        if str(node.get("package_name")) != self.manifest.project:
            return ()
        config = node["config"]
        path = self.root / str(node["original_file_path"])
        return read_types(path, given_types(config), str(config.get("delimiter") or ","))

    def values(self, node: Node) -> tuple[tuple[str, ...], str]:
        """Return the digest of each column of a seed, and that of its rows without their order; none for the seed of a package."""
        if str(node.get("package_name")) != self.manifest.project:
            return (), ""
        path, delimiter = self.root / str(node["original_file_path"]), str(node["config"].get("delimiter") or ",")
        return digests_of_columns(path, delimiter), digest_of_sorted_rows(path, delimiter)

    def rows(self, node: Node) -> str:
        path = self.root / str(node["original_file_path"])
        return digest_of(path) if str(node.get("package_name")) == self.manifest.project else ""

    def tables(self) -> dict[str | Relation, dict[str, str]]:
        """Return the columns that `catalog.json` beside the manifest lists, if it is there."""
        path = self.path.with_name("catalog.json")
        if not path.is_file():
            return {}
        try:
            return {relation: columns for relation, columns in catalog_columns(path) if columns}
        except InvalidQuestion as error:
            self.problems.append(f"{error.message}; the project is read without it")
            return {}


def contract_of(node: Node) -> tuple[tuple[str, str], ...]:
    """Return the columns of a model's contract, with their types; none if dbt does not enforce it."""
    if not (node["config"].get("contract") or {}).get("enforced"):
        return ()
    columns = (node.get("columns") or {}).values()
    return tuple((str(one["name"]), str(one.get("data_type") or "")) for one in columns)


def view_of(config: Node) -> Literal["", "view", "materialized", "ephemeral"]:
    """Return what a model builds by its configuration, if it is no table."""
    return _VIEWS.get(str(config.get("materialized")), "")


def snapshot_queries(old: str, new: str) -> tuple[str, str] | None:
    """Return the queries of two texts that `versioned` made with the same columns; None for others."""
    before, _, first = old.partition(_SNAPSHOT_START)
    now, _, second = new.partition(_SNAPSHOT_START)
    if before != now or not first.endswith(_SNAPSHOT_END) or not second.endswith(_SNAPSHOT_END):
        return None
    return first.removesuffix(_SNAPSHOT_END), second.removesuffix(_SNAPSHOT_END)


def versioned(text: str, config: Node) -> str:
    """Return the query of a snapshot with the columns that dbt adds to it; every line stays in its place."""
    keys = config.get("unique_key") or []
    unique = [str(key) for key in (keys if isinstance(keys, list) else [keys])]
    changed = str(config.get("updated_at") or "") if config.get("strategy") == "timestamp" else ""
    names = config.get("snapshot_meta_column_names") or {}
    scd, updated, valid_from, valid_to = (str(names.get(name) or name) for name in _SNAPSHOT_COLUMNS)
    when = changed or "current_timestamp"
    id_ = f"concat({', '.join([*unique, when])})"
    ends = f"nullif({when}, {when})"
    added = f"{id_} as {scd}, {when} as {updated}, {when} as {valid_from}, {ends} as {valid_to}"
    return f"select *, {added}{_SNAPSHOT_START}{text.rstrip().rstrip(';')}{_SNAPSHOT_END}"
