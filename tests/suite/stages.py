"""The stages of the suite: every check and every test, in stages that can run beside each other.

A stage is one command with one log. Stages of tests are pytest processes: each has its own PostgreSQL, its own Spark and its own broker, so two of
them never meet. The order is the order of starting: what takes long, and what others wait for, comes first, so that both lanes end together.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Stage:
    """One command of the suite.

    `tests`: paths for pytest; what another stage names below one of them is that stage's. `command`: any other program, run in the root.
    `after`: names of stages that must have passed. `alone`: nothing else runs meanwhile. `check`: also a part of `make check`.
    `waits`: for a network, a server or a browser, more than it works; it runs beside others without taking their lane.
    `limit`: seconds after which it is ended and counts as failed. `repeatable`: a command that is run again when it fails.
    `least`: fewer tests than these fail the stage, so that none is lost with a file that is no longer collected. It is raised as tests are added,
    and lowered only in a commit that says which tests went, and why.
    """

    name: str
    tests: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    alone: bool = False
    waits: bool = False
    check: bool = False
    limit: float = 1200
    repeatable: bool = False
    least: int = 0


def script(name: str, *words: str) -> tuple[str, ...]:
    return (str(ROOT / "scripts" / name), *words)


STAGES = (
    # Stages that fail quickly, and those that others wait for.
    Stage("xxhsum", command=script("xxhsum"), check=True),
    Stage("corpus", command=script("corpus"), check=True),
    Stage("java", command=script("test-java", "archive")),
    Stage("lint", command=script("lint"), check=True),
    Stage("unit", tests=("tests/unit", "tests/meta"), check=True, least=1837),
    Stage("unit-columns", tests=("tests/unit/columns",), after=("corpus",), check=True, least=3800),
    Stage("unit-entities", tests=("tests/unit/entities",), check=True, least=1374),
    Stage("types", command=(str(_BIN / "mypy"),), check=True),
    Stage("page", command=script("build-web")),
    Stage("airflow", command=script("airflow"), waits=True),
    Stage("notebook", command=script("environment", "notebook"), waits=True),
    Stage("dagster", command=script("environment", "dagster"), waits=True),
    Stage("prefect", command=script("environment", "prefect"), waits=True),
    Stage("great-expectations", command=script("environment", "great-expectations"), waits=True),
    Stage("flink", command=script("flink"), after=("java",), waits=True),
    Stage("rabbitmq", command=script("rabbitmq"), waits=True),
    Stage("lake", command=script("lake"), after=("java",)),
    Stage("dbt", command=script("warehouse", "environment"), waits=True),
    Stage("prometheus", command=script("prometheus"), waits=True),
    Stage("chromium", command=script("chromium"), waits=True),
    # Half of its time a client waits for servers and locks.
    Stage(
        "unit-client",
        tests=("tests/unit/client", "tests/unit/cli"),
        after=("xxhsum",),
        waits=True,
        check=True,
        least=837,
    ),
    # Tests, the longest first.
    Stage(
        "acceptance",
        tests=("tests/acceptance",),
        after=("java", "page", "rabbitmq", "prometheus", "chromium"),
        waits=True,
        limit=1800,  # beside two others, for most of the run
        least=73,
    ),
    Stage(
        "demo", tests=("tests/acceptance/test_flights.py", "tests/examples/flights"), after=("java", "page"), least=112
    ),
    Stage("examples", tests=("tests/examples",), after=("java", "page"), least=22),
    Stage(
        "syncs",
        tests=(
            "tests/pipeline/test_query_log_cluster.py",
            "tests/pipeline/test_query_log_end_to_end.py",
            "tests/pipeline/test_query_log_follow.py",
            "tests/pipeline/test_query_log_kill.py",
            "tests/pipeline/test_query_log_sync.py",
        ),
        after=("java", "page"),
        least=44,
    ),
    # Those of the installed program that work more than they wait.
    Stage(
        "programs",
        tests=tuple(
            f"tests/acceptance/test_{name}.py"
            for name in ("package_kinds", "restore", "runner", "shared_jvm", "tutorial")
        ),
        after=("java", "page", "lake"),
        least=44,
    ),
    # The warehouse's log is read in the Spark that runs already.
    Stage(
        "pipeline",
        tests=("tests/pipeline", "tests/examples/warehouse"),
        after=("java", "page", "dbt"),
        limit=2700,
        least=190,
    ),
    Stage(
        "lake-tables",
        tests=tuple(f"tests/capture/spark/test_{name}.py" for name in ("lake", "lake_deletion", "connect_lake")),
        after=("java", "lake"),
        least=33,
    ),
    Stage(
        "in-producers",
        tests=("tests/acceptance/producers",),
        after=("notebook", "dagster", "prefect", "great-expectations", "flink", "page"),
        waits=True,
        least=6,
    ),
    Stage("in-airflow", tests=("tests/acceptance/airflow",), after=("airflow", "page", "java"), least=17),
    Stage("api", tests=("tests/api",), after=("page",), limit=2700, least=1180),
    Stage("api-lineage", tests=("tests/api/lineage", "tests/api/marquez"), after=("page",), limit=2400, least=900),
    Stage("store", tests=("tests/store",), after=("rabbitmq",), least=878),
    Stage("capture", tests=("tests/capture",), after=("java",), least=150),
    Stage("spark-versions", command=script("spark-versions"), after=("java", "lake")),
    Stage("oracle", tests=("tests/oracle",), after=("corpus", "java"), least=18),
    Stage(
        "api-workers",
        tests=(
            "tests/api/plans/test_backfill_airflow.py",
            "tests/api/plans/test_backfill_cli.py",
            "tests/api/listeners/test_deliveries.py",
        ),
        waits=True,
        least=98,
    ),
    Stage("fuzz", tests=("tests/api/serve/test_fuzz.py",), after=("page",), least=25),
    Stage("contract", tests=("tests/contract",), after=("java", "page", "rabbitmq"), waits=True, least=37),
    Stage("page-browser", command=script("browse-web"), after=("page", "chromium"), repeatable=True, waits=True),
    Stage("page-checks", command=script("check-web"), after=("page",)),
    Stage("docs", command=script("docs"), repeatable=True),
    Stage("monitoring", command=script("lint-monitoring"), after=("page", "prometheus")),
)


def chosen(stages: Sequence[Stage], names: Sequence[str]) -> list[Stage]:
    """The stages of these names and all that they come after, in the table's order.

    Raises KeyError for a name that no stage has.
    """
    by_name = {stage.name: stage for stage in stages}
    wanted: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue.extend(by_name[name].after)
    return [stage for stage in stages if stage.name in wanted]


def pytest_words(stage: Stage, stages: Sequence[Stage]) -> list[str]:
    """Return the paths that pytest collects for a stage: its own, less those below them that other stages name."""
    others = [path for other in stages if other.name != stage.name for path in other.tests]
    ignored = [path for path in others if any(path.startswith(f"{mine}/") for mine in stage.tests)]
    return [*stage.tests, *(f"--ignore={path}" for path in ignored)]
