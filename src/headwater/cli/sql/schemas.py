"""Files that say which columns tables have, for `headwater sql --schemas`: JSON or YAML of our own plain shape, dbt's artifacts, or CSV as
`information_schema.columns` gives it (table_schema, table_name, column_name, and table_catalog, ordinal_position if they are there).

A list of columns is taken as all of them, so a dbt manifest gives only models whose contract is enforced: what it documents beside
those need not be complete. Everything wrong is an InvalidQuestion that names the file and the place in it.
"""

from pathlib import Path
from typing import Any

from headwater.errors import InvalidQuestion

Tables = dict[str | tuple[str, ...], list[str]]
_SHAPE = 'tables are told as {"db.table": ["column", …]} or {"db.table": {"column": "type"}}'


def read(path: Path, dialect: str) -> Tables:
    """The tables of a file. Names of our own shape fold as the dialect folds unquoted ones; those in quotes, and dbt's, stay."""
    if path.suffix.lower() == ".csv":
        return _listed(path)
    told: Any = _decoded(path)
    if not isinstance(told, dict):
        raise InvalidQuestion(f"{path}: {_SHAPE}; the file holds {_called(told)}")
    about: Any = told.get("metadata")
    version = str(about.get("dbt_schema_version") or "") if isinstance(about, dict) else ""
    if "/catalog/" in version:
        return _dbt(path, told, _catalog_columns)
    if "/manifest/" in version:
        found = _dbt(path, told, _manifest_columns)
        if not found:
            raise InvalidQuestion(
                f"{path}: no model of this manifest enforces a contract, so no list of columns in it is known to be whole; "
                "give catalog.json, which `dbt docs generate` writes"
            )
        return found
    if version:
        raise InvalidQuestion(f"{path}: this artifact of dbt tells no columns; catalog.json does")
    return _plain(path, told, dialect)


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
        # Every scalar is text: a column may be called `on` or `no`.
        return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506
    except json.JSONDecodeError as error:
        raise InvalidQuestion(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InvalidQuestion(f"{path}{place}: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise InvalidQuestion(f"{path}: nests too deep") from error


def _listed(path: Path) -> Tables:
    """A row a column; names as they stand."""
    import csv

    found: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            heads = {head.strip().lower(): head for head in reader.fieldnames or ()}
            for needed in ("table_name", "column_name"):
                if needed not in heads:
                    raise InvalidQuestion(
                        f"{path}: there is no column {needed}; there are {', '.join(heads) or 'none'}"
                    )
            for number, row in enumerate(reader, 1):
                told = {name: (row[head] or "").strip() for name, head in heads.items()}
                if not told["table_name"] or not told["column_name"]:
                    raise InvalidQuestion(f"{path}:{reader.line_num}: a table or a column has no name")
                parts = (told.get("table_catalog", ""), told.get("table_schema", ""), told["table_name"])
                place = told.get("ordinal_position") or str(number)
                if not place.isascii() or not place.isdigit():
                    raise InvalidQuestion(f"{path}:{reader.line_num}: ordinal_position {place!r} is no number")
                columns = found.setdefault(tuple(part for part in parts if part), [])
                columns.append((int(place), told["column_name"]))
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidQuestion(f"{path} is no CSV in UTF-8: {error}") from error
    if not found:
        raise InvalidQuestion(f"{path}: no column is told")
    return {table: [name for _, name in sorted(columns)] for table, columns in found.items()}


def _plain(path: Path, told: dict[Any, Any], dialect: str) -> Tables:
    from headwater.columns.catalog import split_name
    from headwater.columns.dialect import fold, rules

    rule = rules(dialect)
    found: Tables = {}
    for name, columns in told.items():
        parts = split_name(str(name))
        if not parts:
            raise InvalidQuestion(f"{path}: a table has no name; {_SHAPE}")
        if rule.fold != "same" and not any(quote in str(name) for quote in '"`['):
            parts = tuple(fold(part, False, rule) for part in parts)
        found[parts] = _columns(path, str(name), columns)
    if not found:
        raise InvalidQuestion(f"{path}: no table is told; {_SHAPE}")
    return found


def _columns(path: Path, table: str, columns: Any) -> list[str]:
    if isinstance(columns, dict):
        columns = list(columns)
    if not isinstance(columns, list):
        raise InvalidQuestion(f"{path}: {table}: columns are a list of names or a mapping, not {_called(columns)}")
    found = []
    for place, column in enumerate(columns, 1):
        name = column.get("name") if isinstance(column, dict) else column
        if not isinstance(name, str) or not name:
            raise InvalidQuestion(f"{path}: {table}: column {place} should be a name, not {_called(column)}")
        found.append(name)
    return found


def _dbt(path: Path, told: dict[str, Any], columns_of: Any) -> Tables:
    found: Tables = {}
    for group in ("nodes", "sources"):
        nodes = told.get(group)
        for key, node in nodes.items() if isinstance(nodes, dict) else ():
            try:
                parts, columns = columns_of(node)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InvalidQuestion(f"{path}: {group}.{key} is not as dbt writes it ({error})") from error
            if columns:
                found[tuple(str(part) for part in parts if part)] = columns
    return found


def _catalog_columns(node: dict[str, Any]) -> tuple[tuple[Any, ...], list[str]]:
    about = node["metadata"]
    columns = sorted(node["columns"].values(), key=lambda column: int(column["index"]))
    return (about.get("database"), about["schema"], about["name"]), [str(column["name"]) for column in columns]


def _manifest_columns(node: dict[str, Any]) -> tuple[tuple[Any, ...], list[str]]:
    contract = (node.get("config") or {}).get("contract") or {}
    if not contract.get("enforced"):
        return (), []
    name = node.get("alias") or node.get("identifier") or node["name"]
    return (node.get("database"), node["schema"], name), [str(one["name"]) for one in node["columns"].values()]


def _called(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    words: dict[type, str] = {dict: "a mapping", list: "a list", str: f"the text {str(value)[:40]!r}"}
    return words.get(type(value), repr(value)[:40])
