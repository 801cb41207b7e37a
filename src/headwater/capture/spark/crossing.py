"""Release JVM objects in bulk, for fewer crossings between Python and the JVM.

py4j sends one command for each JVM object that Python releases, which is nearly half the cost of reading a plan. Objects reached
through a `Quiet` client are collected instead, and released with one call for many. The host program's objects are not touched.
"""

import re
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from headwater.capture.spark.recorded import AbsentMethod

Answer = TypeVar("Answer")
_MOST_WAITING = 200
_NO_METHOD = re.compile(r"Py4JException: Method .* does not exist")


def text(option: Any) -> str:
    """Return an Option's content as text, or empty. One call, not two: its text is `Some(…)` or `None`."""
    said = str(option.toString()) if option is not None else "None"
    return said[5:-1] if said.startswith("Some(") else ""


def ask_optional(question: Callable[[], Answer], failed: Callable[[str], None]) -> Answer | None:
    """Return the answer of JVM objects that may not have the method, for the class differs by source and version; None then.

    `failed`: told of any other failure, for which the answer is None too.
    """
    try:
        return question()
    except AbsentMethod:
        return None
    except Exception as error:  # noqa: BLE001 - py4j raises its own kinds; `failed` says it
        if not _NO_METHOD.search(str(error)):
            failed(f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}")
        return None


def java_class(jvm: Any, name: str) -> Any:
    """Return a class of the JVM by its whole name.

    `jvm.java.util.ArrayList` asks the driver about each part of the name, and it looks for classes `java` and `java.util` in every jar: 3 ms.
    """
    from py4j.java_gateway import JavaClass

    return JavaClass(name, jvm._gateway_client)


class Quiet:
    """A py4j client that passes everything on, but collects objects to release instead of releasing each at once."""

    def __init__(self, sc: Any) -> None:
        self._client = sc._gateway._gateway_client
        self._dead: deque[str] = deque()
        self._gateway = sc._gateway
        self._words = java_class(sc._jvm, "java.util.StringTokenizer")
        self._collections = java_class(sc._jvm, "java.util.Collections")

    @cached_property
    def _held(self) -> Any:
        """The keys of the JVM's map of the objects that Python holds."""
        return self._gateway.java_gateway_server.getGateway().getBindings().keySet()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def garbage_collect_object(self, target_id: str, *_: Any) -> None:
        """Note an object that Python has released. py4j calls this."""
        self._dead.append(target_id)

    def adopt(self, thing: Any) -> Any:
        """Return the same JVM object or class through this client: everything reached from it is released in bulk."""
        from py4j.java_gateway import JavaClass, JavaObject

        if isinstance(thing, JavaClass):
            thing._gateway_client = self
            return thing
        adopted = JavaObject(thing._target_id, self)
        adopted.__dict__["_headwater_owner"] = thing  # which the JVM must keep while this one is used
        return adopted

    def release(self, at_least: int = _MOST_WAITING) -> None:
        """Release the collected objects in the JVM, once there are enough for a call."""
        if len(self._dead) < at_least or not self._dead:
            return
        ids = [self._dead.popleft() for _ in range(len(self._dead))]
        self._held.removeAll(self._collections.list(self._words(" ".join(ids))))
