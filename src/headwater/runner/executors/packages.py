"""Run items of packages: of `package:NAME` the folder NAME, by `headwater run FOLDER --period A..B` in a process of its own.

What the process says goes into a file, which is locked for as long as the process, or a program that it runs, lives. So a worker that takes over from
one that was killed sees, on the same machine, whether that one's run still goes on, and waits for it. Refuses to report what was produced: the run
does that, and the server asks for it.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.client.event import run_id
from headwater.errors import InvalidManifest
from headwater.runner.entities import made_by
from headwater.runner.executors import Going
from headwater.runner.executors.processes import Earlier, Processes, locked
from headwater.runner.plans import RERUN, Item
from headwater.runner.reading import FILE

SCHEME = "package:"
COMMAND = (sys.executable, "-m", "headwater", "run")


class Packages:
    """Packages are folders with a dk.yaml in `folder`; what they say goes below `logs`. `command`: what runs one, in place of `headwater run`.
    `environ`: added to the environment.
    """

    actions = (RERUN,)

    def __init__(
        self, folder: Path, logs: Path, *, command: Sequence[str] = COMMAND, environ: dict[str, str] | None = None
    ) -> None:
        self._logs, self._command, self._environ = logs, list(command), environ or {}
        self._looked_at: set[Path] = set()
        self._folders = {
            f"{SCHEME}{each.name}": each for each in sorted(folder.absolute().iterdir()) if (each / FILE).is_file()
        }

    @property
    def producers(self) -> list[str]:
        return list(self._folders)

    def named(self, item: Item) -> str:
        return run_id()

    def command(self, item: Item) -> str:
        return " && ".join(shlex.join(each) for each in self._commands(item))

    def earlier(self, item: Item) -> Going | None:
        log = self._log(item, item.before)
        # A run that ended between the worker's end and now is looked at once, so that the server sees what it made before it runs again.
        new = log not in self._looked_at and log.exists()
        self._looked_at.add(log)
        return Earlier(log, item.before) if new or locked(log) else None

    def start(self, item: Item, run: str) -> Going:
        file = self._folders[item.producer or ""] / FILE
        entities = made_by(file).entities
        if strange := [each.entity for each in item.makes if each.entity not in entities]:
            raise InvalidManifest(f"{file} makes {', '.join(entities)}, and not {', '.join(strange)}", field="entity")
        log = self._log(item, run)
        log.parent.mkdir(parents=True, exist_ok=True)
        return Processes(self._commands(item), log, os.environ | self._environ, run)

    def _commands(self, item: Item) -> list[list[str]]:
        folder = str(self._folders[item.producer or ""])
        return [[*self._command, folder, "--period", period, "--json"] for period in item.runs]

    def _log(self, item: Item, run: str) -> Path:
        return self._logs / item.plan / f"{item.number}-{run}.log"
