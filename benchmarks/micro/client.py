"""The cost of the client to its host: import, emit, the first delivery, and a server that is dead, silent or gone.

    python benchmarks/micro/client.py

Prints figures; asserts nothing. Every number is wall time on this machine, under whatever load it has.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headwater.client import emitter_from_environment, event


class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    arrived: list[float] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") is None:
            json.loads(body)
        Sink.arrived.append(time.perf_counter())
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def wall(code: str, repeat: int = 15, **env: str) -> float:
    """Median milliseconds of a Python process."""
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=os.environ | env, stderr=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def emit_cost(url: str, count: int = 5000) -> None:
    sample = event.run(
        "COMPLETE",
        run_id=event.run_id(),
        job=("bench", "job"),
        outputs=[
            event.dataset(
                "file",
                "/data/t",
                facets={"schema": event.schema({"name": f"c{i}", "type": "string"} for i in range(20))},
            )
        ],
    )
    with tempfile.TemporaryDirectory() as spool:
        out = emitter_from_environment(url=url, spool=spool)
        times = []
        for _ in range(count):
            started = time.perf_counter()
            out.emit(sample)
            times.append((time.perf_counter() - started) * 1e6)
        begun = time.perf_counter()
        delivered = out.flush(10) if ":1/" not in f"{url}/" else False
        seconds = time.perf_counter() - begun
        times.sort()
        print(
            f"emit to {url}: first {times[-1]:.0f} µs at most, median {times[count // 2]:.1f} µs, "
            f"p99 {times[int(count * 0.99)]:.1f} µs; flushed: {delivered} in {seconds * 1e3:.0f} ms"
        )
        begun = time.perf_counter()
        out.close()
        print(f"  close: {(time.perf_counter() - begun) * 1e3:.1f} ms, {out.stats()}")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    alive = f"http://127.0.0.1:{server.server_port}"

    bare, ours = wall("pass"), wall("import headwater.client")
    print(f"import: bare python {bare:.1f} ms, import headwater.client {ours:.1f} ms, difference {ours - bare:.1f} ms")

    with tempfile.TemporaryDirectory() as spool:
        out = emitter_from_environment(url=alive, spool=spool)
        Sink.arrived.clear()
        started = time.perf_counter()
        out.emit(event.run("START", run_id=event.run_id(), job=("bench", "job")))
        took = time.perf_counter() - started
        out.flush(5)
        print(f"first event: emit {took * 1e6:.0f} µs, at the server after {(Sink.arrived[0] - started) * 1e3:.1f} ms")
        out.close()

    emit_cost(alive)
    emit_cost("http://127.0.0.1:1")

    script = (
        "from headwater.client import emitter_from_environment as e, event\no = e()\nimport time\ntime.sleep(0.2)\n"
        "for n in range(20): o.emit(event.run('OTHER', run_id=event.run_id(), job=('bench', 'job')))"
    )
    with tempfile.TemporaryDirectory() as spool, socket.create_server(("127.0.0.1", 0)) as silent:
        none = wall(script, 7, OPENLINEAGE_DISABLED="true")
        live = wall(script, 7, HEADWATER_URL=alive, HEADWATER_SPOOL=f"{spool}/a")
        dead = wall(script, 7, HEADWATER_URL="http://127.0.0.1:1", HEADWATER_SPOOL=f"{spool}/b")
        hung = wall(
            script, 3, HEADWATER_URL=f"http://127.0.0.1:{silent.getsockname()[1]}", HEADWATER_SPOOL=f"{spool}/c"
        )
        gone = wall(script, 3, HEADWATER_URL="http://192.0.2.1:5000", HEADWATER_SPOOL=f"{spool}/d")
    print(
        f"a script with 20 events: disabled {none:.0f} ms, live {live:.0f}, refused {dead:.0f}, silent {hung:.0f}, no route {gone:.0f}"
    )
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
