"""Writes dashboard.json, the Grafana dashboard of Headwater, from the table below: `python deploy/monitoring/draw.py`.

One line for each curve, so that a metric that is renamed is renamed in one place; tests/meta/test_monitoring.py holds the file equal to what
this writes, and every metric it asks for equal to one that Headwater exports.
"""

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
PICK = 'instance=~"$instance"'

# (row, [(panel, unit, what it says, [(expression, legend)])]); `%` stands for the chosen instances.
ROWS: list[tuple[str, list[tuple[str, str, str, list[tuple[str, str]]]]]] = [
    (
        "Events that come in",
        [
            (
                "Events",
                "ops",
                "Events a second, by what became of them. Duplicates are harmless; refused ones have no identity.",
                [("sum by (outcome) (rate(headwater_events_total{%}[$__rate_interval]))", "{{outcome}}")],
            ),
            (
                "Transaction",
                "s",
                "How long a transaction takes to append its events and make the tables follow.",
                [
                    ("histogram_quantile(0.5, sum by (le) (rate(headwater_projection_seconds_bucket{%}[$__rate_interval])))", "half"),
                    ("histogram_quantile(0.99, sum by (le) (rate(headwater_projection_seconds_bucket{%}[$__rate_interval])))", "99 of 100"),
                ],
            ),
            (
                "Answers, 99 of 100 within",
                "s",
                "The slowest routes.",
                [
                    (
                        "topk(8, histogram_quantile(0.99, sum by (le, route) (rate(headwater_http_request_seconds_bucket{%}[$__rate_interval]))))",
                        "{{route}}",
                    )
                ],
            ),
            (
                "Turned away",
                "ops",
                "Requests a second that got a 5xx or were not let in.",
                [
                    ('sum by (status) (rate(headwater_http_requests_total{status=~"5..",%}[$__rate_interval]))', "{{status}}"),
                    ("sum by (code) (rate(headwater_access_refused_total{%}[$__rate_interval]))", "{{code}}"),
                ],
            ),
        ],
    ),
    (
        "On the way: spools and queue",
        [
            (
                "Waiting in spools",
                "short",
                "Events on producers' disks that no server or broker has yet (textfile collector: headwater events spool status --prometheus).",
                [("sum by (instance, destination) (headwater_spool_events)", "{{instance}} → {{destination}}")],
            ),
            (
                "Oldest in a spool",
                "s",
                "How long the oldest undelivered event waits.",
                [("max by (instance, destination) (headwater_spool_oldest_seconds)", "{{instance}} → {{destination}}")],
            ),
            (
                "Queue",
                "short",
                "Messages that wait in RabbitMQ, and dead letters that wait for a decision.",
                [
                    ("max(headwater_queue_messages{%})", "waiting"),
                    ("max(headwater_dead_letter_queue_messages{%})", "dead letters"),
                ],
            ),
            (
                "Lag",
                "s",
                "Age of the oldest message of the last batch a receiver took.",
                [("max by (instance) (headwater_receive_lag_seconds{%})", "{{instance}}")],
            ),
        ],
    ),
    (
        "Receivers",
        [
            (
                "Taken from the queue",
                "ops",
                "Messages acknowledged to the broker after their commit, and the events in them.",
                [
                    ("sum(rate(headwater_receive_messages_total{%}[$__rate_interval]))", "messages"),
                    ("sum by (outcome) (rate(headwater_receive_events_total{%}[$__rate_interval]))", "events {{outcome}}"),
                ],
            ),
            (
                "Batch",
                "s",
                "From a full batch to its acknowledgement; an outage of the database shows here.",
                [("histogram_quantile(0.99, sum by (le) (rate(headwater_receive_batch_seconds_bucket{%}[$__rate_interval])))", "99 of 100")],
            ),
            (
                "Dead-lettered",
                "ops",
                "Events a second that can never be accepted, by reason.",
                [("sum by (code) (rate(headwater_dead_letters_total{%}[$__rate_interval]))", "{{code}}")],
            ),
            (
                "Last reconciliation",
                "short",
                "What the last reconciliation did with the letters.",
                [("max by (outcome) (headwater_reconciliation_letters{%})", "{{outcome}}")],
            ),
        ],
    ),
    (
        "Listeners",
        [
            (
                "Backlog",
                "short",
                "Events of the log a listener has not been told of (counted up to 10,000).",
                [("max by (listener) (headwater_listener_backlog_events{%})", "{{listener}}")],
            ),
            (
                "Behind by",
                "s",
                "How long the oldest event that waits for a listener has been in the log.",
                [("max by (listener) (headwater_listener_lag_seconds{%})", "{{listener}}")],
            ),
            (
                "Delivered, refused, failed",
                "ops",
                "Events a second, and deliveries that failed and are made again.",
                [
                    ("sum by (listener, outcome) (rate(headwater_listener_events_total{%}[$__rate_interval]))", "{{listener}} {{outcome}}"),
                    ("sum by (listener) (rate(headwater_listener_failures_total{%}[$__rate_interval]))", "{{listener}} failed"),
                ],
            ),
        ],
    ),
    (
        "Database",
        [
            (
                "Connections",
                "short",
                "Those in use, and who waits for one.",
                [
                    ('sum by (state) (headwater_pool_connections{%})', "{{state}}"),
                    ("sum(headwater_pool_waiting{%})", "waiting"),
                ],
            ),
            ("Event log", "bytes", "On disk, with its indexes.", [("max(headwater_log_bytes{%})", "log")]),
        ],
    ),
]  # fmt: skip


def panel(
    number: int, title: str, unit: str, words: str, curves: list[tuple[str, str]], place: dict[str, int]
) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": words,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(65 + n), "datasource": SOURCE, "expr": expression.replace("%", PICK), "legendFormat": legend}
            for n, (expression, legend) in enumerate(curves)
        ],
    }  # fmt: skip


def dashboard() -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    y = 0
    for row, shown in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": row,
                "collapsed": False,
                "panels": [],
                "gridPos": {"h": 1, "w": 24, "x": 0, "y": y},
            }
        )
        y += 1
        width = 24 // len(shown)
        for n, (title, unit, words, curves) in enumerate(shown):
            panels.append(
                panel(len(panels) + 1, title, unit, words, curves, {"h": 8, "w": width, "x": n * width, "y": y})
            )
        y += 8
    return {
        "uid": "headwater",
        "title": "Headwater",
        "description": "Lineage events on their way from producers to the tables, and what delays them.",
        "tags": ["headwater", "lineage"],
        "schemaVersion": 41,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
                {
                    "name": "instance", "label": "Instance", "type": "query", "datasource": SOURCE, "multi": True, "includeAll": True, "refresh": 2,
                    "query": 'label_values({__name__=~"headwater_.+"}, instance)', "allValue": ".*", "current": {"text": "All", "value": "$__all"},
                },
            ]
        },
        "annotations": {"list": []},
        "panels": panels,
    }  # fmt: skip


def text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    (HERE / "dashboard.json").write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{HERE / 'dashboard.json'}\n")
