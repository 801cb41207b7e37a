"""The example from end to end: declare the entities, make a quarter of 2019 in two stages, repair what an incident says is wrong.

    python examples/word_count/run.py                      # all of it, against the server that `headwater up` started
    python examples/word_count/run.py --stages first       # until Monday 25 March: weeks are estimated
    python examples/word_count/run.py --repair INCIDENT    # make again what is wrong because of it, and nothing else

Everything is one `headwater run PACKAGE --period …` after the other; nothing here knows what depends on what.
"""

import argparse
import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import source

from headwater.cli.server import get, path

HERE = Path(__file__).parent
STAGES = {
    "first": [
        ("articles_by_author", "2019-01-01..2019-03-25"),
        ("words_count", "2019-01-01..2019-03-25"),
        ("word_prominence", "2019-01..2019-02"),
        ("user_weekly_reads", "2019-W05..2019-W13"),  # estimated: reads are not counted yet
    ],
    "rest": [
        ("articles_by_author", "2019-03-26..2019-03-31"),
        ("words_count", "2019-03-26..2019-03-31"),
        ("word_prominence", "2019-03"),
        ("nb_read_exact", "2019-W05..2019-W13"),
        ("user_weekly_reads", "2019-W05..2019-W13"),  # completed
    ],
}


def declare(url: str | None) -> None:
    """Declare the entities on the server; which package makes each, the packages beside them say."""
    where = ["--url", url] if url else []
    subprocess.run([sys.executable, "-m", "headwater", "entities", "apply", HERE, *where], check=True)


def package(name: str, period: str, data: Path, *more: str) -> dict[str, Any]:
    """`headwater run` of one package; the summary of the run. Raises CalledProcessError where it did not end well."""
    command = [sys.executable, "-m", "headwater", "run", HERE / name, "--period", period, "--param", f"data={data}"]
    done = subprocess.run([*command, "--json", *more], stdout=subprocess.PIPE, check=True)
    summary: dict[str, Any] = msgspec.json.decode(done.stdout.splitlines()[-1])
    return summary


def repair(url: str | None, incident: str, data: Path) -> Iterator[tuple[str, str]]:
    """Make what is wrong because of an incident again, upstream first; what was made.

    It is asked anew before each entity: where something came out as it was, what read it is right already.
    """
    names = [each["entity"] for each in get(url, path("incidents", incident))["entities"]]
    for name in names:
        for each in get(url, path("incidents", incident))["entities"]:
            if each["entity"] == name:
                for period in [*each["tainted"], *each["inherited"]]:
                    package(name, period, data)
                    yield name, period


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--url", help="address of the server")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=[*STAGES])
    parser.add_argument("--corrupt", type=dt.date.fromisoformat, help="a date of UTC whose articles lose their spaces")
    parser.add_argument("--repair", metavar="INCIDENT")
    arguments = parser.parse_args()
    data = arguments.data.absolute()
    source.write(data, arguments.corrupt)
    if arguments.repair:
        for name, period in repair(arguments.url, arguments.repair, data):
            print(f"made again: {name} {period}")
        return
    declare(arguments.url)
    for stage in arguments.stages:
        for name, period in STAGES[stage]:
            package(name, period, data)


if __name__ == "__main__":
    main()
