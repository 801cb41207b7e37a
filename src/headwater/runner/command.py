"""The child's command line and environment, which pass on its run, its parameters and its Spark settings.

Everything goes through the environment, so the pipeline's code needs no change. Starts nothing.
"""

import importlib
import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.client import context
from headwater.client.config import Destination
from headwater.client.context import Parent
from headwater.runner.manifest import Manifest
from headwater.runner.program import SPARK_KINDS

log = logging.getLogger("headwater")

NAMES = "HEADWATER_NAMES"  # for kind sql: the names for ${…} in the file, as JSON


class SparkChoice(msgspec.Struct, frozen=True):
    """The Spark options of the command line. `remote` is Spark Connect (`sc://host`) and excludes `master`."""

    master: str | None = None
    remote: str | None = None
    conf: dict[str, str] = {}


def argv(
    manifest: Manifest,
    extra: tuple[str, ...] = (),
    *,
    spark: SparkChoice = SparkChoice(),  # noqa: B008 - frozen
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the child's command line. `environ`: the child's, with the search path of its programs."""
    program = manifest.program
    env = os.environ if environ is None else environ
    if program.kind == "command":
        return [program.target, *program.args, *extra]
    if program.kind == "dbt":
        profiles = Path(program.target) / "profiles.yml"
        own = ["--profiles-dir", program.target] if profiles.is_file() and "DBT_PROFILES_DIR" not in env else []
        return [_program("dbt", env), *program.args, "--project-dir", program.target, *own, *extra]
    if program.kind == "jar":
        words = submit_words(manifest, spark)
        main = ["--class", program.class_name or ""]
        return [_program("spark-submit", env), *words, *main, program.target, *program.args, *extra]
    if program.kind == "sql":
        return [sys.executable, "-m", "headwater.runner.sql_session", program.target, *program.args, *extra]
    start = ["-m", program.target] if program.is_module else [program.target]
    return [sys.executable, *start, *program.args, *extra]


def _program(name: str, env: Mapping[str, str]) -> str:
    """The program beside this Python, else the one in the child's search path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which(name, path=env.get("PATH")) or name


def environment(
    manifest: Manifest,
    parent: Parent,
    destination: Destination,
    spark: SparkChoice,
    *,
    capture: bool,
    current: Mapping[str, str],
) -> dict[str, str]:
    """Return the child's environment: `current` with the run as parent, the parameters, the address for events, and Spark's settings."""
    env = dict(current)
    if any(each.remote for each in destination.each):
        for name in (
            "HEADWATER_API_KEY",
            "OPENLINEAGE_API_KEY",
        ):  # it may belong to another server, which must not get it
            env.pop(name, None)
    env |= context.environment(parent) | _way_out(destination)
    for name, value in manifest.parameters.items():
        env["HEADWATER_PARAM_" + re.sub(r"\W", "_", name).upper()] = value
    # The child has another folder, where relative paths would not resolve. Headwater itself comes last, unless it is installed.
    given = [str(Path(path).absolute()) for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = str(Path(__file__).parents[2])
    first = [manifest.folder] if manifest.program.is_module else []
    last = [] if ours in given or manifest.program.kind not in {"pyspark", "sql"} else [ours]
    if search := [*first, *given, *last]:
        env["PYTHONPATH"] = os.pathsep.join(search)
    if manifest.program.kind not in SPARK_KINDS:
        return env
    if manifest.program.kind == "sql":
        env[NAMES] = msgspec.json.encode(manifest.names).decode()
    env["PYSPARK_SUBMIT_ARGS"] = submit_args(manifest, spark, env.get("PYSPARK_SUBMIT_ARGS", ""))
    # The driver and its Python workers must be the same Python as the runner's, unless the user chose otherwise.
    env.setdefault("PYSPARK_PYTHON", sys.executable)
    if manifest.program.kind == "jar":
        return env
    if spark.remote:
        env["SPARK_REMOTE"] = spark.remote
    return env | _capture(env) if capture else env


def submit_args(manifest: Manifest, spark: SparkChoice, existing: str = "") -> str:
    """Return `PYSPARK_SUBMIT_ARGS`: the present ones, then the package's conf, then the command line's, which wins.

    The application's name is the package's, unless the script's session builder sets one, which is applied later.
    """
    words = [word for word in shlex.split(existing) if word != "pyspark-shell"]
    return shlex.join([*words, *submit_words(manifest, spark), "pyspark-shell"])


def submit_words(manifest: Manifest, spark: SparkChoice) -> list[str]:
    """Return the arguments of spark-submit for the package: its conf, then the command line's, which wins."""
    words = []
    conf = {"spark.app.name": manifest.name} | manifest.program.conf | spark.conf
    if spark.master:
        conf.pop("spark.master", None)
        words += ["--master", spark.master]
    for name, value in conf.items():
        words += ["--conf", f"{name}={value}"]
    return words


def _way_out(destination: Destination) -> dict[str, str]:
    """Point both Headwater's client and the official OpenLineage client in the child to the runner's server."""
    env = {"HEADWATER_SPOOL": str(destination.spool.absolute())}
    if destination.transport in {"none", "spool"}:
        return env | {"HEADWATER_TRANSPORT": destination.transport}
    if not destination.others and destination.transport in {"file", "console"}:
        file = {"HEADWATER_EVENTS_FILE": str(Path(destination.file or "").absolute())}
        return env | {"HEADWATER_TRANSPORT": destination.transport} | (file if destination.file else {})
    if not destination.others and destination.transport == "http" and destination.backend in {"headwater", "marquez"}:
        env["HEADWATER_URL"] = destination.url
        if destination.api_key:
            env["HEADWATER_API_KEY"] = destination.api_key
    else:  # every address with its own key
        env["HEADWATER_URL"] = ",".join(each.address.replace(",", "%2C") for each in destination.each)
    server = next((each for each in destination.each if each.transport == "http"), None)
    if server:
        # The official client joins address and endpoint; Headwater's takes the whole address.
        env |= {"OPENLINEAGE_URL": server.base, "OPENLINEAGE_ENDPOINT": server.endpoint}
        if server.api_key:
            env["OPENLINEAGE_API_KEY"] = server.api_key
    return env


def _capture(env: Mapping[str, str]) -> dict[str, str]:
    # By name, without an import statement: only this place needs capture, and a package must run without it.
    try:
        collector = importlib.import_module("headwater.capture.spark")
        found: dict[str, str] = collector.environment(env)
    except (ImportError, AttributeError) as error:
        log.warning("Spark's own reads and writes are not captured in this run: %s", error)
        return {}
    return found
