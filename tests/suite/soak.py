"""The stages of `make soak`: the suite's long versions, one at a time, each within half an hour.

A stage that passed at a commit is not run again at that commit, so that a soak that was stopped goes on where it was. The variable SUITE_SCALE makes
the tests go all the way (tests/scale.py); Hypothesis draws new examples each time.
"""

import sys
from pathlib import Path

from tests.suite.stages import ROOT, STAGES, Stage, script

LIMIT = 1800.0
HIVE = ROOT / ".tools" / "hive"
"""q.out files of Apache Hive, where they are brought by hand (tests/oracle/hive.py)."""
LAKE = ("tests/capture/spark/test_lake.py", "tests/capture/spark/test_connect_lake.py")
"""Delta and Iceberg, which have an environment of their own."""
ENVIRONMENT = {"SUITE_SCALE": "full", "HYPOTHESIS_PROFILE": "drawn"}


def _python(*words: str) -> tuple[str, ...]:
    return (sys.executable, *words)


_NEEDED = ("xxhsum", "corpus", "java", "page", "rabbitmq", "lake", "dbt", "airflow", "prometheus", "chromium")
_NEEDS = tuple(stage for stage in STAGES if stage.name in _NEEDED)


def _soak(name: str, tests: tuple[str, ...] = (), command: tuple[str, ...] = ()) -> Stage:
    return Stage(f"soak-{name}", tests, command, after=_NEEDED, limit=LIMIT)


SOAK = (
    *_NEEDS,
    _soak("unit", tests=("tests/unit",)),
    _soak("store", tests=("tests/store",)),
    _soak(
        "worlds",
        tests=(
            "tests/api/status/test_doubted_instances.py",
            "tests/api/status/test_wrong_versions.py",
            "tests/api/plans/test_whole_repairs.py",
            "tests/api/status/test_incident_worlds.py",
        ),
    ),
    _soak("fuzz", tests=("tests/api/serve/test_fuzz.py",)),
    _soak("pipeline", tests=("tests/pipeline",)),
    _soak("syncs", tests=next(stage.tests for stage in STAGES if stage.name == "syncs")),
    _soak("oracle", tests=("tests/oracle",)),
    *((_soak("hive", command=_python("-m", "tests.oracle.hive", str(HIVE))),) if HIVE.is_dir() else ()),
    _soak(
        "processes",
        tests=tuple(f"tests/acceptance/test_{name}.py" for name in ("receive_processes", "watch", "backup", "restore")),
    ),
    _soak("servers", tests=("tests/acceptance",)),
    _soak("spark", tests=("tests/capture",)),
    *(
        _soak(
            f"spark-{line}",
            command=script(
                "spark-versions",
                line,
                "--",
                "tests/capture/spark",
                *(word for one in LAKE for word in ("--ignore", one)),
            ),
        )
        for line in ("3.5", "4.0", "4.1")
    ),
    _soak("spark-programs", command=_python("benchmarks/versus/spark/run.py")),
    _soak("api", tests=("tests/api",)),
    _soak("examples", tests=("tests/examples",)),
    _soak("flights", tests=("tests/acceptance/test_flights.py", "tests/examples/flights")),
    _soak("hostile", tests=("tests/acceptance/test_hostile_commands.py",)),
    _soak("page", command=script("browse-web")),
    _soak("programs", tests=("tests/contract/test_programs_in_docs.py",)),
    _soak("kill", command=_python("tests/acceptance/test_kill.py", "--rounds", "25")),
    _soak("chaos", command=_python("-m", "tests.chaos", "--rounds", "5", "--seconds", "60")),
    _soak(
        "three",
        command=_python("-m", "tests.chaos", "--rounds", "4", "--seconds", "60", "--servers", "3", "--troubled"),
    ),
    _soak("load", command=_python("-m", "tests.steady_load", "--minutes", "24")),
)


class Passed:
    """The stages that passed at a commit: a file each, below the folder of the soak."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder = folder
        self.commit = commit

    def has(self, stage: Stage) -> bool:
        try:
            return (self.folder / stage.name / "passed").read_text(encoding="utf-8") == self.commit
        except FileNotFoundError:
            return False

    def add(self, stage: Stage) -> None:
        (self.folder / stage.name / "passed").write_text(self.commit, encoding="utf-8")
