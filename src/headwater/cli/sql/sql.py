"""`headwater sql FILE…`: show what statements read and write, column by column, without a server or database."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.cli.sql.reading import Reading
    from headwater.cli.sql.statements import Line, ParsedStatement


def sql(
    files: Annotated[
        list[str],
        typer.Argument(metavar="PATH…", help="Files, folders of *.sql, dbt projects, or - for standard input."),
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
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write one page that draws the columns, to open in a browser without a server."
        ),
    ] = None,
    openlineage: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE",
            help="Print OpenLineage events with the tables in this namespace; of a dbt project those of dbt-ol, with columns.",
        ),
    ] = None,
    job_namespace: Annotated[
        str, typer.Option(help="Put the jobs of OpenLineage events in this namespace: dbt for dbt's models, else sql.")
    ] = "",
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
    compare_dbt: Annotated[
        bool,
        typer.Option(
            "--compare-dbt",
            help="Show where dbt v2 sees columns otherwise, by the dbt.column_lineage.parquet that it wrote; with --json as JSON.",
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and print what changes whenever a file does; end with Ctrl-C.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a statement is only partly understood or a name is unresolved."),
    ] = False,
) -> None:
    """Parse SQL into column lineage, without a server or a database.

    It shows what each statement reads and writes, column by column.

    The files of a folder, and the models of a dbt project, see what the others create.

    Examples:

      headwater sql my_dbt_project/

      headwater sql my_dbt_project/ --html lineage.html

      headwater sql etl/ --dialect snowflake --schemas target/catalog.json

      echo 'select a + b as c from t' | headwater sql -

      headwater sql load.sql -d bigquery --mermaid > load.mmd

      headwater sql models/ -d spark --schemas schemas.yaml --strict

      headwater sql my_dbt_project/ --compare-dbt
    """
    forms = {
        "--json": json,
        "--mermaid": mermaid,
        "--dot": dot,
        "--html": html is not None,
        "--openlineage": openlineage is not None,
    }
    chosen = [option for option, given in forms.items() if given]
    beside_json = {"--fingerprint": fingerprint, "--compare-dbt": compare_dbt}
    chosen += [option for option, given in beside_json.items() if given and chosen != ["--json"]]
    if watch and (chosen or strict or compare_dbt or "-" in files):
        raise InvalidQuestion(
            "--watch prints text, of files: leave out --strict, --compare-dbt, -, and every other form"
        )
    if len(chosen) > 1:
        raise InvalidQuestion(f"{' and '.join(chosen)} exclude each other")
    need("sql", "headwater sql")
    from headwater.cli.sql.reading import Options, Reading

    options = Options(dialect, tuple(schemas or ()), database, schema, through_views, tuple(convention or ()))
    reading = Reading(files, options)
    if watch:
        _watch(reading, files, tables_only=table_level)
        return
    if compare_dbt:
        _compare(reading, files, as_json=json)
        return
    dialect = reading.dialect
    found = reading.statements(streaming=not chosen)
    troubled: list[ParsedStatement] = []
    if not chosen or chosen == ["--fingerprint"]:
        troubled = _print_plain(found, dialect, tables_only=table_level, fingerprints=fingerprint)
    else:
        every = list(found)
        troubled = [one for one in every if not one.settled]
        if html is not None:
            _write_page(every, reading, html, ", ".join(files))
        else:
            _print_whole(every, reading, chosen[0], table_level, fingerprint, (openlineage or "", job_namespace))
    for problem in reading.problems:
        sys.stderr.write(f"headwater: {output.escaped(problem)}\n")
    if strict and (troubled or reading.problems):
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


def _watch(reading: Reading, files: list[str], *, tables_only: bool) -> None:
    """Print what is there, then what changes, until the user ends it."""
    from headwater.cli.sql import statements
    from headwater.cli.sql.watching import changes

    write = _writer()
    with suppress(KeyboardInterrupt):
        for new, total, gone, seconds in changes(reading, files):
            for one in new:
                for line in statements.lines(one, tables_only=tables_only):
                    write(line)
                write([])
            for problem in reading.problems:
                sys.stderr.write(f"headwater: {output.escaped(problem)}\n")
            lost = f", {output.counted(gone, 'file')} gone" if gone else ""
            changed = output.counted(total, "statement")
            write([(f"{len(new):,} of {changed} new or changed{lost} ({seconds:.1f} s)", "bold")])
            sys.stdout.flush()


def _compare(reading: Reading, files: list[str], *, as_json: bool) -> None:
    need("export", "headwater sql --compare-dbt")
    import msgspec

    from headwater.cli.sql.opinions import compare, lines

    comparison = compare(reading.statements(), reading, files)
    if as_json:
        differences = [one._asdict() for one in comparison.differences]
        output.raw(msgspec.json.encode(comparison._replace(differences=[])._asdict() | {"differences": differences}))
        return
    for line in lines(comparison):
        print(output.escaped(line))


def _write_page(found: list[ParsedStatement], reading: Reading, path: Path, title: str) -> None:
    from headwater.cli.sql import project_page, statements

    counts: Counter[str] = Counter()
    for one in found:
        statements.count(counts, one)
    content = project_page.graph(found, reading.dependents())
    project_page.write(path, project_page.page(title, statements.closing(counts), content))
    print(f"{output.escaped(str(path))}: {statements.closing(counts)}")


def _print_whole(
    found: list[ParsedStatement],
    reading: Reading,
    form: str,
    tables_only: bool,
    fingerprints: bool,
    namespaces: tuple[str, str],
) -> None:
    import msgspec

    from headwater.cli.sql import column_graph, statements

    dialect = reading.dialect
    if form == "--json":
        made = statements.as_json(found, dialect, tables_only=tables_only, fingerprints=fingerprints)
        dependents = [statements.dependent(one) for one in reading.dependents()]
        output.raw(msgspec.json.encode(made | ({"dependents": dependents} if reading.dbt else {})))
    elif form == "--openlineage":
        from headwater.cli.sql.events import events

        output.raw(msgspec.json.encode(events(found, reading, *namespaces)))
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
