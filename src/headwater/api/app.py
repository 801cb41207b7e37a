"""The composition root: builds the ASGI application from the settings."""

import asyncio
import datetime as dt
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin

from headwater import telemetry
from headwater.answer.alerts.badge import BadgeStates
from headwater.answer.lineage.resident import ResidentGraph
from headwater.answer.stale import StaleAnswers
from headwater.answer.status.news import News
from headwater.api import access, compression, openapi, orphaned, page, parameters, problems, stopping, tracing
from headwater.api.alerting import begin_alerts
from headwater.api.audit import Audit
from headwater.api.connections import ConnectionGuard, raise_descriptor_limit
from headwater.api.hosts import KnownHosts, allowed_hosts
from headwater.api.limits import Limits
from headwater.api.metrics import Metrics
from headwater.api.observed import Observed
from headwater.api.preparing import is_closed, prepare, secret_key
from headwater.api.raw_path import RawPath
from headwater.api.reporting import direct_answers
from headwater.api.routes import auth, badge, health, mcp, v1, v2, v2beta
from headwater.api.routes.v2 import connectors, history
from headwater.api.routes.v2.alerts import channels
from headwater.api.routes.v2.people import admin, listeners
from headwater.api.sessions import Sessions
from headwater.api.shortcut import Shortcut
from headwater.home import home
from headwater.intake.alerts import alerter
from headwater.intake.connectors.puller import Puller, PullPace
from headwater.intake.events.accept import Intake
from headwater.intake.events.touched import TouchedNodes
from headwater.intake.events.wide import WideEvents
from headwater.intake.events.width import Limits as EventLimits
from headwater.intake.listeners import deliveries
from headwater.intake.listeners.networks import Networks, Outbound
from headwater.intake.status import feeder
from headwater.intake.status.reports import StatusIntake
from headwater.intake.upkeep import retention
from headwater.settings import ServerSettings, Settings
from headwater.store.database import Database

HANDLERS = (
    v1.router,
    v2.router,
    history.router,
    connectors.router,
    v2beta.router,
    admin.router,
    listeners.router,
    channels.router,
    auth.router,
    health.healthz,
    health.readyz,
    mcp.mcp,
    badge.badge,
    page.page,
)


