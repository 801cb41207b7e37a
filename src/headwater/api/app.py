"""The composition root: settings to a running ASGI application."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.openapi.config import OpenAPIConfig

from headwater import __version__, telemetry
from headwater.api import openapi, page, problems
from headwater.api.raw_path import RawPath
from headwater.api.routes import v1, v2, v2beta
from headwater.intake import rebuild
from headwater.intake.accept import Intake
from headwater.settings import Settings
from headwater.store.database import Database
from headwater.store.migrate import migrate


def create_app(settings: Settings) -> Any:
    """The application over `settings.database.url`, which must be set: who starts the embedded database passes its address."""
    url = settings.database.url
    if url is None:
        raise ValueError("settings.database.url is not set")
    database = Database(
        url,
        pool_size=settings.database.pool_size,
        statement_timeout_seconds=settings.database.statement_timeout_seconds,
    )

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        began = time.monotonic()
        await database.open()
        try:
            for name in await migrate(database):
                telemetry.say(telemetry.MigrationApplied(name))
            if await rebuild.needed(database):
                telemetry.say(telemetry.RebuildStarted())
                await rebuild.rebuild(database, live_runs=settings.lineage.live_runs)
            telemetry.say(
                telemetry.ServerReady(
                    f"http://{settings.server.host}:{settings.server.port}",
                    round(time.monotonic() - began, 3),
                )
            )
            yield
        finally:
            await database.close()

    return RawPath(
        Litestar(
            [v1.router, v2.router, v2beta.router, page.page],
            lifespan=[lifespan],
            exception_handlers=problems.HANDLERS,
            state=State(
                {"database": database, "intake": Intake(database, settings.lineage.live_runs), "settings": settings}
            ),
            openapi_config=OpenAPIConfig("Headwater", __version__, path="/schema"),
            plugins=[openapi.VerbatimJson()],
            request_max_body_size=None,
            logging_config=None,
        )
    )


def from_environment() -> Any:
    """What the server's worker process loads."""
    telemetry.set_up()
    return create_app(Settings())


def serve(settings: Settings) -> None:
    """Serve until told to stop (SIGINT, SIGTERM). The worker reads its settings from the environment."""
    from granian import Granian
    from granian.constants import Interfaces
    from granian.log import LogLevels

    os.environ["HEADWATER_DATABASE__URL"] = settings.database.url or ""
    os.environ["HEADWATER_SERVER__HOST"] = settings.server.host
    os.environ["HEADWATER_SERVER__PORT"] = str(settings.server.port)
    Granian(
        "headwater.api.app:from_environment",
        factory=True,
        address=settings.server.host,
        port=settings.server.port,
        interface=Interfaces.ASGI,
        workers=1,
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=False,
    ).serve()
