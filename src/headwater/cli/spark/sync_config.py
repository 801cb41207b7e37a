"""The file of `headwater sync query-log --config`: facts about a warehouse that its log lacks. YAML:

    schemas:                                    # columns of tables, for SELECT * and columns without a table's name
      - {namespace: bigquery, file: target/catalog.json}
      - {namespace: bigquery, server: true}     # what the server knows of them
    storage:                                    # how large tables are
      - {namespace: bigquery, file: sizes.csv}
    kept:                                       # never advised away
      - {namespace: bigquery, name: acme.audit.*}
      - {namespace: bigquery, lookml: looker/}  # what the explores of a LookML project ask
    who:                                        # who.Config
      users: {svc_*: service}
    dbt:
      - {run_results: runs/*/run_results.json, manifest: target/manifest.json}
    looker_history: [history/*.csv]
    asset_names: [assets.csv]
    lookml: [looker/]                           # a LookML project: names of its dashboards and explores

Paths are relative to the file. Every mistake raises an InvalidQuestion that names the file and the place in it.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.errors import InvalidQuestion, NotFound, UnreadableContent
from headwater.pipeline.query_log.who.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headwater.pipeline.query_log.declared import Exports, RetainedTable, Stored

# Columns with a table's size in bytes: BigQuery's TABLE_STORAGE and Snowflake's TABLE_STORAGE_METRICS have the second and third.
_BYTES = ("bytes", "total_logical_bytes", "active_bytes")
_NAME = ("name", "table")
_PARTS = (("table_catalog", "project_id"), ("table_schema",), ("table_name",))


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file. An unknown key is an error."""


class _Schemas(_Part, frozen=True):
    namespace: str
    file: str | None = None
    server: bool = False


class _Storage(_Part, frozen=True):
    file: str
    namespace: str | None = None


class _RetentionRule(_Part, frozen=True):
    name: str | None = None
    lookml: str | None = None
    namespace: str | None = None


class _Dbt(_Part, frozen=True):
    run_results: str
    manifest: str | None = None


