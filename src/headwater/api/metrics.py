"""The server's metrics, for Prometheus. docs/reference/metrics.md lists them; a test holds it equal to `NAMES`.

Labels are bounded: routes by template, the eight methods, listeners by the names that admins chose. No client chooses a label.
Several server processes share files (`PROMETHEUS_MULTIPROC_DIR`, set by `serve`), and each of them answers for all.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headwater import telemetry

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 5000)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# name: (kind, labels, description)
NAMES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "headwater_http_requests_total": ("counter", ("method", "route", "status"), "Requests answered."),
    "headwater_http_request_seconds": ("histogram", ("method", "route"), "Time from a request to the end of its answer."),
    "headwater_http_requests_running": ("gauge", (), "Requests being answered now."),
    "headwater_access_refused_total": ("counter", ("code",), "Requests refused for want of a key, sign-in or role."),
    "headwater_events_total": ("counter", ("outcome",), "Events received: accepted, duplicate or refused."),
    "headwater_batch_events": ("histogram", (), "Events in one request."),
    "headwater_projection_seconds": ("histogram", (), "Time of one transaction that appends events and updates the projections."),
    "headwater_lineage_answers_total": ("counter", ("by",), "Answers with present lineage, by their source: resident, loaded or postgresql."),
    "headwater_lineage_resident_bytes": ("gauge", (), "About the memory that the resident graph takes."),
    "headwater_pool_connections": ("gauge", ("state",), "Database connections: open, free, and the maximum."),
    "headwater_pool_waiting": ("gauge", (), "Requests that wait for a database connection."),
    "headwater_log_bytes": ("gauge", (), "The event log on disk, with its indexes."),
    "headwater_log_events": ("gauge", (), "Events in the log, as PostgreSQL estimates."),
    "headwater_listener_events_total": ("counter", ("listener", "outcome"), "Events sent to a listener: delivered or refused."),
    "headwater_listener_failures_total": ("counter", ("listener",), "Deliveries that failed and will be retried."),
    "headwater_listener_backlog_events": ("gauge", ("listener",), "Events that wait for a listener, counted up to 10,000."),
    "headwater_listener_lag_seconds": ("gauge", ("listener",), "Time since the oldest waiting event of a listener entered the log."),
    "headwater_listener_failing": ("gauge", ("listener",), "1 while a listener refuses or fails its deliveries."),
    "headwater_alert_messages_total": ("counter", ("channel", "outcome"), "Tries to send a message of an alert: sent, failed or refused."),
    "headwater_connector_pulls_total": ("counter", ("connector", "outcome"), "Pulls of connectors: complete or failed."),
    "headwater_connector_rows_total": ("counter", ("connector",), "Rows that complete pulls of connectors read."),
    "headwater_status_feed_total": ("counter", ("outcome",), "Reports of instances from events: taken, duplicate, refused, unplaced or failed."),
    "headwater_database_up": ("gauge", (), "1 when the database answered this scrape."),
}  # fmt: skip
_HEARD = ("headwater_listener_backlog_events", "headwater_listener_lag_seconds", "headwater_listener_failing")
_AT_SCRAPE = ("headwater_log_bytes", "headwater_log_events", "headwater_database_up", *_HEARD)


class Metrics:
    """One process's metrics, created once for each application: in a registry of its own, not prometheus_client's global one."""

    def __init__(self) -> None:
        # Imported here, because the library decides at import whether processes share metrics.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self.registry = CollectorRegistry()
        made: dict[str, Any] = {}
        for name, (kind, labels, words) in NAMES.items():
            if name in _AT_SCRAPE:
                continue
            if kind == "counter":
                made[name] = Counter(name, words, labels, registry=self.registry)
            elif kind == "gauge":
                made[name] = Gauge(name, words, labels, registry=self.registry, multiprocess_mode="livesum")
            else:
                buckets = _BATCH if name == "headwater_batch_events" else _SECONDS
                made[name] = Histogram(name, words, labels, registry=self.registry, buckets=buckets)
        self._made = made
        # One child for each set of labels, looked up once.
        self._answered: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._pool = {state: made["headwater_pool_connections"].labels(state) for state in ("open", "free", "most")}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the template, `unrouted` for an unknown path."""
        method = method if method in _METHODS else "OTHER"
        found = self._answered.get((method, route, status))
        if found is None:
            found = self._answered[method, route, status] = (
                self._made["headwater_http_requests_total"].labels(method, route, str(status)),
                self._made["headwater_http_request_seconds"].labels(method, route),
            )
        found[0].inc()
        found[1].observe(seconds)

    def running(self, change: int) -> None:
        self._made["headwater_http_requests_running"].inc(change)

    def pool(self, stats: dict[str, int]) -> None:
        self._pool["open"].set(stats.get("pool_size", 0))
        self._pool["free"].set(stats.get("pool_available", 0))
        self._pool["most"].set(stats.get("pool_max", 0))
        self._made["headwater_pool_waiting"].set(stats.get("requests_waiting", 0))

    def measured(self, figures: telemetry.Measured) -> None:
        """Record figures; a listener for `telemetry.listen`."""
        if isinstance(figures, telemetry.EventsTaken):
            self._count("headwater_events_total", figures, ("accepted", "duplicate", "refused"))
            self._made["headwater_batch_events"].observe(figures.batch)
        elif isinstance(figures, telemetry.Projected):
            self._made["headwater_projection_seconds"].observe(figures.seconds)
        elif isinstance(figures, telemetry.LineageAnswered):
            self._made["headwater_lineage_answers_total"].labels(figures.by).inc()
            self._made["headwater_lineage_resident_bytes"].set(figures.bytes)
        elif isinstance(figures, telemetry.Delivered):
            self._count("headwater_listener_events_total", figures, ("delivered", "refused"), figures.listener)
            if figures.failures:
                self._made["headwater_listener_failures_total"].labels(figures.listener).inc(figures.failures)
        elif isinstance(figures, telemetry.ConnectorPulled):
            outcome = "failed" if figures.failed else "complete"
            self._made["headwater_connector_pulls_total"].labels(figures.connector, outcome).inc()
            self._made["headwater_connector_rows_total"].labels(figures.connector).inc(figures.rows)
        elif isinstance(figures, telemetry.AlertMessage):
            self._made["headwater_alert_messages_total"].labels(figures.channel, figures.outcome).inc()
        elif isinstance(figures, telemetry.StatusFed):
            for outcome, count in figures.outcomes.items():
                self._made["headwater_status_feed_total"].labels(outcome).inc(count)
        elif isinstance(figures, telemetry.AccessRefused):
            self._made["headwater_access_refused_total"].labels(figures.code).inc()

    def _count(self, name: str, figures: telemetry.Measured, outcomes: Iterable[str], *labels: str) -> None:
        """Count each outcome of these figures in a metric whose last label is the outcome."""
        for outcome in outcomes:
            if count := getattr(figures, outcome):
                self._made[name].labels(*labels, outcome).inc(count)

    def text(self, log: tuple[int, int] | None, heard: Sequence[tuple[str, int, float, bool]] = ()) -> bytes:
        """Return all metrics in Prometheus's text format. `log` is the event log's (bytes, events), None if the database does not answer; `heard` has
        (name, backlog, lag, failing) of each listener.
        """
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.core import GaugeMetricFamily

        registry = self.registry
        if self.shared:
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        values = {"headwater_database_up": 0 if log is None else 1}
        if log is not None:
            values |= {"headwater_log_bytes": log[0], "headwater_log_events": log[1]}
        scraped = [GaugeMetricFamily(name, NAMES[name][2], value) for name, value in values.items()]
        for at, name in enumerate(_HEARD, 1):
            family = GaugeMetricFamily(name, NAMES[name][2], labels=["listener"])
            for one in heard:
                family.add_metric([one[0]], float(one[at]))
            scraped.append(family)
        return b"".join(generate_latest(one) for one in (registry, _Fixed(scraped)))


class _Fixed:
    """Values read for one scrape, as a collector of the registry."""

    def __init__(self, metrics: "Iterable[Metric]") -> None:
        self._metrics = metrics

    def collect(self) -> "Iterator[Metric]":
        yield from self._metrics
