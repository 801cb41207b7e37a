"""deploy/monitoring in a real Prometheus that scrapes a real server, a real receiver and a spool: its rules load, every panel is answered."""

import http.client
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.processes import free_port

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/monitoring"


class Prometheus:
    def __init__(self, folder: Path, targets: dict[str, int]) -> None:
        self.port = free_port()
        jobs = "\n".join(
            f"  - job_name: {name}\n    static_configs:\n      - targets: ['127.0.0.1:{port}']"
            for name, port in targets.items()
        )
        config = folder / "prometheus.yaml"
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            f"rule_files: ['{FOLDER / 'alerts.yaml'}']\nscrape_configs:\n{jobs}\n"
        )
        program = subprocess.run(
            [ROOT / "scripts/prometheus"], capture_output=True, text=True, check=True
        ).stdout.strip()
        with (folder / "prometheus.log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    program,
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=log,
            )

    def ask(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            if reply.status == 503:
                raise OSError("Prometheus is starting")
            return json.loads(reply.read())
        finally:
            connection.close()

    def query(self, expression: str) -> dict[str, float]:
        """Values by their distinguishing labels. Fails when Prometheus does not take the expression."""
        told = self.ask("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        assert told["status"] == "success", (expression, told)
        found = {}
        for one in told["data"]["result"]:
            labels = {key: value for key, value in one["metric"].items() if key not in {"__name__", "job"}}
            found[json.dumps(labels, sort_keys=True)] = float(one["value"][1])
        return found


def until(true: Callable[[], Any], seconds: float = 120.0) -> Any:
    began = time.monotonic()
    while True:
        try:
            if found := true():
                return found
        except OSError:
            pass
        assert time.monotonic() - began < seconds
        time.sleep(0.2)


@pytest.fixture
def textfile() -> Iterator[tuple[int, dict[str, bytes]]]:
    """A port, and the content served there as node_exporter's textfile collector would."""
    content = {"text": b""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(content["text"])

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, content
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_real_prometheus_loads_the_rules_and_answers_every_panel(
    serve: Any, rabbitmq: Any, queue_name: Any, textfile: Any, tmp_path: Path
) -> None:
    server = serve().ready()
    metrics_port, queue = free_port(), queue_name("monitored")
    letters = f"{queue}-dead"
    environment = {
        **server.env, "HEADWATER_AMQP__URL": rabbitmq.url, "HEADWATER_AMQP__QUEUE": queue, "HEADWATER_AMQP__DEAD_LETTERS": letters,
        "HEADWATER_SPOOL": str(tmp_path / "spool"), "HEADWATER_FLUSH_SECONDS": "20",
    }  # fmt: skip
    receiver = subprocess.Popen(
        [sys.executable, "-m", "headwater", "receive", "--metrics-port", str(metrics_port)],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    textfile_port, content = textfile
    prometheus = Prometheus(
        tmp_path, {"headwater": server.port, "headwater-receive": metrics_port, "producers": textfile_port}
    )
    try:
        until(lambda: prometheus.ask("/api/v1/rules")["data"]["groups"])
        for number in range(5):
            assert (
                server.ask("POST", "/api/v1/lineage", encoded(run_event("COMPLETE", number, "job", [], ["/out"])))[0]
                == 201
            )
        assert server.ask("POST", "/api/v1/lineage", b'{"no_run": 1}')[0] == 422

        def sent_by_amqp(text: str) -> None:
            code = f"from headwater.client import emitter_from_environment as e\nx = e()\n{text}\nassert x.flush(20)"
            url = f"{rabbitmq.url}?queue={queue}"
            subprocess.run(
                [sys.executable, "-c", code], env={**environment, "HEADWATER_URL": url}, check=True, timeout=60
            )

        sent_by_amqp("from headwater.client import event\nx.emit(event.run('START', run_id=event.run_id(), job=('n', 'j')))\nx.emit({'no': 'identity'})")  # fmt: skip
        # No server listens there: it stays in the spool.
        kept = {**environment, "HEADWATER_URL": f"http://127.0.0.1:{free_port()}", "HEADWATER_FLUSH_SECONDS": "0"}
        subprocess.run(
            [sys.executable, "-c", "from headwater.client import emitter_from_environment as e\ne().emit({'waits': 1})"],
            env=kept, check=True, timeout=60, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        content["text"] = subprocess.run(
            [sys.executable, "-m", "headwater", "spool", "status", "--prometheus"],
            env=kept, check=True, capture_output=True, timeout=60,
        ).stdout  # fmt: skip
        until(lambda: set(prometheus.query("up").values()) == {1.0})
        until(lambda: prometheus.query('headwater_events_total{outcome="accepted"}').values() and max(prometheus.query('headwater_events_total{outcome="accepted"}').values()) == 5)  # fmt: skip
        until(lambda: sum(prometheus.query("headwater_receive_events_total").values()) == 1)
        until(lambda: sum(prometheus.query("headwater_dead_letters_total").values()) == 1)
        until(lambda: sum(prometheus.query("headwater_dead_letter_queue_messages").values()) == 1)
        until(lambda: sum(prometheus.query("headwater_spool_events").values()) >= 1)

        panels = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))["panels"]
        quiet = {"Turned away", "Last reconciliation", "Backlog", "Behind by", "Delivered, refused, failed"}

        def silent() -> set[str]:
            """Panels one of whose queries has no answer; a rate has none before its second sample."""
            asked = {
                (panel["title"], target["expr"].replace("$__rate_interval", "10m").replace("$instance", ".*"))
                for panel in panels
                for target in panel.get("targets", [])
            }
            return {title for title, query in asked if not prometheus.query(query)}

        # No reconciliation, no listener, and no refused request.
        until(lambda: silent() <= quiet)
        alerts = until(
            lambda: [one["labels"]["alertname"] for one in prometheus.ask("/api/v1/alerts")["data"]["alerts"]]
        )
        assert "HeadwaterDeadLetters" in alerts
    finally:
        for process in (prometheus.process, receiver):
            process.send_signal(signal.SIGTERM)
        for process in (prometheus.process, receiver):
            process.wait(timeout=30)
