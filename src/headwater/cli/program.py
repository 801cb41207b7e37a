"""The tree of commands."""

from typing import Annotated, Any

import typer

from headwater.cli import (
    audit,
    backup,
    datasets,
    graph,
    health,
    history,
    impact,
    incidents,
    instances,
    lineage,
    local,
    maintenance,
    measured,
    metadata,
    perspectives,
    readiness,
    receipts,
    receive,
    recurrence,
    replay,
    runs,
    search,
    sql,
    status,
    trace,
)
from headwater.cli.backfill import backfill
from headwater.cli.dead_letters import dead_letters
from headwater.cli.entities import entities
from headwater.cli.entity_drafts import infer
from headwater.cli.feed import feed
from headwater.cli.fingerprint import fingerprint
from headwater.cli.groups import WIDTH, GroupedCommands
from headwater.cli.identity import identity
from headwater.cli.keys import keys
from headwater.cli.listeners import listeners
from headwater.cli.pipeline import pipeline
from headwater.cli.pull import pull
from headwater.cli.reconcile import reconcile
from headwater.cli.retention import retention
from headwater.cli.run import run as run_package
from headwater.cli.spool import spool
from headwater.cli.sync import sync
from headwater.cli.watch import watch

program = typer.Typer(
    name="headwater",
    cls=GroupedCommands,
    help="Where data comes from, what happened to it, who depends on it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)
run = typer.Typer(
    help=(
        "Run a package, or show a run.\n\n"
        "  headwater run DIR [--param key=value] [--master local[4]] [--dry-run]   (headwater run package --help)\n\n"
        "  headwater run show RUN_ID\n\n"
        "  headwater run lineage RUN_ID"
    ),
    rich_markup_mode=None,
)
past = typer.Typer(
    help="Show earlier facets, versions and schemas, and what changed.", rich_markup_mode=None, no_args_is_help=True
)
dev = typer.Typer(
    help="Run the local stack: the same as `up`, `down` and `status`.", rich_markup_mode=None, no_args_is_help=True
)

for group in (program, dev):
    group.command()(local.up)
    group.command()(local.down)
program.command()(status.status)
dev.command()(local.status)
program.command(hidden=True)(local.serve)
program.add_typer(run, name="run")
program.add_typer(dev, name="dev")
run.command("package", context_settings={"allow_interspersed_args": True})(run_package)
run.command("show")(runs.show)
run.command("lineage")(runs.run_lineage)
program.command("lineage")(lineage.lineage)
program.command("trace")(trace.trace)
program.command("diff")(graph.diff)
program.command("paths")(graph.paths)
program.command("conflicts")(graph.conflicts)
program.command("perspectives")(perspectives.perspectives)
program.command("sql")(sql.sql)
program.command("fingerprint")(fingerprint)
program.command("runs")(runs.runs)
program.command("datasets")(datasets.datasets)
program.command("search")(search.search)
program.add_typer(past, name="history")
past.command("facets")(history.facets)
past.command("versions")(history.versions)
past.command("diff")(history.diff)
past.command("schema")(history.schema)
program.command("freshness")(health.freshness)
program.command("slower")(health.slower)
program.command("producers")(health.producers)
program.command("usage")(measured.usage)
program.command("cost")(measured.cost)
program.command("recurrence")(recurrence.recurrence)
program.command("prune")(measured.prune)
program.command("quality")(measured.quality)
program.command("receipt")(receipts.receipt)
program.command("receipts")(receipts.receipts)
metadata.add_to(program)
program.command("rebuild")(maintenance.rebuild)
program.add_typer(keys, name="keys")
program.add_typer(identity, name="identity")
program.add_typer(entities, name="entities")
entities.command("feed")(feed)
program.command("ready")(readiness.ready)
program.command("report")(instances.report)
program.command("suspects")(incidents.suspects)
program.command("taint")(incidents.taint)
program.add_typer(incidents.incident, name="incident")
program.add_typer(backfill, name="backfill")
program.command("impact")(impact.impact)
program.command("reconcile")(reconcile)
entities.command("infer")(infer)
program.add_typer(listeners, name="listeners")
program.add_typer(retention, name="retention")
program.add_typer(spool, name="spool")
program.add_typer(pull, name="pull")
program.add_typer(sync, name="sync")
program.add_typer(pipeline, name="pipeline")
program.command("audit")(audit.audit)
program.command("backup")(backup.backup)
program.command("restore")(backup.restore)
program.command("replay")(replay.replay)
program.command("receive")(receive.receive)
program.add_typer(dead_letters, name="dead-letters")
program.command("doctor")(maintenance.doctor)
program.command("watch")(watch)


def _version(value: bool) -> None:
    if value:
        from headwater import __version__

        typer.echo(f"headwater {__version__}")
        raise typer.Exit


@program.callback()
def options(
    _version_asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> Any:
    """Where data comes from, what happened to it, who depends on it."""
