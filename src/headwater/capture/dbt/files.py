"""A dbt project without a manifest: its models, seeds, snapshots and sources by its files, in the names that dbt would give them by default.

What only dbt can know stays a guess that the answer names: macros, hooks, a project's own `generate_schema_name`. Sources of the rules: dbt's
documentation of projects, properties, `ref`, `source` and custom schemas.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from headwater.capture.dbt.manifest import Relation
from headwater.capture.dbt.project import DbtProject, Dependent, dialect_of, versioned, view_of
from headwater.capture.dbt.rendering import Names, called, rendered
from headwater.capture.dbt.seeds import digest_of, digest_of_sorted_rows, digests_of_columns, given_types, read_types
from headwater.capture.dbt.tiers import tier_of, tier_of_text
from headwater.columns.catalog import folded_name
from headwater.columns.project import Text
from headwater.columns.script.template import plain
from headwater.errors import InvalidQuestion

PROJECT = "dbt_project.yml"
_SNAPSHOT = re.compile(r"\{%-?\s*snapshot\s+(\w+)\s*-?%\}(.*?)\{%-?\s*endsnapshot\s*-?%\}", re.DOTALL)
_SCHEMA_MACRO = re.compile(r"\{%-?\s*macro\s+generate_schema_name\b.*?%\}(.*?)\{%-?\s*endmacro", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_][\w$]*")
_BACKTICKS = frozenset({"bigquery", "databricks", "hive", "mysql", "spark"})
_LARGEST = 20_000_000
_GUESSED = (
    "{folder} has no target/manifest.json: the project is read from its files, with the names dbt gives by default, in the schema {schema!r}; "
    "run dbt compile for exact ones"
)


class _Model(msgspec.Struct):
    """One model, seed or snapshot. `name`: by which others refer to it."""

    package: str
    name: str
    kind: str
    path: Path
    text: str
    config: dict[str, Any]


class _Package(msgspec.Struct):
    """One project or installed package: its name, its folder, what its dbt_project.yml says."""

    name: str
    folder: Path
    content: dict[str, Any]


def read_files(root: Path, shown: str, dialect: str = "", schema: str = "", database: str = "") -> DbtProject:
    """Read the project in the folder `root`. `schema`, `database`: the target's; else those of a profiles.yml in the folder.

    A file that cannot be read is a problem, and the rest goes on. Raises InvalidQuestion where dbt_project.yml cannot be read.
    """
    return _Files(root, shown, dialect, schema, database).result()


class _Files:
    def __init__(self, root: Path, shown: str, dialect: str, schema: str, database: str) -> None:
        self.root, self.shown = root, shown
        self.problems: list[str] = []
        self.own = self.package(root)
        profile = self.profile()
        self.dialect = dialect or dialect_of(str(profile.get("type") or ""))
        self.schema = schema or str(profile.get("schema") or profile.get("dataset") or "target_schema")
        self.is_custom_alone = self.has_custom_alone()
        self.database = database or _database(profile)
        self.sources: dict[tuple[str, ...], Relation] = {}
        self.configs: dict[tuple[str, str], dict[str, Any]] = {}
        self.versions: dict[tuple[str, str], tuple[str, str, bool]] = {}
        """By package and file: the model, its version, and whether it is the latest."""
        self.snapshots: list[tuple[_Package, str, Path, str]] = []
        self.exposures: list[tuple[str, str, str]] = []
        """Name, place, and what it depends on, as the calls that dbt reads."""

    def result(self) -> DbtProject:
        packages = [self.own]
        for folder in sorted(self.root.glob("dbt_packages/*")):
            if (folder / PROJECT).is_file():
                try:
                    packages.append(self.package(folder))
                except InvalidQuestion as error:
                    self.problems.append(f"{error.message}; the rest is read")
        for package in packages:
            self.read_properties(package)
        names_of_packages = {package.name for package in packages}
        models = [model for package in packages for model in self.models(package)]
        written = {id(model): self.written(model) for model in models}
        refs: dict[tuple[str, ...], str] = {(model.package, model.name): written[id(model)] for model in models}
        for model in models:
            if (version := self.versions.get((model.package, model.name))) is not None:
                name, number, latest = version
                versioned_as = (name, f"v{number}")
                refs[model.package, *versioned_as] = written[id(model)]
                refs.setdefault(versioned_as, written[id(model)])
                if latest:
                    refs[model.package, name] = written[id(model)]
        for key, relation in list(refs.items()):  # The own project's come first.
            if len(key) == 2 and key[0] in names_of_packages:
                refs.setdefault((key[1],), relation)
        sources = {key: self.quoted(relation) for key, relation in self.sources.items()}
        variables = {name: value for name, value in self.variables().items() if re.fullmatch(r"[\w.\-]+", value)}
        texts, jobs, reads = [], {}, {}
        for model in models:
            place = self.place(model.path) + (f"[{model.name}]" if model.kind == "snapshot" else "")
            target = folded_name(written[id(model)], self.dialect)
            if model.kind == "seed":
                columns, types = self.header(model.path), read_types(model.path, given_types(model.config))
                values, unordered = digests_of_columns(model.path), digest_of_sorted_rows(model.path)
                rows = digest_of(model.path)
                texts.append(
                    Text(place, "", target, columns=columns, rows=rows, types=types, values=values, unordered=unordered)
                )
                continue
            names = Names(refs, sources, written[id(model)], variables)
            text = rendered(model.text, names)
            for call, arguments in called(text):  # What is still there was not found.
                self.problems.append(
                    f"{place}: {call}({', '.join(arguments)}) names nothing in the project; the rest is read"
                )
            text = versioned(text, model.config) if model.kind == "snapshot" else text
            texts.append(Text(place, text, target, view_of(model.config)))
            jobs[place] = f"{self.own.name}.{model.name}"
            reads[place] = self.named(model.text, names)
        self.problems.append(_GUESSED.format(folder=self.shown, schema=self.schema))
        every = Names(refs, sources)
        exposures = tuple(
            Dependent("exposure", name, place, self.named(text, every)) for name, place, text in self.exposures
        )
        tiers = {
            folded_name(written[id(model)], self.dialect): tier
            for model in models
            if (tier := tier_of_text(model.text) or tier_of(model.config))
        }
        return DbtProject(
            self.own.name,
            self.dialect,
            tuple(texts),
            {},
            jobs,
            reads,
            exposures,
            tuple(self.problems),
            tiers=tiers,
        )

    # -- names --

    def written(self, model: _Model) -> str:
        """Return the relation of a model as dbt would write it; an ephemeral one by the name of its common table."""
        config = model.config
        if config.get("materialized") == "ephemeral":
            return f"__dbt__cte__{model.name}"
        custom = str(config.get("schema") or "")
        schema = (custom if self.is_custom_alone else f"{self.schema}_{custom}") if custom else self.schema
        if model.kind == "snapshot" and config.get("target_schema"):
            schema = str(config["target_schema"])
        parts = (str(config.get("database") or self.database), schema, str(config.get("alias") or model.name))
        return self.quoted(tuple(part for part in parts if part))

    def quoted(self, relation: Relation) -> str:
        opening, closing = (
            ("`", "`") if self.dialect in _BACKTICKS else ("[", "]") if self.dialect == "tsql" else ('"', '"')
        )
        return ".".join(
            part if _PLAIN.fullmatch(part) else opening + part.replace(closing, closing * 2) + closing
            for part in relation
        )

    def named(self, text: str, names: Names) -> tuple[Relation, ...]:
        """Return the relations that refs and sources in a text mean."""
        found = {(names.refs if kind == "ref" else names.sources).get(path): None for kind, path in called(text)}
        return tuple(folded_name(one, self.dialect) for one in found if one)

    def place(self, path: Path) -> str:
        return str(Path(self.shown) / path.relative_to(self.root))

    # -- what the files hold --

    def package(self, folder: Path) -> _Package:
        content = _yaml(folder / PROJECT)
        if not isinstance(content, dict):
            raise InvalidQuestion(f"{folder / PROJECT}: write a mapping, as dbt init does")
        return _Package(str(content.get("name") or folder.name), folder, content)

    def profile(self) -> dict[str, Any]:
        """Return the target of the profile, where profiles.yml lies in the project."""
        path = self.root / "profiles.yml"
        if not path.is_file():
            return {}
        try:
            content = _yaml(path)
            profile = content[self.own.content.get("profile") or self.own.name]
            found = profile["outputs"][profile.get("target") or next(iter(profile["outputs"]))]
            return {key: value for key, value in found.items() if "{{" not in str(value)}
        except InvalidQuestion as error:
            self.problems.append(f"{error.message}; the rest is read")
        except (AttributeError, KeyError, TypeError, StopIteration):
            pass  # No such profile: its names are not known.
        return {}

    def has_custom_alone(self) -> bool:
        """Return whether the project's own `generate_schema_name` seems to take a custom schema as it is, as most do that have one."""
        for folder in self.folders(self.own, "macro"):
            for path in sorted(folder.rglob("*.sql")):
                if (match := _SCHEMA_MACRO.search(self.read(path))) is not None:
                    return not re.search(r"_\s*\{\{|\}\}\s*_|'_'|\"_\"", match.group(1))
        return False

    def variables(self) -> dict[str, str]:
        found = self.own.content.get("vars")
        found = found if isinstance(found, dict) else {}
        inner = found.get(self.own.name)
        both = {**found, **(inner if isinstance(inner, dict) else {})}
        return {str(name): value for name, value in both.items() if isinstance(value, str)}

    def folders(self, package: _Package, kind: str) -> list[Path]:
        listed = package.content.get(f"{kind}-paths") or [f"{kind}s"]
        root = package.folder.resolve()
        found = [package.folder / str(one) for one in (listed if isinstance(listed, list) else [listed])]
        return [one for one in found if one.is_dir() and one.resolve().is_relative_to(root)]

    def models(self, package: _Package) -> Iterator[_Model]:
        for kind, ending in (("model", "*.sql"), ("snapshot", "*.sql"), ("seed", "*.csv")):
            for folder in self.folders(package, kind):
                for path in sorted(one for one in folder.rglob(ending) if one.is_file()):
                    inside = path.relative_to(folder).parts[:-1]
                    text = "" if kind == "seed" else self.read(path)
                    if kind != "snapshot":
                        yield self.model(package, path.stem, kind, path, text, inside)
                        continue
                    for match in _SNAPSHOT.finditer(text):
                        above = "\n" * text.count("\n", 0, match.start(2))
                        yield self.model(package, match.group(1), kind, path, above + match.group(2), inside)
        for owner, name, path, text in self.snapshots:
            if owner is package:
                yield self.model(package, name, "snapshot", path, text, ())

    def model(self, package: _Package, name: str, kind: str, path: Path, text: str, inside: tuple[str, ...]) -> _Model:
        config: dict[str, Any] = {}
        at: Any = self.own.content.get(f"{kind}s")
        for levels in ([], *[[package.name, *inside][:count] for count in range(1, len(inside) + 2)]):
            one = at
            for level in levels:
                one = one.get(level) if isinstance(one, dict) else None
            if isinstance(one, dict):
                config |= {
                    str(key).lstrip("+"): value
                    for key, value in one.items()
                    if not isinstance(value, dict) or str(key).startswith("+")
                }
        config |= self.configs.get((package.name, name), {})
        config |= plain(text).config if text else {}
        return _Model(package.name, name, kind, path, text, config)

    def read_properties(self, package: _Package) -> None:
        """Read the property files: sources, configurations, snapshots of a relation, exposures."""
        for kind in ("model", "snapshot", "seed"):
            for folder in self.folders(package, kind):
                for path in sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")]):
                    try:
                        self.read_property_file(package, path, _mapping(_yaml(path)))
                    except InvalidQuestion as error:
                        self.problems.append(f"{error.message}; the rest is read")
                    except (AttributeError, KeyError, TypeError) as error:
                        self.problems.append(f"{path}: not as dbt writes properties ({error!r}); the rest is read")

    def read_property_file(self, package: _Package, path: Path, content: dict[str, Any]) -> None:
        for group in ("models", "snapshots", "seeds"):
            for one in content.get(group) or ():
                about = {key: one[key] for key in ("meta", "tags") if one.get(key)}
                self.configs[package.name, str(one["name"])] = about | _mapping(one.get("config"))
                listed = [_mapping(version) for version in one.get("versions") or ()]
                numbers = [str(version.get("v")) for version in listed]
                latest = str(one.get("latest_version") or max(numbers, default="", key=_in_order))
                for version, number in zip(listed, numbers, strict=True):
                    file = str(version.get("defined_in") or f"{one['name']}_v{number}")
                    self.versions[package.name, file] = (str(one["name"]), number, number == latest)
                if group == "snapshots" and one.get("relation"):
                    text = f"select * from {{{{ {one['relation']} }}}}"  # noqa: S608 - it is read, never run
                    self.snapshots.append((package, str(one["name"]), path, text))
        for source in content.get("sources") or ():
            for table in source.get("tables") or ():
                parts = (
                    str(source.get("database") or self.database),
                    str(source.get("schema") or source["name"]),
                    str(table.get("identifier") or table["name"]),
                )
                self.sources[str(source["name"]), str(table["name"])] = tuple(part for part in parts if part)
        for one in content.get("exposures") or ():
            text = " ".join(f"{{{{ {each} }}}}" for each in one.get("depends_on") or ())
            self.exposures.append((str(one["name"]), self.place(path), text))

    def header(self, path: Path) -> tuple[str, ...]:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                return tuple(next(csv.reader(file), ()))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            self.problems.append(f"{path}: the header of this seed cannot be read ({error}); the rest is read")
            return ()

    def read(self, path: Path) -> str:
        try:
            if path.stat().st_size > _LARGEST:
                raise OSError(f"larger than {_LARGEST:,} bytes")
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"{path}: cannot be read as UTF-8 text ({error}); the rest is read")
            return ""


def _database(profile: dict[str, Any]) -> str:
    """Return the database of a profile's target; DuckDB calls it as its file is called."""
    named = profile.get("dbname") or profile.get("database") or profile.get("project")
    if not named and profile.get("type") == "duckdb":
        named = Path(str(profile.get("path") or "memory")).stem
    return str(named or "")


def _in_order(version: str) -> tuple[bool, int, str]:
    """Return the key by which versions are ordered: numbers by size, after words."""
    return version.isdigit(), int(version) if version.isdigit() else 0, version


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _yaml(path: Path) -> Any:
    """Decode a file of YAML, every scalar as text. Raises InvalidQuestion, which names the file and the place in it."""
    try:
        return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InvalidQuestion(f"{path}{place}: {getattr(error, 'problem', None) or error}") from error
