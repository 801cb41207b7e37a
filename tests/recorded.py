"""A system's REST API as it was recorded: `METHOD /path` to an answer, on a real socket. What was asked is kept, with its headers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases/connectors"


class Recorded:
    """`answers` may be changed by a test; `refusals` are answered once each, before the answer: (status, headers)."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.refusals: list[tuple[int, dict[str, str]]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.url = ""


@contextmanager
def recorded(name: str) -> Iterator[Recorded]:
    system = Recorded(json.loads((CASES / f"{name}.json").read_text()))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            question = f"{self.command} {self.path.partition('?')[0]}"
            system.asked.append(
                (f"{self.command} {self.path}", {key.lower(): value for key, value in self.headers.items()})
            )
            status, headers = (
                system.refusals.pop(0) if system.refusals else (200 if question in system.answers else 404, {})
            )
            body = json.dumps(system.answers.get(question) if status == 200 else {"message": "no"}).encode()
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    system.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield system
    server.shutdown()
    server.server_close()
