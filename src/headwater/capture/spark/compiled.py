"""Compile this folder's Java in the driver, with the Janino that Spark brings along, for one crossing where Python would need dozens.

There is no jar to match with a Spark version: the source is compiled against the driver's own classes. Where that fails (no Janino, a driver
that forbids new class loaders, a method that this driver has not), the caller reads over py4j, with the same result.
"""

import logging
import uuid
import weakref
from importlib import resources
from typing import Any

from headwater.capture.spark.crossing import java_class

log = logging.getLogger("headwater")

CLASSES = ("QueryFacts", "PlanText", "Answers", "Reflection")
"""The classes, in files of their own; the first is the one that Python calls."""
_compiled: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def compile_in(jvm: Any) -> Any:
    """Return an instance of `QueryFacts`, compiled in the driver, once for this process; None where the driver does not allow it."""
    try:
        gateway = jvm._gateway_client
        if gateway not in _compiled:
            _compiled[gateway] = _compile(jvm)
        return _compiled[gateway].newInstance()
    except Exception as error:  # noqa: BLE001 - py4j raises its own kinds
        log.info("headwater capture: plans are read in more calls: %s: %s", type(error).__name__, str(error)[:300])
        return None


def _compile(jvm: Any) -> Any:
    """Return the class. Its name is of this process alone: several may share a JVM, in which py4j remembers methods by the class's name."""
    name = f"{CLASSES[0]}_{uuid.uuid4().hex}"
    compiler = java_class(jvm, "org.codehaus.janino.SimpleCompiler")()
    loaders = java_class(jvm, "org.apache.spark.util.Utils")
    compiler.setParentClassLoader(loaders.getContextOrSparkClassLoader())
    compiler.cook(_source().replace(CLASSES[0], name))
    return compiler.getClassLoader().loadClass(f"headwater.{name}")


def _source() -> str:
    """Return all classes as one unit of compilation: imports come first."""
    folder = resources.files("headwater.capture.spark")
    lines = [line for name in CLASSES for line in folder.joinpath(f"{name}.java").read_text("utf-8").splitlines()]
    imports = [line for line in lines if line.startswith("import ")]
    body = [line for line in lines if not line.startswith(("import ", "package "))]
    return "\n".join(["package headwater;", *dict.fromkeys(imports), *body])
