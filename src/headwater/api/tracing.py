"""Optional traces: a span for each request and one for intake's transaction, sent by OTLP over HTTP.

On if `OTEL_EXPORTER_OTLP_ENDPOINT` is set and the extra `otel` is installed; otherwise this module imports nothing. The `OTEL_*`
variables (service name, headers, sampling) have OpenTelemetry's meanings.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from litestar.enums import ScopeType
from litestar.types import Message, Receive, Scope, Send

from headwater import __version__, telemetry


def is_requested() -> bool:
    """Return whether traces are requested."""
    asked = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return bool(asked) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def provider() -> Any | None:
    """Return the provider of spans, or None: not requested or, with a log line, not installed."""
    if not is_requested():
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        telemetry.say(telemetry.TracesOff(f"{error}: pip install 'headwater[server,otel]'"))
        return None
    name = os.environ.get("OTEL_SERVICE_NAME", "headwater")
    tracer = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
    tracer.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return tracer


class Traced:
    """ASGI middleware: a server span around each request, under the caller's when it sends `traceparent`."""

    def __init__(self, app: Any, provider: Any) -> None:
        self._app = app
        self._tracer = provider.get_tracer("headwater", __version__)
        self.lifespan = app.lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, StatusCode

        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"]
        with self._tracer.start_as_current_span(method, extract(carrier), SpanKind.SERVER) as span:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, sending)
            finally:
                template = scope.get("path_template")
                span.set_attribute("http.request.method", method)
                span.set_attribute("url.path", scope["path"])
                if template:
                    span.set_attribute("http.route", template)
                    span.update_name(f"{method} {template}")


def spans(provider: Any) -> Callable[[str, dict[str, int]], AbstractContextManager[object]]:
    """Return the spans for `telemetry.trace`."""
    tracer = provider.get_tracer("headwater", __version__)

    def start(name: str, attributes: dict[str, int]) -> AbstractContextManager[object]:
        started: AbstractContextManager[object] = tracer.start_as_current_span(
            name, attributes={f"headwater.{key}": value for key, value in attributes.items()}
        )
        return started

    return start
