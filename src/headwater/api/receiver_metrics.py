"""A receiver's metrics, for Prometheus, on its own port. docs/reference/metrics.md lists them.

Labels are bounded: codes and outcomes are the program's own; no producer chooses a label.
"""

from collections.abc import Callable
from typing import Any

from headwater import telemetry
from headwater.errors import PortInUse

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)

# name: (kind, labels, description)
NAMES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "headwater_receive_messages_total": ("counter", (), "Messages taken and acknowledged."),
    "headwater_receive_events_total": ("counter", ("outcome",), "Events of those messages: accepted or duplicate."),
    "headwater_dead_letters_total": ("counter", ("code",), "Events that became dead letters, by reason."),
    "headwater_receive_batch_seconds": ("histogram", (), "Time from a full batch to its acknowledgement, outages of the database included."),
    "headwater_receive_lag_seconds": ("gauge", (), "Age of the oldest message of the last batch; 0 when the queue is empty."),
    "headwater_queue_messages": ("gauge", (), "Messages that wait in the queue of events."),
    "headwater_dead_letter_queue_messages": ("gauge", (), "Letters that wait in the queue of dead letters."),
    "headwater_reconciliation_letters": ("gauge", ("outcome",), "Letters that the last reconciliation checked, by outcome."),
    "headwater_reconciliation_timestamp_seconds": ("gauge", (), "When the last reconciliation ended, as Unix time."),
}  # fmt: skip


class ReceiverMetrics:
    """One receiver's metrics, in a registry of their own."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        made: dict[str, Any] = {}
        for name, (kind, labels, words) in NAMES.items():
            if kind == "histogram":
                made[name] = Histogram(name, words, labels, registry=self.registry, buckets=_SECONDS)
            else:
                made[name] = (Counter if kind == "counter" else Gauge)(name, words, labels, registry=self.registry)
        self._made = made

    def measured(self, figures: telemetry.Measured) -> None:
        """Record figures; a listener for `telemetry.listen`."""
        made = self._made
        if isinstance(figures, telemetry.Received):
            made["headwater_receive_messages_total"].inc(figures.messages)
            made["headwater_receive_events_total"].labels("accepted").inc(figures.accepted)
            made["headwater_receive_events_total"].labels("duplicate").inc(figures.duplicate)
            made["headwater_receive_batch_seconds"].observe(figures.seconds)
            if figures.lag is not None:
                made["headwater_receive_lag_seconds"].set(figures.lag)
        elif isinstance(figures, telemetry.DeadLettered):
            made["headwater_dead_letters_total"].labels(figures.code).inc(figures.events)
        elif isinstance(figures, telemetry.QueueLengths):
            made["headwater_queue_messages"].set(figures.ready)
            made["headwater_dead_letter_queue_messages"].set(figures.dead_letters)
            if figures.idle:
                made["headwater_receive_lag_seconds"].set(0)
        elif isinstance(figures, telemetry.LastReconciliation):
            made["headwater_reconciliation_timestamp_seconds"].set(figures.at)
            for outcome, letters in figures.outcomes.items():
                made["headwater_reconciliation_letters"].labels(outcome).set(letters)

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer `GET /metrics` from a thread; call the returned function to stop. Raises PortInUse."""
        from prometheus_client import start_http_server

        try:
            server, thread = start_http_server(port, host, self.registry)
        except OSError as error:
            raise PortInUse(f"port {port} on {host} is taken ({error.strerror}); choose another", port=port) from error

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop
