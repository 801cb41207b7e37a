"""A JVM that several packages use, one after the other: each keeps its own Python process, SparkContext and Spark properties.

A Spark program of seconds spends most of them on starting a JVM and compiling Spark's code. PySpark uses a running JVM when `PYSPARK_GATEWAY_PORT`
and `PYSPARK_GATEWAY_SECRET` name one, as under spark-submit. This module applies a package's properties as spark-submit would.

A package that needs a JVM of its own (`needs_own_jvm`), or that starts while another uses this one, gets its own: it does not wait.
"""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headwater.runner.command import SparkChoice
from headwater.runner.manifest import Manifest

log = logging.getLogger("headwater")

FOLDER = "HEADWATER_JVM"
"""The variable with the shared JVM's folder, which has its address."""
# Properties that take effect when a JVM starts: its memory, its classes, its metastore.
_AT_THE_START = (
    "spark.driver.",
    "spark.jars",
    "spark.files",
    "spark.submit.",
    "spark.sql.catalogImplementation",
    "spark.plugins",
)
# Options of compiling and garbage collection change no result.
_TUNING = "spark.driver.extraJavaOptions"


class Connection(msgspec.Struct, frozen=True):
    """The JVM's address. `environment`: the variables it was started with, which its Python workers inherit."""

    port: int
    secret: str
    environment: dict[str, str]


@contextlib.contextmanager
def started(folder: Path, log_file: Path | None = None) -> Iterator[None]:
    """Start a JVM and write its connection into `folder`; end it afterwards. Needs the extra `spark`.

    `log_file` gets the JVM's output, mainly Spark's log; else it goes to stderr.
    Raises what PySpark raises when Java is missing; OSError when the file cannot be written.
    """
    from pyspark.java_gateway import launch_gateway

    gateway: Any
    if log_file is None:
        gateway = launch_gateway()
    else:
        with log_file.open("ab") as sink:
            gateway = launch_gateway(popen_kwargs={"stdout": sink, "stderr": sink})
    parameters = getattr(gateway, "java_parameters", gateway.gateway_parameters)
    connection = Connection(parameters.port, parameters.auth_token, dict(os.environ))
    file = folder / "connection.json"
    file.touch(mode=0o600)
    file.write_bytes(msgspec.json.encode(connection))
    try:
        yield
    finally:
        file.unlink()
        gateway.shutdown()
        gateway.proc.stdin.close()  # it ends with its standard input
        gateway.proc.wait()


def needs_own_jvm(manifest: Manifest, spark: SparkChoice, env: Mapping[str, str]) -> bool:
    """Return whether a package cannot use a shared JVM: it is not a local Spark program, or has properties that only take effect when a
    JVM starts."""
    conf = manifest.program.conf | spark.conf
    master = spark.master or conf.get("spark.master", "local[*]")
    return (
        manifest.program.kind not in {"pyspark", "sql"}
        or spark.remote is not None
        or not master.startswith("local")
        or bool(env.get("PYSPARK_SUBMIT_ARGS", "").replace("pyspark-shell", "").strip())
        or any(name.startswith(_AT_THE_START) and name != _TUNING for name in conf)
    )


@contextlib.contextmanager
def borrowed(
    manifest: Manifest, spark: SparkChoice, ours: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[Mapping[str, str]]:
    """Return `env`, the environment of a package's process, changed to use the shared JVM; unchanged if the package must start its own.

    `ours`: the runner's environment, which names the JVM's folder and may have arguments for spark-submit.
    """
    folder = ours.get(FOLDER)
    if not folder or needs_own_jvm(manifest, spark, ours):
        yield env
        return
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(Path(folder, "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            connection = msgspec.json.decode(Path(folder, "connection.json").read_bytes(), type=Connection)
            jvm = stack.enter_context(_connected(connection))
            _prepare(jvm, manifest, spark, _changed(connection.environment, env))
        except Exception as error:  # noqa: BLE001 - busy, gone or not understood: the package starts a JVM as ever
            log.info("the shared JVM is not used: %s", error)
            yield env
            return
        stack.callback(_leave, jvm)
        given = {name: value for name, value in env.items() if name != "PYSPARK_SUBMIT_ARGS"}
        yield given | {"PYSPARK_GATEWAY_PORT": str(connection.port), "PYSPARK_GATEWAY_SECRET": connection.secret}


@contextlib.contextmanager
def _connected(connection: Connection) -> Iterator[Any]:
    from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

    gateway = ClientServer(
        java_parameters=JavaParameters(port=connection.port, auth_token=connection.secret, auto_convert=True),
        python_parameters=PythonParameters(port=0, eager_load=False),
    )
    try:
        yield gateway.jvm
    finally:
        gateway.close()


def _prepare(jvm: Any, manifest: Manifest, spark: SparkChoice, executor: Mapping[str, str]) -> None:
    """Set the package's properties and folder in the JVM, without leftovers of the package before."""
    _clear(jvm)
    conf = {
        "spark.app.name": manifest.name,
        "spark.master": spark.master or "local[*]",
        # Java resolves a relative path in the folder that the JVM was started in.
        "spark.sql.warehouse.dir": str(Path(manifest.folder, "spark-warehouse").absolute()),
        **{f"spark.executorEnv.{name}": value for name, value in executor.items()},
        **manifest.program.conf,
        **spark.conf,
    }
    if spark.master:
        conf["spark.master"] = spark.master
    for name, value in conf.items():
        jvm.java.lang.System.setProperty(name, value)
    jvm.java.lang.System.setProperty("user.dir", str(Path(manifest.folder).absolute()))


def _clear(jvm: Any) -> None:
    """Stop the SparkContext that a package left, and drop its properties and open file systems."""
    active = _companion(jvm).getActive()
    if active.isDefined():
        active.get().stop()
    properties = jvm.java.lang.System.getProperties()
    for name in list(properties.stringPropertyNames()):
        if name.startswith("spark."):
            properties.remove(name)
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()  # they cache the folder


def _companion(jvm: Any) -> Any:
    """Return the Scala object `SparkContext`, which has the running context."""
    return getattr(getattr(jvm, "org.apache.spark.SparkContext$"), "MODULE$")


def _leave(jvm: Any) -> None:
    with contextlib.suppress(Exception):  # the package may have ended the JVM; the next one starts its own
        _clear(jvm)


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python workers need and their JVM lacks."""
    return {name: value for name, value in now.items() if before.get(name) != value}
