"""The command line: `headwater`, also installed as `dk`.

Commands ask the server over HTTP and print with `output`. They import what they need when they run, which keeps `--help` quick.
"""

import io
import sys


def arguments(given: list[str]) -> list[str]:
    """`run DIR …` is `run package DIR …`; only `show`, `lineage` and `package` are subcommands of `run`."""
    if len(given) > 1 and given[0] == "run" and given[1] not in {"package", "show", "lineage", "-h", "--help"}:
        return ["run", "package", *given[1:]]
    return given


def plain_fingerprints(given: list[str]) -> bool:
    """Return whether this is `fingerprint PATH…` without options. Importing the tree of commands takes as long as
    hashing a large file, so it is skipped."""
    return given[:1] == ["fingerprint"] and len(given) > 1 and not any(word.startswith("-") for word in given[1:])


def main() -> None:
    """Run the command. Headwater's own errors become one line and exit code 1 (2 for an invalid question); 75 means "try again"."""
    if plain_fingerprints(sys.argv[1:]):
        from headwater.cli.sql.fingerprint_lines import print_fingerprints

        sys.exit(print_fingerprints(sys.argv[2:]))
    from headwater import errors

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an arrow must not fail in an ASCII pipe
    try:
        if sys.argv[1:] == ["serve"]:
            from headwater.cli.serve.foreground import serve

            serve()
        else:
            from headwater.cli.program import branch

            words = arguments(sys.argv[1:])
            branch(words)(args=words)
    except errors.HeadwaterError as error:
        from headwater.cli.output import complain

        complain(error)
        if not error.permanent:
            sys.exit(75)
        nonsense = (
            errors.InvalidQuestion,
            errors.InvalidManifest,
            errors.InvalidPeriod,
            errors.InvalidDates,
            errors.InvalidCalendar,
            errors.InvalidStatus,
            errors.InvalidPlan,
            errors.Unprocessable,
            errors.Ambiguous,
        )
        sys.exit(2 if isinstance(error, nonsense) else 1)
