"""`python -m headwater.capture.spark check|env`: what `headwater capture` does, where only the distribution `headwater-capture` is installed."""

import argparse
import sys
from collections.abc import Iterable, Sequence

import msgspec

from headwater.capture.spark import platforms, printed
from headwater.capture.spark.check import check
from headwater.capture.spark.platforms import Target


def main(words: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, or 1 if a check found a problem."""
    parser = _parser()
    options = parser.parse_args(words)
    if options.command == "env":
        try:
            found = platforms.platform(options.platform, Target(options.url, options.namespace))
        except ValueError as error:
            parser.error(str(error))
        _print(found, printed.platform_lines(found), json=options.json)
        return 0
    report = check(options.master, options.folder)
    _print(report, printed.report_lines(report), json=options.json)
    return 0 if report.right else 1


def _print(answer: object, lines: Iterable[str], *, json: bool) -> None:
    text = msgspec.json.encode(answer).decode() if json else "\n".join(lines)
    sys.stdout.write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m headwater.capture.spark", description="Switch capture on, and check it."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="run a small job, and say what was seen and where it went")
    checked.add_argument("--master", help="Spark's address (default: the configured one, else local[1])")
    checked.add_argument(
        "--folder",
        help="a folder that driver and executors share, such as s3a://bucket/tmp (default: a temporary one here)",
    )
    printing = commands.add_parser("env", help="print the settings of a platform")
    printing.add_argument("--for", dest="platform", choices=platforms.NAMES, required=True)
    printing.add_argument("--url", default=Target().url, help="the server's address")
    printing.add_argument("--namespace", default="", help="the namespace of the applications' jobs")
    for command in (checked, printing):
        command.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
