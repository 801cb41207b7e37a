"""End a worker whose server process was killed, because no command could stop it any more."""

import os
import signal
import threading
import time

_LOOK_SECONDS = 0.5


def end_with_parent(patience: float) -> None:
    """Stop this process as by SIGTERM when its parent has ended, and kill it after `patience` seconds."""
    threading.Thread(target=_watch, args=(os.getppid(), patience), name="headwater-parent", daemon=True).start()


def _watch(parent: int, patience: float) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience)
    os._exit(1)
