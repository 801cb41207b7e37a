"""The column engine's results for real SQL: every .sql file under a folder, without schemas.

    python benchmarks/cases/sql-corpus/run.py --folder FOLDER --dialect bigquery [--match '**/query.sql'] [--top 10] [--json FILE]

Bring any folder: a clone of a public repository, or one's own. It prints statements by level and kind, warnings by their kind with a place to
look at, what was left unresolved, the slowest files, and the speed. It ends with 1 if the engine raised, or took longer for a file than --limit.
"""

import argparse
import collections
import json
import re
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from headwater.columns import Statement, analyse

_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|<[^>]*>|\d+")
_BLANK = re.compile(r"\s+")


class TooLong(BaseException):
    """Not an Exception: the engine must not be able to swallow it."""


def too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong


def text_of(path: Path) -> str:
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def kind_of(warning: str) -> str:
    """A warning without what is particular to one statement: names, numbers, what follows the position."""
    said = re.split(r"\.? ?Line \d+", warning.split("\n", 1)[0])[0]
    return _BLANK.sub(" ", _NAMES.sub("…", said)).strip()[:100]


class Tally:
    def __init__(self) -> None:
        self.levels: collections.Counter[str] = collections.Counter()
        self.kinds: collections.Counter[str] = collections.Counter()
        self.warnings: collections.Counter[str] = collections.Counter()
        self.unresolved: collections.Counter[str] = collections.Counter()
        self.examples: dict[str, list[str]] = {}
        self.exceptions: list[dict[str, str]] = []
        self.files: list[tuple[float, int, str]] = []
        self.clean = 0
        self.flows = 0
        self.edges = 0

    def add(self, path: str, text: str, statement: Statement) -> bool:
        self.levels[statement.level.value] += 1
        self.kinds[statement.kind] += 1
        self.flows += len(statement.flows)
        self.edges += sum(len(column.inputs) for flow in statement.flows for column in flow.columns)
        for warning in statement.warnings:
            kind = kind_of(warning)
            self.warnings[kind] += 1
            snippet = _BLANK.sub(" ", text[statement.start : statement.end])[:120]
            self.examples.setdefault(kind, []).append(f"{path}:{statement.line}: {warning[:160]} | {snippet}")
        for one in statement.unresolved:
            self.unresolved[one.reason] += 1
        return statement.level.value == "full"

    def file(self, path: Path, name: str, dialect: str, limit: float) -> None:
        text = text_of(path)
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        began = time.process_time()
        statements: list[Statement] = []
        try:
            statements = analyse(text, dialect)
        except TooLong:
            self.exceptions.append({"file": name, "error": f"longer than {limit:g} s", "trace": ""})
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
            trace = "".join(traceback.format_exception(error, limit=-6))
            self.exceptions.append({"file": name, "error": f"{type(error).__name__}: {error}"[:200], "trace": trace})
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.files.append((time.process_time() - began, text.count("\n") + 1, name))
        self.clean += sum([not self.add(name, text, one) for one in statements]) == 0

    def told(self) -> dict[str, Any]:
        seconds = sum(took for took, _, _ in self.files)
        statements = sum(self.levels.values())
        return {
            "files": len(self.files),
            "lines": sum(lines for _, lines, _ in self.files),
            "statements": statements,
            "seconds": round(seconds, 2),
            "files_per_second": round(len(self.files) / seconds, 1) if seconds else 0,
            "statements_per_second": round(statements / seconds, 1) if seconds else 0,
            "files_all_full": self.clean,
            "levels": dict(self.levels.most_common()),
            "kinds": dict(self.kinds.most_common()),
            "flows": self.flows,
            "edges": self.edges,
            "unresolved": dict(self.unresolved.most_common()),
            "warnings": dict(self.warnings.most_common()),
            "exceptions": self.exceptions,
            "slowest": [
                {"file": name, "lines": lines, "milliseconds": round(took * 1000)}
                for took, lines, name in sorted(self.files, reverse=True)[:10]
            ],
        }


def said(told: dict[str, Any], examples: dict[str, list[str]], top: int, shown: int) -> None:
    print(
        f"{told['files']} files, {told['lines']} lines, {told['statements']} statements in {told['seconds']} s of CPU: "
        f"{told['files_per_second']} files/s, {told['statements_per_second']} statements/s"
    )
    print(
        f"files with every statement understood: {told['files_all_full']}; flows {told['flows']}, edges {told['edges']}"
    )
    print(f"exceptions: {len(told['exceptions'])}")
    for one in told["exceptions"][:top]:
        print(f"  {one['file']}: {one['error']}\n{one['trace']}")
    for name in ("levels", "kinds", "unresolved", "warnings"):
        print(f"{name}:")
        for kind, count in list(told[name].items())[:top]:
            print(f"  {count:7d}  {kind}")
            if name == "warnings":
                for example in examples[kind][:: max(1, len(examples[kind]) // max(1, shown))][:shown]:
                    print(f"           {example}")
    print("slowest:")
    for one in told["slowest"]:
        print(f"  {one['milliseconds']:7d} ms  {one['lines']:6d} lines  {one['file']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--dialect", default="")
    parser.add_argument("--match", default="**/*.sql", help="which files, as a glob under the folder")
    parser.add_argument("--top", type=int, default=10, help="how many of each list are printed")
    parser.add_argument("--examples", type=int, default=1, help="how many places are printed for each kind of warning")
    parser.add_argument("--limit", type=float, default=60, help="seconds of CPU a file may take")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    signal.signal(signal.SIGVTALRM, too_long)
    paths = sorted(path for path in args.folder.glob(args.match) if path.is_file())
    if not paths:
        sys.exit(f"{args.folder}: no file fits {args.match}")
    analyse("SELECT 1", args.dialect)
    tally = Tally()
    for path in paths:
        tally.file(path, str(path.relative_to(args.folder)), args.dialect, args.limit)
    told = tally.told()
    said(told, tally.examples, args.top, args.examples)
    if args.json:
        args.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if tally.exceptions else 0)


if __name__ == "__main__":
    main()
