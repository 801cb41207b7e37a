"""`headwater capture`: the settings that switch capture on, and a check that it works."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli import output
from headwater.cli.extras import need

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

capture = typer.Typer(
    help="Switch the capture of Spark programs on, and check it.", rich_markup_mode=None, no_args_is_help=True
)


@capture.command()
def env(
    platform: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="PLATFORM",
            help="submit, standalone, yarn, kubernetes, databricks, emr, dataproc, glue, connect, notebook, airflow or dagster.",
        ),
    ],
    url: Annotated[str | None, typer.Option(help="The server's address, as the driver reaches it.")] = None,
    namespace: Annotated[str, typer.Option(help="The namespace of the applications' jobs.")] = "",
    json: Json = False,
) -> None:
    """Print the settings that switch capture on, for the platform that runs Spark.

    Examples:

      headwater capture env --for submit --url http://lineage:5000

      headwater capture env --for yarn --url https://lineage.example.com --namespace etl
    """
    from headwater.capture.spark import platforms, printed

    if platform not in platforms.NAMES:
        raise typer.BadParameter(f"--for: {platform!r} is not one of {', '.join(platforms.NAMES)}")
    try:
        target = platforms.Target(namespace=namespace) if url is None else platforms.Target(url, namespace)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    found = platforms.platform(platform, target)
    if json:
        output.json_line(found)
    else:
        for line in printed.platform_lines(found):
            typer.echo(line)


@capture.command()
def check(
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's address (default: the configured one, else local[1]).")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A folder that driver and executors share (default: a temporary one on this machine)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run a small Spark job, and say what was seen of it, what was not, and where the events went.

    Examples:

      headwater capture check

      headwater capture check --master spark://spark:7077 --folder s3a://bucket/tmp/check

    The exit code is 1 if something is wrong: the last lines say what, and what to do.
    """
    need("spark", "a check of capture")
    from headwater.capture.spark import printed
    from headwater.capture.spark.check import check as run_check

    found = run_check(master, folder)
    if json:
        output.json_line(found)
    else:
        for line in printed.report_lines(found):
            typer.echo(output.printable(line))
    raise typer.Exit(0 if found.right else 1)
