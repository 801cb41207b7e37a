"""Learn at once that the process is to stop: Granian ends the application only after the last request, which a stream would hold up."""

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def on_stop(call: Callable[[], object]) -> Callable[[], None]:
    """Call `call` in the running loop when SIGINT or SIGTERM comes, in addition to what handles it now. Returns how to undo that.

    A signal that nothing handles stays so: it ends the process anyway. Signals that the loop handles reach it through its wake-up file, whatever
    function is set here.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    loop = asyncio.get_running_loop()
    former = {one: signal.getsignal(one) for one in _SIGNALS}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(call)
        before = former[signal.Signals(number)]
        if callable(before):
            before(number, frame)

    handled = [one for one, handler in former.items() if callable(handler)]
    for one in handled:
        signal.signal(one, stop)
        signal.siginterrupt(one, False)

    def undo() -> None:
        for one in handled:
            if signal.getsignal(one) is stop:
                signal.signal(one, former[one])

    return undo
