"""The tree of commands."""

from typing import Annotated, Any

import typer

from headwater.cli.capture.jvm import jvm
from headwater.cli.capture.run import run as run_package
from headwater.cli.capture.spool import spool
from headwater.cli.groups import WIDTH, GroupedCommands
from headwater.cli.lineage import (
    datasets,
    graph,
    history,
    lineage,
    perspectives,
    receipts,
    runs,
    search,
    sources,
    trace,
    update_log,
)
from headwater.cli.people import audit, metadata
from headwater.cli.people.identity import identity
from headwater.cli.people.keys import keys
from headwater.cli.people.listeners import listeners
from headwater.cli.plans import impact
from headwater.cli.plans.backfill import backfill
from headwater.cli.plans.repair import repair
from headwater.cli.queue import receive
from headwater.cli.queue.dead_letters import dead_letters
from headwater.cli.serve import backup, export, local, maintenance, replay
from headwater.cli.serve.retention import retention
from headwater.cli.serve.watch import watch
from headwater.cli.spark.pipeline import pipeline
from headwater.cli.spark.pull import pull
from headwater.cli.spark.sync import sync
from headwater.cli.sql import sql
from headwater.cli.sql.fingerprint import fingerprint
from headwater.cli.status import health, incidents, instances, readiness, status
from headwater.cli.status.entities import entities
from headwater.cli.status.entity_drafts import infer
from headwater.cli.status.entity_graph import graph as entity_graph
from headwater.cli.status.feed import feed
from headwater.cli.status.reconcile import reconcile
from headwater.cli.status.taint import taint
from headwater.cli.status.verdict import verdict
from headwater.cli.usage import measured, recurrence

program = typer.Typer(
    name="headwater",
    cls=GroupedCommands,
    help="Show where data comes from, what happened to it, and who depends on it.",
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
    help="Run the local stack, as `up`, `down` and `status` do.", rich_markup_mode=None, no_args_is_help=True
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
program.command("jvm", context_settings={"allow_interspersed_args": False})(jvm)
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
program.command("sources")(sources.sources)
program.command("search")(search.search)
program.command("log")(update_log.log)
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
entities.command("graph")(entity_graph)
program.command("ready")(readiness.ready)
program.command("report")(instances.report)
program.command("suspects")(incidents.suspects)
program.command("taint")(taint)
program.command("verdict")(verdict)
program.command("repair")(repair)
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
program.command("export")(export.export)
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
    """Show where data comes from, what happened to it, and who depends on it."""
