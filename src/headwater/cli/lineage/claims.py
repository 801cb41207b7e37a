"""`headwater claims`: who disagrees about an edge."""

from typing import Annotated

import typer

from headwater.cli.lineage.graph import AsOf, Json, Url, conflicts
from headwater.cli.lineage.perspectives import perspectives
from headwater.errors import InvalidQuestion


def claims(
    node: Annotated[str | None, typer.Argument(metavar="X", help="A dataset or job. Default: all jobs.")] = None,
    kind: Annotated[str | None, typer.Option(help="List only conflicts of this kind, as the table names it.")] = None,
    sources: Annotated[
        bool,
        typer.Option(
            "--sources", help="Compare the graphs that the query log, dbt, Airflow and others report instead."
        ),
    ] = False,
    perspective: Annotated[
        str | None, typer.Option(help="With --sources: list only edges that this one reports: `query-log`, `dbt`, …")
    ] = None,
    disagreement: Annotated[
        list[str] | None,
        typer.Option(help="With --sources: list only `in_no_dag`, `untold_by_its_job` or `never_seen`. Repeatable."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="With --sources: include edges on which all agree.")] = False,
    namespace: Annotated[str | None, typer.Option(help="List only edges of this namespace.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many rows.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="With --sources: skip this many edges first.")] = 0,
    after: Annotated[str | None, typer.Option(help="Continue after this cursor of an earlier page.")] = None,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="With --sources: print CSV.")] = False,
) -> None:
    """List the edges that producers disagree about, and who says what.

    Claims of runs, manifests, people, explicit lineage and column lineage are compared. With --sources whole graphs are: the edges that the query
    log, dbt or Airflow reports and another does not.

    Examples:

      headwater claims clean-flights

      headwater claims --kind declared_not_observed --json

      headwater claims --sources --disagreement never_seen
    """
    of_sources = perspective or disagreement or every or csv or offset
    if not sources:
        if of_sources:
            raise InvalidQuestion("--perspective, --disagreement, --all, --offset and --csv go with --sources; add it")
        conflicts(node, namespace=namespace, kind=kind, limit=limit, after=after, as_of=as_of, url=url, json=json)
        return
    if node or kind or after or as_of:
        raise InvalidQuestion(
            "--sources compares whole graphs: leave out X, --kind, --after and --as-of, or leave out --sources"
        )
    perspectives(namespace, perspective, disagreement, every, limit, offset, url, json, csv)