class _Who(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _File(_Part, frozen=True):
    schemas: list[_Schemas] = []
    storage: list[_Storage] = []
    kept: list[_RetentionRule] = []
    who: _Who = _Who()
    dbt: list[_Dbt] = []
    looker_history: list[str] = []
    asset_names: list[str] = []
    lookml: list[str] = []


class SyncConfig(msgspec.Struct, frozen=True):
    """The file's content, with the files that it names read, except exports, which Spark reads."""

    who: Config
    schemas: dict[str, dict[str, list[str]]] | None
    storage: tuple[Stored, ...]
    kept: tuple[RetainedTable, ...]
    exports: Exports


def read(path: Path, dialect: str, server: Callable[[str], Mapping[str, list[str]]]) -> SyncConfig:
    """Read the file at `path`. `dialect`: how the log folds names. `server`: namespace → tables (dotted) → columns that a server knows."""
    from headwater.pipeline.query_log.declared import Dbt, Exports

    content = _decoded(path)
    folder = path.parent
    schemas: dict[str, dict[str, list[str]]] = {}
    for place, one in enumerate(content.schemas):
        if one.server == (one.file is not None):
            raise InvalidQuestion(f"{path}: schemas[{place}] needs either file or server: true", field="schemas")
        tables = server(one.namespace) if one.file is None else _schemas(folder / one.file, dialect)
        known = schemas.setdefault(one.namespace, {})
        known.update({name: columns for name, columns in tables.items() if name not in known})
    for place, dbt in enumerate(content.dbt):
        if not dbt.run_results:
            raise InvalidQuestion(f"{path}: dbt[{place}].run_results names no file", field="dbt")
    return SyncConfig(
        Config(**{name: getattr(content.who, name) for name in Config.__struct_fields__}),
        schemas or None,
        tuple(one for each in content.storage for one in _sizes(folder / each.file, each.namespace)),
        tuple(each for place, one in enumerate(content.kept) for each in _retained_tables(path, place, one)),
        Exports(
            tuple(
                Dbt(_at(folder, one.run_results), None if one.manifest is None else _at(folder, one.manifest))
                for one in content.dbt
            ),
            tuple(_at(folder, one) for one in content.looker_history),
            tuple(_at(folder, one) for one in content.asset_names),
            tuple(_at(folder, one) for one in content.lookml),
        ),
    )


def _retained_tables(path: Path, place: int, content: _RetentionRule) -> tuple[RetainedTable, ...]:
    from headwater.pipeline.query_log.declared import RetainedTable, lookml_tables

    if (content.name is None) == (content.lookml is None):
        raise InvalidQuestion(f"{path}: kept[{place}] needs either name or lookml", field="kept")
    if content.lookml is None:
        return (RetainedTable(content.name or "", content.namespace),)
    try:
        return lookml_tables(_at(path.parent, content.lookml), content.namespace)
    except (NotFound, UnreadableContent) as error:
        raise InvalidQuestion(f"{path}: kept[{place}]: {error.message}", field="kept") from error


def _at(folder: Path, path: str) -> str:
    return path if "://" in path else str(folder / path)


def _decoded(path: Path) -> _File:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidQuestion(f"{path} cannot be read: {error}", file=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        words = getattr(error, "problem", None) or error
        raise InvalidQuestion(f"{path}{place}: {words}", file=str(path)) from error
    try:
        return msgspec.convert({} if content is None else content, _File)
    except msgspec.ValidationError as error:
        raise InvalidQuestion(f"{path}: {error}", file=str(path)) from error


def _schemas(path: Path, dialect: str) -> dict[str, list[str]]:
    from headwater.cli.sql import schemas

    found: dict[str, list[str]] = {}
    for name, columns in schemas.read(path, dialect).items():
        parts = (name,) if isinstance(name, str) else name
        found[".".join(_quoted(part) for part in parts)] = list(columns)
    return found


def _quoted(part: str) -> str:
    return part if part.replace("_", "").replace("-", "").isalnum() else '"' + part.replace('"', '""') + '"'


def _sizes(path: Path, namespace: str | None) -> Iterator[Stored]:
    """Read CSV with a heading or JSON lines: `bytes`, the table as `name` or in parts, and `namespace` if the config has none."""
    from headwater.pipeline.query_log.declared import Stored

    found: dict[tuple[str, str], int] = {}
    for number, row in _rows(path):
        known = {str(key).strip().lower(): value for key, value in row.items() if value not in {None, ""}}
        name = _first(known, _NAME) or ".".join(str(part) for names in _PARTS if (part := _first(known, names)))
        where = known.get("namespace", namespace)
        size = _first(known, _BYTES)
        if not name or not where or size is None:
            lacks = "a name" if not name else "a namespace" if not where else f"one of {', '.join(_BYTES)}"
            raise InvalidQuestion(f"{path}:{number}: the table lacks {lacks}", file=str(path), line=number)
        try:
            count = int(str(size))
        except ValueError:
            count = -1
        if not 0 <= count < 1 << 63:
            raise InvalidQuestion(f"{path}:{number}: {size!r} is not a number of bytes", file=str(path), line=number)
        key = (str(where), str(name))
        found[key] = max(count, found.get(key, 0))
    return (Stored(*key, size) for key, size in found.items())


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a file with their line numbers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() == ".csv":
                reader = csv.DictReader(file)
                for row in reader:
                    yield reader.line_num, {key: value for key, value in row.items() if key is not None}
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise InvalidQuestion(
                            f"{path}:{number}: the line is not a JSON object", file=str(path), line=number
                        )
                    yield number, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidQuestion(f"{path} cannot be read: {error}", file=str(path)) from error
    except json.JSONDecodeError as error:
        raise InvalidQuestion(f"{path}: a line is not JSON: {error}", file=str(path)) from error
