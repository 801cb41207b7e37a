"""Compile this room's Java in the driver, with the Janino that Spark brings along, for one crossing where Python would need hundreds.

There is no jar to match with a Spark version: the source is compiled against the driver's own classes. Where that fails (no Janino, a driver
that forbids new class loaders, a method that this driver has not), the caller reads over py4j, with the same result.
"""

import logging
from importlib import resources
from typing import Any

log = logging.getLogger("headwater")


def compile_in(jvm: Any, name: str) -> Any:
    """Return an instance of the Java class `name` of this folder, compiled in the driver; None where the driver does not allow it."""
    try:
        source = resources.files("headwater.capture.spark").joinpath(f"{name}.java").read_text("utf-8")
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(source)
        return compiler.getClassLoader().loadClass(f"headwater.{name}").newInstance()
    except Exception as error:  # noqa: BLE001 - py4j raises its own kinds
        _say(name, error)
        return None


def _say(name: str, error: Exception) -> None:
    log.info("headwater capture: %s is read in more calls: %s: %s", name, type(error).__name__, str(error)[:300])


class Compiled:
    """A class of this folder in one driver, compiled when it is first asked for."""

    def __init__(self, jvm: Any, name: str) -> None:
        self._jvm = jvm
        self._name = name
        self._tried = False
        self._instance: Any = None

    def instance(self) -> Any:
        """Return its instance, or None where the driver does not compile it."""
        if not self._tried:
            self._tried = True
            self._instance = compile_in(self._jvm, self._name)
        return self._instance

    def give_up(self, error: Exception) -> None:
        """Offer no instance from now on, for this error of the one there was."""
        self._instance = None
        _say(self._name, error)
