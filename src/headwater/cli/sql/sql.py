"""`headwater sql FILE…`: show what statements read and write, column by column, without a server or database."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.cli.sql.statements import Line, ParsedStatement
    from headwater.columns import Catalog
    from headwater.columns.session import Conventions


def sql(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Files, folders (every *.sql below), or - for standard input.")
    ],
    dialect: Annotated[
        str,
        typer.Option("--dialect", "-d", help="Parse as bigquery, snowflake, spark, …; an unknown name lists them all."),
    ] = "",
    schemas: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help='Read columns of tables from JSON or YAML, {"db.table": ["column", …]}, or from dbt\'s catalog.json. Repeatable.',
        ),
    ] = None,
    database: Annotated[str, typer.Option(help="Use this database (project, catalog) for names without one.")] = "",
    schema: Annotated[str, typer.Option(help="Use this schema (dataset) for names without one.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")] = False,
    dot: Annotated[bool, typer.Option("--dot", help="Print a Graphviz graph.")] = False,
    openlineage: Annotated[
        str | None,
        typer.Option(metavar="NAMESPACE", help="Print OpenLineage JobEvents with the tables in this namespace."),
    ] = None,
    job_namespace: Annotated[str, typer.Option(help="Put the jobs of OpenLineage events in this namespace.")] = "sql",
    through_views: Annotated[
        bool,
        typer.Option(
            "--through-views",
            help="Read a view as its query: one the text creates, or one of --schemas with its query in place of its columns.",
        ),
    ] = False,
    convention: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Count as another tool does: ddl-writes, no-except-right, no-lateral-aliases, struct-leaves, no-shards. Repeatable.",
        ),
    ] = None,
    table_level: Annotated[bool, typer.Option("--table-level", help="Show tables only, no columns.")] = False,
    fingerprint: Annotated[
        bool, typer.Option("--fingerprint", help="Show each statement's fingerprint and its text without values.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a statement is only partly understood or a name is unresolved."),
    ] = False,
) -> None:
    """Parse SQL into column lineage, without a server or a database.

    It shows what each statement reads and writes, column by column.

    Examples:

      headwater sql etl/ --dialect snowflake --schemas target/catalog.json

      echo 'select a + b as c from t' | headwater sql -

      headwater sql load.sql -d bigquery --mermaid > load.mmd

      headwater sql models/ -d spark --schemas schemas.yaml --strict
    """
    forms = {"--json": json, "--mermaid": mermaid, "--dot": dot, "--openlineage": openlineage is not None}
    chosen = [option for option, given in forms.items() if given]
    if fingerprint and chosen != ["--json"]:
        chosen.append("--fingerprint")
    if len(chosen) > 1:
        raise InvalidQuestion(f"{' and '.join(chosen)} exclude each other")
    need("sql", "headwater sql")
    options = (through_views, tuple(convention or ()))
    found = _analysed(files, dialect, schemas or [], database, schema, options, streaming=not chosen)
    troubled: list[ParsedStatement] = []
    if not chosen or chosen == ["--fingerprint"]:
        troubled = _print_plain(found, dialect, tables_only=table_level, fingerprints=fingerprint)
    else:
        every = list(found)
        troubled = [one for one in every if not one.settled]
        _print_whole(every, chosen[0], dialect, table_level, fingerprint, (openlineage or "", job_namespace))
    if strict and troubled:
        for one in troubled:
            sys.stderr.write(f"{output.escaped(one.place)}: {output.escaped(_trouble(one))}\n")
        raise typer.Exit(1)


def _print_plain(
    found: Iterator[ParsedStatement], dialect: str, *, tables_only: bool, fingerprints: bool
) -> list[ParsedStatement]:
    """Print statement by statement, and return those that `--strict` reports."""
    from headwater.cli.sql import statements

    write = _writer()
    counts: Counter[str] = Counter()
    troubled = []
    for one in found:
        statements.count(counts, one)
        if not one.settled:
            troubled.append(one)
        if fingerprints:
            print("\t".join(output.escaped(text) for text in statements.shape(one, dialect)))
            continue
        for line in statements.lines(one, tables_only=tables_only):
            write(line)
        write([])
    if not fingerprints:
        write([(statements.closing(counts), "bold")])
    return troubled


def _print_whole(
    found: list[ParsedStatement],
    form: str,
    dialect: str,
    tables_only: bool,
    fingerprints: bool,
    namespaces: tuple[str, str],
) -> None:
    import msgspec

    from headwater.cli.sql import column_graph, statements

    if form == "--json":
        told: Any = statements.as_json(found, dialect, tables_only=tables_only, fingerprints=fingerprints)
        output.raw(msgspec.json.encode(told))
    elif form == "--openlineage":
        output.raw(msgspec.json.encode(statements.events(found, dialect, *namespaces)))
    else:
        graph = column_graph.Graph(found, tables_only=tables_only)
        print(column_graph.mermaid(graph) if form == "--mermaid" else column_graph.dot(graph))


def _trouble(found: ParsedStatement) -> str:
    told = found.statement
    reasons = list(told.warnings) if told.level != "full" else []
    if told.level != "full" and not (reasons or told.unresolved):
        reasons = ["not understood in full"]
    return "; ".join([*reasons, *(f"{one.name} is unresolved: {one.reason}" for one in told.unresolved)])


def _writer() -> Callable[[Line], None]:
    """Return a writer of lines to standard output: with colours on a terminal, plain elsewhere."""
    if not sys.stdout.isatty():
        return lambda line: print("".join(text for text, _ in line).rstrip())
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    return lambda line: console.print(Text.assemble(*line))


# -- reading --


def _analysed(
    files: list[str],
    dialect: str,
    schemas: list[Path],
    database: str,
    schema: str,
    options: tuple[bool, tuple[str, ...]],
    *,
    streaming: bool,
) -> Iterator[ParsedStatement]:
    """Analyse every statement of every file. Files are independent: tables that one creates are unknown to another."""
    from headwater.cli.sql.statements import ParsedStatement
    from headwater.columns import Session, analyse

    through_views, conventions = options[0], _conventions(options[1])
    catalog = _catalog(dialect, schemas)
    views = _views(schemas) if through_views else ""
    paths = _paths(files)
    database, schema = _folded(database, dialect), _folded(schema, dialect)
    with _progress(len(paths), shown=not (streaming and sys.stdout.isatty())) as advance:
        for path in paths:
            text = _text(path)
            session = Session(database, schema, through_views=through_views, conventions=conventions)
            if views:
                analyse(views, dialect, catalog, session)
            for statement in analyse(text, dialect, catalog, session):
                yield ParsedStatement("stdin" if path == "-" else path, text, statement)
            advance()


def _conventions(names: tuple[str, ...]) -> Conventions:
    import msgspec

    from headwater.columns.session import Conventions

    chosen: dict[str, bool] = {}
    for name in names:
        key = name.removeprefix("no-").replace("-", "_")
        if key not in Conventions.__struct_fields__:
            known = ", ".join(one.replace("_", "-") for one in Conventions.__struct_fields__)
            raise InvalidQuestion(f"no convention is called {name!r}; there are {known}, each also with no- before it")
        chosen[key] = not name.startswith("no-")
    return msgspec.structs.replace(Conventions(), **chosen)


def _views(schemas: list[Path]) -> str:
    """The views of the schemas as a script that creates them."""
    from headwater.cli.sql.schemas import views

    return "".join(
        f"create view {name} as {text.strip().rstrip(';')};\n" for path in schemas for name, text in views(path).items()
    )


def _catalog(dialect: str, schemas: list[Path]) -> Catalog:
    from headwater.cli.sql.schemas import read
    from headwater.columns import Catalog
    from headwater.columns.dialect import rules

    try:
        rules(dialect)
    except ValueError as error:
        raise InvalidQuestion(str(error)) from error
    tables: dict[str | tuple[str, ...], list[str]] = {}
    for path in schemas:
        tables |= read(path, dialect)
    return Catalog(tables, dialect)


def _folded(name: str, dialect: str) -> str:
    """Fold a default name as the dialect folds names in a text; a quoted name stays."""
    from headwater.columns.catalog import split_name
    from headwater.columns.dialect import fold, rules

    rule = rules(dialect)
    if name[:1] in {'"', "`", "["}:
        return split_name(name)[0] if split_name(name) else ""
    return name if rule.tables_sensitive else fold(name, False, rule)


def _paths(files: list[str]) -> list[str]:
    """Expand folders to the *.sql files below them, in order; each file once."""
    found: dict[str, None] = {}
    for given in files:
        path = Path(given)
        if given == "-" or path.is_file():
            found[given] = None
        elif path.is_dir():
            below = sorted(str(one) for one in path.rglob("*.sql") if one.is_file())
            if not below:
                raise InvalidQuestion(f"{given}: this folder has no *.sql file")
            found.update(dict.fromkeys(below))
        elif path.exists():
            found[given] = None  # a pipe, as in <(…)
        else:
            raise InvalidQuestion(f"{given}: no such file or folder")
    return list(found)


def _text(path: str) -> str:
    """Read a file's text: UTF-8, or UTF-16 by its first bytes. Other bytes become replacement characters, with a warning."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    encoding, called = ("utf-16", "UTF-16") if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else ("utf-8-sig", "UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = "stdin" if path == "-" else path
        typer.echo(f"{where}: byte {error.start} is not {called}; such bytes are read as \ufffd", err=True)
        return data.decode(encoding, "replace")


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Draw a bar on standard error if it is a terminal and work takes longer than a second; clear it at the end."""
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    bar = Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=total)
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
