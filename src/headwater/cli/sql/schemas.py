"""Files with the columns of tables, for `headwater sql --schemas`: JSON or YAML of Headwater's plain shape, dbt's artifacts, or CSV as
`information_schema.columns` gives it (table_schema, table_name, column_name, and table_catalog, ordinal_position if they are there).

A list of columns must be complete, so a dbt manifest gives only models with an enforced contract: what it documents besides may be
incomplete. Every mistake raises an InvalidQuestion that names the file and the place in it.
"""

from pathlib import Path
from typing import Any

from headwater.capture.dbt.manifest import catalog_columns, contract_columns
from headwater.errors import InvalidQuestion

Tables = dict[str | tuple[str, ...], list[str] | dict[str, str]]
"""Columns by table; with their types where a file gives them, for the fields of structs."""
_SHAPE = 'write tables as {"db.table": ["column", …]} or {"db.table": {"column": "type"}}'


def read(path: Path, dialect: str) -> Tables:
    """Read the tables of a file. Unquoted names of the plain shape fold as the dialect does; quoted names, and dbt's, stay."""
    if path.suffix.lower() == ".csv":
        return _listed(path)
    content: Any = _decoded(path)
    if not isinstance(content, dict):
        raise InvalidQuestion(f"{path}: {_SHAPE}; the file holds {_called(content)}")
    about: Any = content.get("metadata")
    version = str(about.get("dbt_schema_version") or "") if isinstance(about, dict) else ""
    if "/catalog/" in version:
        return {relation: columns for relation, columns in catalog_columns(path) if columns}
    if "/manifest/" in version:
        found: Tables = {relation: columns for relation, columns in contract_columns(path) if columns}
        if not found:
            raise InvalidQuestion(
                f"{path}: no model of this manifest enforces a contract, so its lists of columns may be incomplete; "
                "give catalog.json, which `dbt docs generate` writes"
            )
        return found
    if version:
        raise InvalidQuestion(f"{path}: this dbt artifact has no columns; give catalog.json")
    return _plain(path, content, dialect)


def _decoded(path: Path) -> Any:
    import json

    import yaml

    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidQuestion(f"{path}: byte {error.start} is not UTF-8") from error
    try:
        if path.suffix.lower() == ".json":
            return json.loads(text)
        # Every scalar is text: a column may be named `on` or `no`.
        return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506
    except json.JSONDecodeError as error:
        raise InvalidQuestion(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InvalidQuestion(f"{path}{place}: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise InvalidQuestion(f"{path}: is nested too deep") from error


def _listed(path: Path) -> Tables:
    """Read one column per row; names stay as written."""
    import csv

    found: dict[tuple[str, ...], list[tuple[int, str, str]]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            heads = {head.strip().lower(): head for head in reader.fieldnames or ()}
            for needed in ("table_name", "column_name"):
                if needed not in heads:
                    raise InvalidQuestion(f"{path}: lacks the column {needed}; it has {', '.join(heads) or 'none'}")
            for number, row in enumerate(reader, 1):
                values = {name: (row[head] or "").strip() for name, head in heads.items()}
                if not values["table_name"] or not values["column_name"]:
                    raise InvalidQuestion(f"{path}:{reader.line_num}: a table or a column has no name")
                parts = (values.get("table_catalog", ""), values.get("table_schema", ""), values["table_name"])
                place = values.get("ordinal_position") or str(number)
                if not place.isascii() or not place.isdigit():
                    raise InvalidQuestion(f"{path}:{reader.line_num}: ordinal_position {place!r} is not a number")
                columns = found.setdefault(tuple(part for part in parts if part), [])
                columns.append((int(place), values["column_name"], values.get("data_type", "")))
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidQuestion(f"{path} is not CSV in UTF-8: {error}") from error
    if not found:
        raise InvalidQuestion(f"{path}: lists no column")
    return {table: {name: kind for _, name, kind in sorted(columns)} for table, columns in found.items()}


def _plain(path: Path, tables: dict[Any, Any], dialect: str) -> Tables:
    from headwater.columns.catalog import folded_name, split_name

    found: Tables = {}
    for name, columns in tables.items():
        if isinstance(columns, str):  # A view, by its query (`views`).
            continue
        quoted = any(quote in str(name) for quote in '"`[')
        parts = split_name(str(name)) if quoted else folded_name(str(name), dialect)
        if not parts:
            raise InvalidQuestion(f"{path}: a table has no name; {_SHAPE}")
        found[parts] = _columns(path, str(name), columns)
    if not (found or tables):
        raise InvalidQuestion(f"{path}: lists no table; {_SHAPE}")
    return found


def views(path: Path) -> dict[str, str]:
    """Read the queries of views: `{"db.view": "select …"}` in a file of the plain shape."""
    content: Any = {} if path.suffix.lower() == ".csv" else _decoded(path)
    if not isinstance(content, dict) or "metadata" in content:
        return {}
    return {str(name): text for name, text in content.items() if isinstance(text, str)}


def _columns(path: Path, table: str, columns: Any) -> list[str] | dict[str, str]:
    if isinstance(columns, dict) and all(isinstance(one, str) and one for one in (*columns, *columns.values())):
        return columns
    if isinstance(columns, dict):
        columns = list(columns)
    if not isinstance(columns, list):
        raise InvalidQuestion(f"{path}: {table}: columns must be a list of names or a mapping, not {_called(columns)}")
    found = []
    for place, column in enumerate(columns, 1):
        name = column.get("name") if isinstance(column, dict) else column
        if not isinstance(name, str) or not name:
            raise InvalidQuestion(f"{path}: {table}: column {place} must be a name, not {_called(column)}")
        found.append(name)
    return found


def _called(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    words: dict[type, str] = {dict: "a mapping", list: "a list", str: f"the text {str(value)[:40]!r}"}
    return words.get(type(value), repr(value)[:40])
