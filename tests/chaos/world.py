"""Everything an event meets on its way, as processes of their own, and what may be done to each."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aio_pika
import psutil

from headwater.intake.queue.amqp import LETTER_ARGUMENTS, QUEUE_ARGUMENTS
from tests.chaos.faults import ALONE, EVERYTHING, PRODUCERS, RECEIVERS, STRANDED, Fault, Size
from tests.chaos.parts import Command, Postgres, Process
from tests.chaos.proxy import Proxy
from tests.chaos.trouble import Troubles
from tests.fixtures.processes import free_port
from tests.fixtures.rabbitmq import SETTLED, Broker, own_broker

HERE = Path(__file__).parent
IN, EVENTS, LETTERS = "chaos.in", "headwater.events", "headwater.dead-letters"
_SMALL_DISK = 3 << 20
# Seconds that a clock is ahead, and that a sync of a file takes longer.
SHIFTS = (3.3, -2.7, 400.0, -400.0, 7 * 3600.0, -5 * 3600.0, 40 * 86400.0, -400 * 86400.0)
SYNCS = (0.02, 0.1, 0.5, 1.0)


class World:
    """Made whole and running; `strike` breaks it, `mend` mends it, `heal` mends all of it."""

    def __init__(
        self, folder: Path, broker: Broker, seed: int, pause: float, say: Callable[[str], None], size: Size
    ) -> None:
        self.folder, self.broker, self.seed, self.pause, self.say, self.size = folder, broker, seed, pause, say, size
        self.troubles = Troubles() if size.troubled else None
        self.draw = random.Random(f"world {seed}")
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HEADWATER_", "OPENLINEAGE_", "OTEL_"))
        }
        self.env = {**kept, "HEADWATER_HOME": str(folder / "home"), "HEADWATER_DATABASE__POOL_SIZE": "2"}
        self.records = folder / "records"
        self.items = folder / "items"
        self.rubbish = folder / "rubbish"
        for made in (self.records, self.items):
            made.mkdir()
        self.disk = folder / "disk"
        self.tiny = _mounted(self.disk)
        broker.begin()
        self.postgres = Postgres(folder / "pg" / "data", self._trouble("postgres"))
        ports = {name: free_port() for name in ("server", *size.more)}
        self.proxies = {
            "http": Proxy(list(ports.values()), seed),
            "amqp": Proxy([broker.port], seed + 1),
            "db": Proxy([self.postgres.socket], seed + 2),
        }
        self.direct = {"HEADWATER_DATABASE__URL": self.postgres.url, "HEADWATER_AMQP__URL": broker.url}
        self.stranded = {
            **STRANDED,
            "postgres": (*ports, *(name for name in STRANDED["postgres"] if name not in ports)),
        }
        through = {
            "HEADWATER_DATABASE__URL": f"postgresql://postgres@127.0.0.1:{self.proxies['db'].port}/postgres",
            "HEADWATER_AMQP__URL": broker.url,
        }
        between = [str(HERE / "shuffler.py"), broker.url, IN, EVENTS, str(self.rubbish)]
        self.between = between
        self.processes = {
            **{name: self._process(name, lambda at=port: self._serve(at)) for name, port in ports.items()},
            "shuffler": self._process("shuffler", lambda: ([*between, f"{seed} {time.monotonic()}"], {})),
            "drain": self._process("drain", self._drain),
        }
        for number in range(RECEIVERS):
            words = ["-m", "headwater", "receive", "--prefetch", str(10 + 40 * number), "--batch", "40"]
            self.processes[f"receiver{number}"] = self._process(f"receiver{number}", lambda w=words: (w, through))
        for number in range(PRODUCERS):
            self.processes[f"producer{number}"] = self._process(f"producer{number}", lambda n=number: self._producer(n))

    def _process(self, name: str, command: Command) -> Process:
        return Process(name, self.folder, {**self.env, **self._trouble(name)}, command)

    def _trouble(self, name: str) -> dict[str, str]:
        """Return the environment with which the clock of this process can jump, and its disk can be slow."""
        return self.troubles.env(name) if self.troubles is not None else {}

    def _serve(self, port: int) -> tuple[list[str], dict[str, str]]:
        where = {"HEADWATER_DATABASE__URL": self.postgres.url, "HEADWATER_SERVER__PORT": str(port)}
        return ["-m", "headwater", "serve"], where

    def spools(self) -> list[dict[str, str]]:
        """The settings of each producer: over HTTP, AMQP, both, and AMQP out of the spool of the other."""
        http = f"http://127.0.0.1:{self.proxies['http'].port}"
        amqp = f"amqp://guest:guest@127.0.0.1:{self.proxies['amqp'].port}/?queue={IN}"
        small = {} if self.tiny else {"HEADWATER_SPOOL_MAX_BYTES": "400k", "HEADWATER_SPOOL_FULL": "drop-newest"}
        broker = {
            "HEADWATER_URL": amqp,
            "HEADWATER_SPOOL": str(self.folder / "spool-amqp"),
            "HEADWATER_SPOOL_MAX_BYTES": "1m",
            "HEADWATER_SPOOL_FULL": "drop-newest",
        }
        both = {"HEADWATER_URL": f"{http},{amqp}", "HEADWATER_SPOOL": str(self.folder / "spool-both")}
        return [
            {"HEADWATER_URL": http, "HEADWATER_SPOOL": str(self.disk), **small},
            {**broker, "HEADWATER_SPOOL_FSYNC": "interval"},
            {**both, "HEADWATER_SPOOL_FSYNC": "always"},
            broker,
        ]

    def begin(self) -> None:
        for name in ("server", *self.size.more):
            self.processes[name].start()
        self.broker.ready()
        import asyncio

        asyncio.run(self._declare())
        time.sleep(SETTLED)  # see Broker.kill
        for one in self.processes.values():
            one.start()

    async def _declare(self) -> None:
        async with await aio_pika.connect(self.broker.url) as connection:
            channel = await connection.channel()
            for name, arguments in ((IN, QUEUE_ARGUMENTS), (EVENTS, QUEUE_ARGUMENTS), (LETTERS, LETTER_ARGUMENTS)):
                await channel.declare_queue(name, durable=True, arguments=arguments)

    def strike(self, fault: Fault) -> None:
        kind, target = fault.kind, fault.target
        if kind in {"clock", "slow"}:
            assert self.troubles is not None
            ahead, sync = self.draw.choice(SHIFTS), self.draw.choice(SYNCS)
            self.troubles.set(target, **({"ahead": ahead} if kind == "clock" else {"sync": sync}))
        elif kind == "strand":
            if target in self.proxies:
                self.proxies[target].become("blackhole")
            else:
                self._strike_service("stop", target)
        elif target in self.proxies:
            self.proxies[target].become(kind)  # type: ignore[arg-type]
        elif kind == "fill":
            if self.tiny:
                _fill(self.disk / "ballast")
        elif target == EVERYTHING:
            for one in self.processes.values():
                one.kill()
            self.postgres.kill()
            self.broker.kill()
        elif target == "worker":
            for one in self.processes["server"].family()[1:2]:
                with contextlib.suppress(psutil.Error):
                    one.kill()
        elif target == "backend":
            self.postgres.kill_one(self.draw)
        elif target in {"postgres", "broker"}:
            self._strike_service(kind, target)
        elif kind == "kill":
            self.processes[target].kill()
        elif kind == "stop":
            self.processes[target].signal(signal.SIGSTOP)
        else:
            self.processes[target].ask_to_end()

    def _strike_service(self, kind: str, target: str) -> None:
        if kind == "stop" and target == "postgres":
            self.postgres.signal(signal.SIGSTOP)
        elif kind == "stop" and self.broker._node is not None:
            os.killpg(self.broker._node.pid, signal.SIGSTOP)
        elif target == "postgres":
            self.postgres.kill() if kind == "kill" else self.postgres.signal(signal.SIGINT)
        elif kind == "kill":
            self.broker.kill()
        elif self.broker._node is not None:
            self.broker._node.send_signal(signal.SIGTERM)

    def mend(self, fault: Fault) -> None:
        kind, target = fault.kind, fault.target
        if kind in {"clock", "slow"}:
            assert self.troubles is not None
            self.troubles.set(target)
            return
        if kind == "strand":
            for name in self.stranded[target]:
                self.processes[name].kill()
            self.mend(fault._replace(kind="stop"))
            for name in self.stranded[target]:
                self.processes[name].start()
            return
        if target in self.proxies:
            self.proxies[target].become("open")
        elif kind == "fill":
            (self.disk / "ballast").unlink(missing_ok=True)
        elif target == "postgres" and kind == "stop":
            self.postgres.signal(signal.SIGCONT)
        elif target in {"postgres", "backend"}:
            if kind == "restart":
                psutil.wait_procs(self.postgres.family()[:1], timeout=20)
                self.postgres.kill()
            self._start_postgres()
        elif target == "broker":
            self._start_broker(stopped=kind == "stop")
        elif target == EVERYTHING:
            self._start_postgres()
            self._start_broker(stopped=False)
            for one in self.processes.values():
                one.start()
        elif kind == "stop":
            self.processes[target].signal(signal.SIGCONT)
        else:
            one = self.processes[{"worker": "server"}.get(target, target)]
            if kind == "restart" and not one.ended(30):
                self.say(f"         {one.name} did not end in 30 s")
            one.start()

    def tend(self) -> None:
        """Start the sender's process again when it has ended by itself, as a service manager does all the time."""
        if not self.processes["drain"].alive:
            self.processes["drain"].start()

    def _start_postgres(self) -> None:
        for again in (True, True, False):
            family = self.postgres.family()
            if family and all(one.status() != psutil.STATUS_ZOMBIE for one in family[:1]):
                return
            try:
                self.postgres.start()
            except (AssertionError, OSError, subprocess.SubprocessError):
                if not again:
                    raise
                time.sleep(1)

    def _start_broker(self, *, stopped: bool) -> None:
        node = self.broker._node
        if stopped and node is not None:
            os.killpg(node.pid, signal.SIGCONT)
            return
        if node is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.wait(20)  # it got a signal to end; a process that got it during its start may not
        self.broker.kill()
        self.broker.begin()

    def heal(self) -> None:
        """All is well again: every way open, every process there."""
        for proxy in self.proxies.values():
            proxy.become("open")
        (self.disk / "ballast").unlink(missing_ok=True)
        for one in self.processes.values():
            one.signal(signal.SIGCONT)
        self.postgres.signal(signal.SIGCONT)
        self._start_postgres()
        if self.broker._node is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.broker._node.pid, signal.SIGCONT)
        try:
            self.broker.ready()
        except AssertionError:
            self.broker.kill()
            self.broker.start()
        for one in self.processes.values():
            if not one.name.startswith("producer"):
                one.start()

    def run(self, *words: str, ok: tuple[int, ...] = (0,), **env: str) -> Any:
        """The command line's JSON."""
        done = subprocess.run(
            [sys.executable, *words],
            env={**self.env, **self.direct, **env}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode in ok, (
            f"{words} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        )
        return json.loads(done.stdout) if done.stdout.strip() else None

    def _producer(self, number: int) -> tuple[list[str], dict[str, str]]:
        start = self.processes[f"producer{number}"].starts
        ticks = self.folder / f"ticks{number}"
        words = [
            str(HERE / "producer.py"), str(self.records / f"{number}-{start}"), str(ticks), str(self.items),
            f"{self.seed} {number} {start}", str(self.pause),
        ]  # fmt: skip
        return words, {**self.spools()[number], "HEADWATER_FLUSH_SECONDS": "2"}

    def _drain(self) -> tuple[list[str], dict[str, str]]:
        """The sender as a process of its own, for one spool after the other."""
        kinds = self.spools()
        chosen = kinds[self.processes["drain"].starts % len(kinds)]
        return ["-m", "headwater", "spool", "drain", "--timeout", "8"], chosen

    def close(self) -> None:
        for one in self.processes.values():
            one.end()
        for proxy in self.proxies.values():
            proxy.close()
        self.postgres.close()
        if self.troubles is not None:
            self.troubles.close()
        if self.tiny:
            subprocess.run(["umount", "-l", str(self.disk)], check=True)


def _mounted(folder: Path) -> bool:
    """A disk that is soon full, where we may make one; else the cap of the spool stands for it."""
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    return done.returncode == 0


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            if file.write(b"\0" * 4096) < 4096:
                return


@contextlib.contextmanager
def world(folder: Path, seed: int, *, pause: float, say: Callable[[str], None], size: Size = ALONE) -> Iterator[World]:
    """Everything up and running in an empty folder; all of it gone afterwards."""
    with own_broker() as broker:
        made = World(folder, broker, seed, pause, say, size)
        try:
            made.begin()
            yield made
        finally:
            made.close()
