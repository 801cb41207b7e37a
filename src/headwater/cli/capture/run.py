"""`headwater run DIR`: run a package and record its lineage.

Writes nothing to stdout while the child runs: stdout belongs to the package.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headwater.runner import Manifest
    from headwater.runner.making import Making

EXAMPLES = """
Examples:

  headwater run ./flights-clean

  headwater run ./flights-clean --param year=2014 --master 'local[4]'

  headwater run ./flights-clean --remote sc://spark:15002 --conf spark.sql.shuffle.partitions=8

  headwater run ./flights-clean --env prod

  headwater run ./flights-clean --dry-run

  headwater run ./flights-clean -- --limit 1000

  headwater run ./words-count --period 2013-02-10

  headwater run ./words-count --period 2013-02-01..2013-02-10 --wait 600

The exit code is the program's own; 128+n if signal n ended it; 2 if the dk.yaml is invalid; 75 if inputs of the period are missing.
"""


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The package: a folder with a dk.yaml.")],
    extra: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGS]", help="Further arguments, passed on to the program.")
    ] = None,
    *,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Make this period of the package's entity, as in 2013-02-10 or 2013-02-01..2013-02-10, if it is ready.",
        ),
    ] = None,
    in_state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="Make it in this state instead of the best one that is ready."),
    ] = None,
    wait: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Wait up to this long until the period is ready.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Make the period even if inputs are missing or no server answers.")
    ] = False,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="K=V", help="Set a parameter. Repeatable.")
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_ENVIRONMENT",
            metavar="NAME",
            help="Use the bindings of this environment. Default: the only one there is.",
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Use this Spark master, as in local[4] or spark://host:7077.")
    ] = None,
    remote: Annotated[str | None, typer.Option(help="Use this Spark Connect server, as in sc://host:15002.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="K=V", help="Set a Spark property. Repeatable.")
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            envvar="HEADWATER_GRACE_SECONDS",
            help="Wait this many seconds between asking the program to stop and killing it.",
        ),
    ] = 10.0,
    heartbeat: Annotated[
        float | None,
        typer.Option(min=0, help="Send a RUNNING event every so many seconds; 0 sends none. Default: the manifest's."),
    ] = None,
    capture: Annotated[
        bool, typer.Option("--capture/--no-capture", help="Capture what Spark reads and writes.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the resolved package and its datasets without running it.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the run's summary (or the package) as JSON, as the last thing on stdout."),
    ] = False,
) -> None:
    """Run the program that DIR/dk.yaml names, and report the run: START, RUNNING, then COMPLETE, FAIL or ABORT."""
    import os

    import msgspec

    from headwater.cli.extras import need
    from headwater.cli.plans.making import asked_for
    from headwater.cli.server import use_local
    from headwater.errors import InvalidManifest
    from headwater.runner import load
    from headwater.runner.program import SPARK_KINDS

    use_local()
    if master and remote:
        raise typer.BadParameter("--master and --remote exclude each other: give only one")
    if period is None and (in_state is not None or wait is not None or force):
        raise typer.BadParameter("--state, --wait and --force go with --period")
    making, server = None, None
    try:
        if period is not None:
            making, server = asked_for(folder, period, state=in_state, wait=wait or 0.0, force=force)
        environ = dict(os.environ) | (making.environment(_folder_of_run()) if making else {})
        manifest = load(folder, _pairs(param, "--param"), environ, env)
    except InvalidManifest as error:
        _say(str(error))
        raise typer.Exit(2) from error
    for warning in manifest.warnings:
        _say(f"warning: {warning}")
    if dry_run:
        if as_json:
            shown = msgspec.to_builtins(manifest) | ({"making": making} if making else {})
            print(msgspec.json.format(msgspec.json.encode(shown)).decode())
            return
        print(_describe_package(manifest, making))
        return
    if manifest.program.kind in SPARK_KINDS:
        need("spark", f"a {manifest.program.kind} package")
    from headwater.runner.command import SparkChoice
    from headwater.runner.execution import execute

    choice = SparkChoice(master, remote, _pairs(conf, "--conf"))
    if remote and manifest.program.kind == "jar":
        raise typer.BadParameter("--remote is for Python and SQL; submit a jar with --master")
    if remote and (manifest.program.conf or choice.conf):
        _say("warning: Spark Connect takes no conf from outside the program; spark.* settings are not applied")
    summary = execute(
        manifest,
        extra=tuple(extra or ()),
        spark=choice,
        heartbeat=heartbeat,
        capture=capture,
        grace=grace,
        environ=environ,
        making=making,
        server=server,
        started=lambda run_id: _say(f"{manifest.namespace}/{manifest.name} START run {run_id}"),
    )
    tail = f": {summary.error}" if summary.error else ""
    _say(f"{summary.namespace}/{summary.name} {summary.state} in {summary.seconds:.1f} s, run {summary.run_id}{tail}")
    if as_json:
        print(msgspec.json.encode(summary).decode())
    raise typer.Exit(summary.exit_code)


run.__doc__ = f"{run.__doc__}\n{EXAMPLES}"


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise typer.BadParameter(f"{option} takes NAME=VALUE, got {text!r}")
        pairs[name.strip()] = value
    return pairs


def _describe_package(manifest: Manifest, making: Making | None) -> str:
    from headwater.client.config import destination

    program = manifest.program
    lines = [
        f"package    {manifest.namespace}/{manifest.name}" + (f" {manifest.version}" if manifest.version else ""),
        f"job        job:{manifest.namespace}:{manifest.name}",
        f"program    {program.kind} {program.target}",
    ]
    if manifest.environment:
        lines.append(f"bound to   {manifest.environment}")
    lines += [f"argument   {each}" for each in program.args]
    lines += [f"conf       {name}={value}" for name, value in program.conf.items()]
    lines += [f"parameter  {name}={value}" for name, value in manifest.parameters.items()]
    if manifest.period:
        period = manifest.period
        lines.append(f"period     every {period.every}" + (f", {period.start} to {period.end}" if period.start else ""))
    if manifest.heartbeat:
        lines.append(f"heartbeat  every {manifest.heartbeat:g} s")
    if manifest.made.entities:
        lines += [f"entity     {name}" for name in manifest.made.entities]
    for one in making.instances if making else ():
        lines.append(
            f"instance   {one.entity} {one.instance}, {one.start} to {one.end}"
            if one.start
            else f"instance   {one.entity} {one.instance}"
        )
        reads = [f"{name} {each.instances}" for name, stretches in one.inputs.items() for each in stretches]
        lines += [f"reads      {each}" for each in reads]
    for role, datasets in (("input", manifest.inputs), ("output", manifest.outputs)):
        lines += [f"{role:<10} {each.name} ({each.type}) = {each.dataset.node_id}" for each in datasets]
    lines.append(f"events to  {destination().url or destination().transport}")
    return "\n".join(lines)


def _folder_of_run() -> Path:
    """Return a folder for what does not fit into an environment variable; it is deleted when this process ends."""
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="headwater-run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Run this command alone, as `python -m headwater.cli.capture.run DIR`."""
    typer.run(run)


if __name__ == "__main__":
    main()
