"""Fewer crossings between Python and the JVM: objects are let go in bulk.

py4j sends one command for each JVM object that Python lets go of, which is nearly half of what reading a plan costs. Objects reached
through a `Quiet` client are gathered instead, and forgotten by the JVM with one call for many. Refuses to touch objects of the host's own.
"""

from collections import deque
from typing import Any

_MOST_WAITING = 200


def text(option: Any) -> str:
    """An Option of something as text, or empty. One question, not two: its text is `Some(…)` or `None`."""
    said = str(option.toString()) if option is not None else "None"
    return said[5:-1] if said.startswith("Some(") else ""


class Quiet:
    """A py4j client that passes everything on, but remembers what may be let go instead of saying so at once."""

    def __init__(self, sc: Any) -> None:
        self._client = sc._gateway._gateway_client
        self._dead: deque[str] = deque()
        jvm = sc._jvm
        self._words = jvm.java.util.StringTokenizer
        self._list = jvm.java.util.Collections.list
        # The JVM's own map of the objects that Python holds.
        self._held = sc._gateway.java_gateway_server.getGateway().getBindings().keySet()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def garbage_collect_object(self, target_id: str, *_: Any) -> None:
        """Called by py4j when Python has let go of an object."""
        self._dead.append(target_id)

    def adopt(self, thing: Any) -> Any:
        """The same object or class of the JVM, through this client: all that is reached from it is let go in bulk."""
        from py4j.java_gateway import JavaClass, JavaObject

        if isinstance(thing, JavaClass):
            thing._gateway_client = self
            return thing
        adopted = JavaObject(thing._target_id, self)
        adopted.__dict__["_headwater_owner"] = thing  # which the JVM must keep as long as this one is used
        return adopted

    def release(self, at_least: int = _MOST_WAITING) -> None:
        """Let the JVM forget what Python has let go of, when it is worth a call."""
        if len(self._dead) < at_least or not self._dead:
            return
        ids = [self._dead.popleft() for _ in range(len(self._dead))]
        self._held.removeAll(self._list(self._words(" ".join(ids))))
