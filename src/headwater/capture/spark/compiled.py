"""Compile this folder's Java in the driver, with the Janino that Spark brings along, for one crossing where Python would need dozens.

There is no jar to match with a Spark version: the source is compiled against the driver's own classes. Where that fails (no Janino, a driver
that forbids new class loaders, a method that this driver has not), the caller reads over py4j, with the same result.
"""

import logging
import uuid
import weakref
from importlib import resources
from typing import Any

from headwater.capture.spark import bytecode
from headwater.capture.spark.crossing import java_class

log = logging.getLogger("headwater")

CLASSES = ("QueryFacts", "PlanText", "Answers", "Reflection")
"""The classes, in files of their own; the first is the one that Python calls."""
_NUMBER = "0" * 32
"""Stands in written classes for the number of a process in the name of the first."""
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
    number, source = uuid.uuid4().hex, _source()
    loader = java_class(jvm, "org.apache.spark.util.Utils").getContextOrSparkClassLoader()
    file = bytecode.file_for(source, *_driver(jvm, loader))
    classes = bytecode.read(file)
    if classes is not None:
        try:
            return _load(jvm, loader, classes, number)
        except Exception as error:  # noqa: BLE001 - py4j raises its own kinds
            log.info("headwater capture: %s is not used: %s", file, str(error)[:300])
    compiler = java_class(jvm, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(loader)
    compiler.cook(source.replace(CLASSES[0], f"{CLASSES[0]}_{number}"))
    found = compiler.getClassLoader().loadClass(f"headwater.{CLASSES[0]}_{number}")
    made = compiler.getBytecodes()
    bytecode.write(
        file,
        {
            str(name).replace(number, _NUMBER): bytes(made[name]).replace(number.encode(), _NUMBER.encode())
            for name in made
        },
    )
    return found


def _load(jvm: Any, loader: Any, classes: dict[str, bytes], number: str) -> Any:
    """Return the class out of what an earlier program compiled, under the name of this process. A name of the same length fits its place."""
    given = java_class(jvm, "java.util.HashMap")()
    for name, code in classes.items():
        given.put(name.replace(_NUMBER, number), bytearray(code.replace(_NUMBER.encode(), number.encode())))
    held = java_class(jvm, "org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader")(given, loader)
    return held.loadClass(f"headwater.{CLASSES[0]}_{number}")


def _driver(jvm: Any, loader: Any) -> tuple[str, ...]:
    """Return what tells one build of Spark, and the Java below it, from another."""
    spark = java_class(jvm, "java.lang.Class").forName("org.apache.spark.SparkContext", False, loader)
    place = spark.getProtectionDomain().getCodeSource().getLocation().getPath()
    jar = java_class(jvm, "java.io.File")(place)
    java = java_class(jvm, "java.lang.System").getProperty("java.vm.version")
    return str(java), str(place), str(jar.length()), str(jar.lastModified())


def _source() -> str:
    """Return all classes as one unit of compilation: imports come first."""
    folder = resources.files("headwater.capture.spark")
    lines = [line for name in CLASSES for line in folder.joinpath(f"{name}.java").read_text("utf-8").splitlines()]
    imports = [line for line in lines if line.startswith("import ")]
    body = [line for line in lines if not line.startswith(("import ", "package "))]
    return "\n".join(["package headwater;", *dict.fromkeys(imports), *body])
