"""Runs one peer in its own environment: texts and schemas in on stdin, edges and CPU time out on stdout. Knows nothing of what is expected."""

import contextlib
import importlib.util
import io
import json
import logging
import sys
import time
from pathlib import Path


def peer(name):
    # By path and under another name: a peer's file is called as the library it imports.
    spec = importlib.util.spec_from_file_location(f"peer_{name}", Path(__file__).parent / "peers" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edges(module, text, prepared):
    try:
        found = module.edges(text, prepared)
    except Exception as error:  # noqa: BLE001 - what a peer cannot do is counted
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    # "*" (what count(*) counts, or an unknown column) is no column.
    return [
        [name.lower(), sorted({(table.lower(), column.lower()) for table, column in inputs if column != "*"})]
        for name, inputs in found
    ]


def seconds(module, texts, prepared, rounds):
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for text in texts:
            with contextlib.suppress(Exception):
                module.edges(text, prepared)
        best = min(best, time.process_time() - began)
    return best


def main():
    sys.path = [one for one in sys.path if Path(one or ".").resolve() != Path(__file__).parent.resolve()]
    logging.disable(logging.CRITICAL)
    job = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        module = peer(job["peer"])
        told = {}
        for suite, given in job["suites"].items():
            known, nothing = module.prepare(given["schemas"]), module.prepare({})
            told[suite] = {
                "with": [edges(module, text, known) for text in given["texts"]],
                "without": [edges(module, text, nothing) for text in given["texts"]],
                "seconds": seconds(module, given["texts"], known, job["rounds"]),
            }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
