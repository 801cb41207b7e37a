"""The parts of a world that run: programs, and PostgreSQL; each can be killed, stopped and started again."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil

from headwater.store.embedded import EmbeddedPostgres, _forget_the_dead

Command = Callable[[], tuple[list[str], dict[str, str]]]  # the words after `python`, and the settings


class Process:
    """A program that is started again and again; in a session of its own, so that what it leaves can be found."""

    def __init__(self, name: str, folder: Path, env: dict[str, str], command: Command) -> None:
        self.name, self._folder, self._env, self._command = name, folder, env, command
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        if self.alive:
            return
        self.end()  # what its workers still hold
        self.starts += 1
        words, env = self._command()
        with (self._folder / f"{self.name}.log").open("ab") as sink:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                env={**self._env, **env},
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    def family(self) -> list[psutil.Process]:
        if not self.alive:
            return []
        assert self.process is not None
        with contextlib.suppress(psutil.Error):
            one = psutil.Process(self.process.pid)
            return [one, *one.children(recursive=True)]
        return []

    def signal(self, number: int, *, whole: bool = True) -> None:
        for one in self.family()[: None if whole else 1]:
            with contextlib.suppress(psutil.Error):
                one.send_signal(number)

    def kill(self) -> None:
        """Kill the process with -9, and only itself: its children live on, as they would."""
        self.signal(signal.SIGKILL, whole=False)
        if self.process is not None:
            self.process.wait()

    def ask_to_end(self) -> None:
        """Ask the process to end, as a service manager does."""
        self.signal(signal.SIGTERM, whole=False)

    def ended(self, seconds: float) -> bool:
        """Return whether the process ended by itself in that time."""
        try:
            if self.process is not None:
                self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """All of it, now."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


class Postgres:
    """The embedded one, killed and started over the same folder."""

    def __init__(self, folder: Path, env: dict[str, str] | None = None) -> None:
        self.folder, self._env = folder, env or {}
        with self._preloaded():
            self.embedded = EmbeddedPostgres(folder)
        self.url = self.embedded.url
        self.socket = parse_qs(urlsplit(self.url).query)["host"][0] + "/.s.PGSQL.5432"

    def family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error, OSError, ValueError):
            one = psutil.Process(int((self.folder / "postmaster.pid").read_text().split("\n", 1)[0]))
            if one.name().startswith("postgres"):
                return [one, *one.children()]
        return []

    def signal(self, number: int) -> None:
        for one in self.family():
            with contextlib.suppress(psutil.Error):
                one.send_signal(number)

    def kill(self) -> None:
        family = self.family()
        self.signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=10)

    def kill_one(self, draw: random.Random) -> None:
        """A process of its own dies: the postmaster ends all connections and recovers."""
        with contextlib.suppress(psutil.Error):
            if children := self.family()[1:]:
                draw.choice(children).kill()

    def start(self) -> None:
        if not self.family():
            _forget_the_dead(self.folder, self.folder.parent / "run")
            with self._preloaded():
                self.embedded._server.ensure_postgres_running()

    @contextlib.contextmanager
    def _preloaded(self) -> Iterator[None]:
        """It inherits this process's environment."""
        before = os.environ.copy()
        os.environ.update(self._env)
        try:
            yield
        finally:
            for key in self._env:
                os.environ.pop(key) if key not in before else os.environ.update({key: before[key]})

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        self.start()
        self.embedded.stop()
