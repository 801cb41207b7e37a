"""`headwater entities infer`: draft declarations of entities from observations, for a person to review."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli import figures, output, server
from headwater.cli.figures import Json, Namespace, Url
from headwater.errors import InvalidQuestion


def infer(
    namespace: Namespace = None,
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="Draft only what is around this dataset.")] = None,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Go this many steps around it, both ways.")] = 100,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Look at this many datasets at most, by name.")] = 100,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a file for each entity to this folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Draft declarations of entities from observed runs, with the evidence.

    A draft has the period and the needs of a dataset that a job writes and no entity uses. Datasets without a rhythm, and jobs without evidence of
    needs, are listed.

    Examples:

      headwater entities infer --namespace bigquery > entities.yaml

      headwater entities infer --dataset marts.weekly_reads --depth 2

      headwater entities infer --out entities/ && headwater entities check entities/
    """
    if json and out is not None:
        raise InvalidQuestion("--json and --out exclude each other: give only one", parameter="out")
    node = figures.node(url, dataset, "dataset")
    body = server.ask(url, "/api/v2/entity-drafts", namespace=namespace, node=node, depth=depth, limit=limit)
    if json:
        output.raw(body)
        return
    import msgspec

    found = msgspec.json.decode(body)
    if out is not None:
        _write(found["drafts"], out, force=force)
    else:
        typer.echo("---\n".join(each["yaml"] for each in found["drafts"]), nl=False)
    for line in _besides(found):
        typer.echo(f"# {output.escaped(line)}")


def _write(drafts: list[dict[str, Any]], folder: Path, *, force: bool) -> None:
    """Write all files, or none if one exists."""
    files = {folder / f"{each['entity']}.yaml": each["yaml"] for each in drafts}
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise InvalidQuestion(
            f"{', '.join(there[:5])}{' and others' if len(there) > 5 else ''} {'exists' if len(there) == 1 else 'exist'} already; "
            "--force overwrites them",
            paths=there,
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
        output.line(str(path))


def _besides(found: dict[str, Any]) -> list[str]:
    """Print what was not drafted, and how much."""
    lines = [f"skipped {each['dataset']}: {each['why']}" for each in found["skipped"]]
    for each in found["excluded"]:
        edges = [f"{word} {', '.join(each[word])}" for word in ("reads", "writes") if each[word]]
        lines.append(f"left out {each['job']}: {each['why']}; {'; '.join(edges)}")
    counts = (
        f"drafts: {len(found['drafts']):,}, skipped: {len(found['skipped']):,}, already declared: {found['declared']:,}"
    )
    if found["more"]:
        counts += f", not examined: {found['more']:,} more (--limit, --namespace, --dataset)"
    return [*lines, counts]
