"""The floor of an answer: a bare Granian application, none of our middleware, that encodes the same structs anew for each request.

A server asked for a graph can be no faster than encoding and sending it. `floor()` starts the application on answers that a server gave: they are
decoded once into the structs of our own answers, and `GET /N` encodes and sends the N-th of them. Not changed once ratios to it are published.
"""

import gc
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

_PATIENCE = 60.0
_FOLDER = "HEADWATER_FLOOR"
Send = Callable[[dict[str, Any]], Awaitable[None]]


@contextmanager
def floor(kind: str, answers: Sequence[bytes]) -> Iterator[int]:
    """Serve these answers, which are of one kind (a key of `decoders`). Gives the port."""
    with tempfile.TemporaryDirectory(prefix="headwater-floor-") as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        for number, answer in enumerate(answers):
            (Path(folder) / f"{number}.json").write_bytes(answer)
        process = subprocess.Popen(
            [sys.executable, __file__, str(port)], env={**os.environ, _FOLDER: f"{kind}:{len(answers)}:{folder}"}
        )
        try:
            _wait(port, process)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit("the bare application did not start")


def decoders() -> dict[str, Callable[[bytes], Any]]:
    """Return a decoder of each kind of answer into its structs."""
    from headwater.answer.lineage import catalog, lineage_answer
    from headwater.answer.marquez import shapes

    def graph(body: bytes) -> shapes.Lineage:
        found = msgspec.json.decode(body, type=shapes.Lineage)
        for node in found.graph:
            node.data = msgspec.convert(node.data, shapes.JobData if node.type == "JOB" else shapes.DatasetData)
        return found

    return {
        "v2 lineage": msgspec.json.Decoder(lineage_answer.Lineage).decode,
        "v1 lineage": graph,
        "v1 columns": msgspec.json.Decoder(shapes.ColumnGraph).decode,
        "v2 jobs": msgspec.json.Decoder(catalog.Jobs).decode,
        "v1 jobs": msgspec.json.Decoder(shapes.Jobs).decode,
    }


def application() -> Callable[..., Awaitable[None]]:
    """The ASGI application, in the worker that Granian starts."""
    kind, count, folder = os.environ[_FOLDER].split(":", 2)
    decode = decoders()[kind]
    structs = [decode((Path(folder) / f"{number}.json").read_bytes()) for number in range(int(count))]
    encode = msgspec.json.Encoder().encode
    # As the server does: what is loaded by now stays, and is not scanned for cycles.
    gc.collect()
    gc.freeze()

    async def answer(scope: dict[str, Any], _receive: object, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = encode(structs[int(scope["path"][1:])])
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return answer


def main(port: int) -> None:
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.log import LogLevels

    Granian(
        "floor:application",
        factory=True,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGI,
        workers=1,
        websockets=False,
        http=HTTPModes.http1,
        log_level=LogLevels.warning,
        working_dir=Path(__file__).parent,
    ).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
