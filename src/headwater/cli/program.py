"""The tree of commands."""

import copy
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command_name

from headwater.cli.alerts.alerts import alerts
from headwater.cli.alerts.badge import badge
from headwater.cli.alerts.rules import rules
from headwater.cli.alerts.subscribe import subscribe
from headwater.cli.capture.capture import capture
from headwater.cli.capture.jvm import jvm
from headwater.cli.capture.run import run as run_package
from headwater.cli.capture.spool import spool
from headwater.cli.connectors.connect import connect
from headwater.cli.groups import WIDTH, GroupedCommands
from headwater.cli.lineage import (
    claims,
    dashboards,
    datasets,
    graph,
    history,
    jobs,
    lineage,
    log,
    object_log,
    perspectives,
    receipts,
    runs,
    search,
    sources,
    task_order,
    trace,
    why,
)
from headwater.cli.people import audit, metadata
from headwater.cli.people.identity import identity
from headwater.cli.people.keys import keys
from headwater.cli.people.listeners import listeners
from headwater.cli.people.views import views
from headwater.cli.plans import impact
from headwater.cli.plans.backfill import backfill
from headwater.cli.plans.repair import repair
from headwater.cli.privacy.privacy import app as privacy
from headwater.cli.queue import receive
from headwater.cli.queue.dead_letters import dead_letters
from headwater.cli.review.review import review
from headwater.cli.serve import backup, export, local, maintenance, mcp, replay
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
from headwater.cli.usage import coverage, measured, recurrence
from headwater.cli.whatif.whatif import whatif

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
        "  headwater run show RUN_ID"
    ),
    rich_markup_mode=None,
)
past = typer.Typer(
    help="Show earlier facets, versions and schemas, and what changed.", rich_markup_mode=None, no_args_is_help=True
)
dev = typer.Typer(
    help="Run the local stack, as `up`, `down` and `status` do.", rich_markup_mode=None, no_args_is_help=True
)

events = typer.Typer(
    help="List received events; run the spool, the queue and listeners.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
upkeep = typer.Typer(
    name="server",
    help="Keep a server: keys, rules, backup, rebuild, retention, audit.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

# A day's questions. `groups.py` has the headings.
program.command("search")(search.search)
program.command("datasets")(datasets.datasets)
program.command("jobs")(jobs.jobs)
program.command("sources")(sources.sources)
program.command("dashboards")(dashboards.dashboards)
program.add_typer(views, name="views")
program.command("lineage")(lineage.lineage)
program.command("runs")(runs.runs)
program.add_typer(run, name="run")
run.command("package", context_settings={"allow_interspersed_args": True})(run_package)
run.command("show")(runs.show)
run.command("lineage", hidden=True)(runs.run_lineage)
program.command("status")(status.status)
program.command("log")(log.log)
program.command("blame")(object_log.blame)
program.command("diff")(graph.diff)
program.command("trace", hidden=True)(trace.trace)
program.command("paths", hidden=True)(graph.paths)
program.command("whatif")(whatif)
program.command("order")(task_order.order)
program.add_typer(privacy, name="privacy")
program.command("review")(review)

program.command("mcp")(mcp.mcp)

program.command("why")(why.why)
program.command("usage")(measured.usage)
program.command("cost")(measured.cost)
program.command("prune")(measured.prune)
program.command("recurrence")(recurrence.recurrence)
program.command("coverage")(coverage.coverage)
program.command("claims")(claims.claims)
program.command("sql")(sql.sql)
program.command("fingerprint")(fingerprint)

program.add_typer(incidents.incident, name="incident")
program.add_typer(alerts, name="alerts")
program.command("subscribe")(subscribe)
program.command("badge")(badge)
program.command("taint")(taint)
program.command("verdict")(verdict)
program.command("repair")(repair)
program.command("suspects", hidden=True)(lineage.suspects)
program.command("ready")(readiness.ready)
program.add_typer(backfill, name="backfill")
program.command("report")(instances.report)
program.command("reconcile")(reconcile)

metadata.add_to(program)

program.add_typer(capture, name="capture")
program.add_typer(entities, name="entities")
entities.command("feed")(feed)
entities.command("infer")(infer)
entities.command("graph")(entity_graph)
program.add_typer(connect, name="connect")
program.add_typer(sync, name="sync")
program.add_typer(pull, name="pull")
program.add_typer(pipeline, name="pipeline")
program.command("jvm", context_settings={"allow_interspersed_args": False})(jvm)
program.add_typer(events, name="events")
program.add_typer(rules, name="rules")
program.command("up")(local.up)
program.command("down")(local.down)
program.command("doctor")(maintenance.doctor)
program.command("export")(export.export)
program.add_typer(upkeep, name="server")
program.command(hidden=True)(local.serve)

# Rare commands stand below a group. Each has its old name at the top, too: hidden, see RENAMED.
events.command("list")(receipts.receipts)
events.command("show")(receipts.receipt)
for group, hidden in ((events, False), (program, True)):
    group.command("producers", hidden=hidden)(health.producers)
    group.add_typer(spool, name="spool", hidden=hidden)
    group.command("receive", hidden=hidden)(receive.receive)
    group.add_typer(dead_letters, name="dead-letters", hidden=hidden)
    group.add_typer(listeners, name="listeners", hidden=hidden)
for group, hidden in ((upkeep, False), (program, True)):
    group.add_typer(keys, name="keys", hidden=hidden)
    group.add_typer(identity, name="identity", hidden=hidden)
    group.command("audit", hidden=hidden)(audit.audit)
    group.add_typer(retention, name="retention", hidden=hidden)
    group.command("backup", hidden=hidden)(backup.backup)
    group.command("restore", hidden=hidden)(backup.restore)
    group.command("replay", hidden=hidden)(replay.replay)
    group.command("rebuild", hidden=hidden)(maintenance.rebuild)
    group.command("watch", hidden=hidden)(watch)
for old, command in (
    ("freshness", health.freshness),
    ("slower", health.slower),
    ("quality", measured.quality),
    ("conflicts", graph.conflicts),
    ("perspectives", perspectives.perspectives),
    ("changes", metadata.changes),
    ("impact", impact.impact),
    ("receipts", receipts.receipts),
    ("receipt", receipts.receipt),
):
    program.command(old, hidden=True)(command)
program.add_typer(past, name="history", hidden=True)
past.command("facets")(history.facets)
past.command("versions")(history.versions)
past.command("diff")(history.diff)
past.command("schema")(history.schema)
program.add_typer(dev, name="dev", hidden=True)
dev.command("up")(local.up)
dev.command("down")(local.down)
dev.command("status")(local.status)


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


def branch(words: Sequence[str]) -> typer.Typer:
    """Return the program with the one command that the first word names, or all of it where no command has that name.

    Reading the options of 150 functions takes as long as most commands need for the rest.
    """
    word = next(iter(words), "")
    commands = [each for each in program.registered_commands if _name(each) == word]
    groups = [each for each in program.registered_groups if each.name == word]
    if not commands and not groups:
        return program
    pruned = copy.copy(program)
    pruned.registered_commands, pruned.registered_groups = commands, groups
    return pruned


def _name(command: typer.models.CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))
