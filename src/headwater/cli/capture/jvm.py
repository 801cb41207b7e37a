"""`headwater jvm -- COMMAND`: run a command whose packages share one JVM."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer


def jvm(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND [ARGS]", help="The command to run.")],
    *,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append the JVM's output to FILE instead of writing it to stderr."),
    ] = None,
) -> None:
    """Run a command whose Spark packages share one JVM.

    Each package that `headwater run` starts below the command keeps its own Python process, SparkContext and properties, and saves
    the start of a JVM. A package with properties that only take effect when a JVM starts (spark.driver.*, spark.jars*) still gets its own.

    Examples:

      headwater jvm --log spark.log -- ./run-all.sh

      headwater jvm -- headwater backfill apply 01a20915-1425-7e72-8745-a8cd3b6f7b50 --packages .

    The exit code is the command's own.
    """
    from headwater.cli.extras import need

    need("spark", "a shared JVM")
    from headwater.runner import process, shared_jvm

    if log is not None:
        try:
            log.open("ab").close()
        except OSError as error:
            raise typer.BadParameter(f"--log: {str(log)!r} cannot be written: {error.strerror}") from error
    with tempfile.TemporaryDirectory(prefix="headwater-jvm-") as folder, shared_jvm.started(Path(folder), log):
        try:
            ended = process.run(command, cwd=str(Path.cwd()), env={**os.environ, shared_jvm.FOLDER: folder}, grace=10.0)
        except OSError as error:
            raise typer.BadParameter(f"{command[0]!r} cannot be started: {error.strerror}") from error
    raise typer.Exit(ended.exit_code)