class Application(Litestar):
    """Litestar without its plugins for pydantic and attrs, which load these libraries into each worker (11 MiB) where they are installed."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]


def create_app(settings: Settings) -> Any:
    """Build the application on `settings.database.url`, which must be set: a caller that starts the embedded database sets it."""
    url = settings.database.url
    if url is None:
        raise ValueError("settings.database.url is not set: set it before create_app")
    database = Database(
        url,
        pool_size=settings.database.pool_size,
        statement_timeout_seconds=settings.database.statement_timeout_seconds,
    )

    touched, metrics, traces, tools = TouchedNodes(), Metrics(), tracing.provider(), mcp.McpEndpoint()
    intake = _intake(settings, url, database, touched)
    status = StatusIntake(database, dt.timedelta(seconds=settings.entities.clock_ahead_seconds))

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        began, kept = time.monotonic(), settings.retention
        await database.open()
        quiet = [telemetry.listen(metrics.measured)]
        if traces:
            quiet.append(telemetry.trace(tracing.spans(traces)))
        try:
            await prepare(settings, database)
            app.state.access = await _access(settings, database)
            app.state.outbound = outbound = Outbound(
                secret_key(settings), Networks(settings.listeners.allowed_networks)
            )
            telemetry.say(
                telemetry.ServerReady(
                    f"{settings.server.url}{settings.server.root_path}",
                    round(time.monotonic() - began, 3),
                )
            )
            keeping = retention.begin(
                database,
                retention.Policy(kept.events_days, kept.runs_days, kept.warnings_days, kept.audit_days),
                minutes=kept.every_minutes,
            )
            told = settings.listeners
            pace = deliveries.Pace(told.batch_events, told.timeout_seconds, told.lease_seconds)
            running = deliveries.begin(database, pace, outbound) if told.enabled else None
            app.state.deliveries = running.deliverer if running else None
            quiet += [
                _guard_connections(settings.server, limits.answering),
                stopping.on_stop(app.state.stopping.set),
            ]
            try:
                async with _background(app, settings, intake, outbound):
                    yield
            finally:
                await tools.close()
                await deliveries.end(running)
                await retention.end(keeping)
        finally:
            for stop in quiet:
                stop()
            if traces:
                await asyncio.to_thread(traces.shutdown)
            await database.close()

    server = settings.server
    limits = Limits(
        server.max_concurrent, server.max_waiting, server.request_seconds, server.body_seconds, server.max_body_bytes
    )
    numbers = health.public_metrics if settings.access.public_metrics else health.metrics
    app: Any = Application(
        [*HANDLERS, numbers],
        lifespan=[lifespan],
        guards=[access.guard, parameters.guard],
        middleware=[access.middleware, compression.middleware, limits.middleware, Audit(database).middleware],
        exception_handlers=problems.HANDLERS,
        state=State(
            {
                "database": database,
                "intake": intake,
                "status": status,
                "news": News(),
                "badges": BadgeStates(database),
                "stale": StaleAnswers(database),
                "resident": ResidentGraph(database, touched, settings.lineage.resident_mib << 20),
                "stopping": asyncio.Event(),
                "settings": settings,
                "metrics": metrics,
                "mcp": tools,
            }
        ),
        openapi_config=openapi.config(server.root_path),
        plugins=[openapi.VerbatimJson()],
        request_max_body_size=None,
        logging_config=None,
    )
    app = Shortcut(app, limits, direct_answers(status, intake, server.max_body_bytes))
    app = _check_hosts(tracing.Traced(app, traces) if traces else app, server)
    tools.application = whole = RawPath(Observed(app, metrics, database.pool), server.root_path)
    return whole


def _check_hosts(app: Any, server: ServerSettings) -> Any:
    hosts = allowed_hosts(server)
    return app if hosts is None else KnownHosts(app, hosts)


def _intake(settings: Settings, url: str, database: Database, touched: TouchedNodes) -> Intake:
    most = EventLimits(settings.server.max_datasets_per_event, settings.server.max_correlated_pairs_per_event)
    wide = WideEvents(url, most, settings.database.statement_timeout_seconds)
    return Intake(database, limits=most, wide=wide, touched=touched if settings.lineage.resident_mib else None)


@asynccontextmanager
async def _background(app: Litestar, settings: Settings, intake: Intake, outbound: Outbound) -> AsyncIterator[None]:
    """Feed the status of instances, look for what rules watch, and pull connectors, until the server stops."""
    database: Database = app.state.database
    feeding = feeder.begin(database) if settings.entities.feed else None
    alerting = begin_alerts(settings, database, outbound) if settings.alerts.enabled else None
    pace = settings.connectors
    app.state.puller = pulling = Puller(
        database, intake, outbound.key, PullPace(pace.every_seconds, pace.timeout_seconds, pace.lease_seconds),
        folder=str(home() / "connectors"), url=settings.server.url,
    )  # fmt: skip
    if pace.enabled:
        pulling.start()
    try:
        yield
    finally:
        app.state.stopping.set()
        await pulling.stop()
        await alerter.end(alerting)
        await feeder.end(feeding)


def _guard_connections(server: ServerSettings, answering: Collection[tuple[str, int]]) -> Callable[[], None]:
    guard = ConnectionGuard(
        server.port,
        raise_descriptor_limit(server.max_connections),
        server.max_connections_per_address,
        [server.trusted_proxies],
        answering,
    )
    return guard.start()


async def _access(settings: Settings, database: Database) -> access.Access:
    """Resolve the access settings for this address. Raises NotSecured."""
    closed, sign_in = await is_closed(settings, database), None
    if closed or settings.access.oidc.issuer:
        sign_in = Sessions(settings.access, secret_key(settings).derive("sessions"))
    return access.Access(
        database,
        closed=closed,
        admin_key=settings.access.admin_key,
        public_url=settings.server.public_url,
        sign_in=sign_in,
    )


def from_environment() -> Any:
    """Build the application for the server's worker process."""
    settings = Settings()
    telemetry.set_up(logging.getLevelNamesMapping()[settings.server.log_level.upper()])
    orphaned.end_with_parent(settings.server.shutdown_seconds)
    app = create_app(settings)
    # Objects loaded by now stay for good; repeated scans for cycles cost a tenth of the time under load.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    return app
