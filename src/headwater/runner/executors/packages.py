"""Run items of packages: the folder NAME of `package:NAME`, by `headwater run FOLDER --period A..B` in its own process.

The process's output goes to a file that stays locked while the process, or a program that it runs, lives. A worker on the same machine that
takes over from a killed one thus sees whether its run is still alive, and waits for it. The run itself reports what it produced, as the
server requires.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headwater.errors import InvalidManifest
from headwater.runner.entities import package_entities
from headwater.runner.executors import Going
from headwater.runner.executors.processes import ProcessExecutor
from headwater.runner.plans import RERUN, Item
from headwater.runner.reading import FILE

SCHEME = "package:"
COMMAND = (sys.executable, "-m", "headwater", "run")


def package_files(folder: Path) -> dict[str, Path]:
    """Return the dk.yaml of each package in a folder, by its producer."""
    files = (each / FILE for each in sorted(folder.absolute().iterdir()))
    return {f"{SCHEME}{file.parent.name}": file for file in files if file.is_file()}


class Packages(ProcessExecutor):
    """Runs the packages, folders with a dk.yaml, in `folder`; their output goes below `logs`. `command`: runs one, instead of `headwater run`.
    `environ`: added to the environment.
    """

    actions = (RERUN,)

    def __init__(
        self, folder: Path, logs: Path, *, command: Sequence[str] = COMMAND, environ: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(logs, environ)
        self._command = list(command)
        self._folders = {producer: file.parent for producer, file in package_files(folder).items()}

    @property
    def producers(self) -> list[str]:
        return list(self._folders)

    def command(self, item: Item) -> str:
        return " && ".join(shlex.join(each) for each in self._commands(item))

    def start(self, item: Item, run: str) -> Going:
        file = self._folders[item.producer or ""] / FILE
        entities = package_entities(file).entities
        if strange := [each.entity for each in item.makes if each.entity not in entities]:
            raise InvalidManifest(f"{file} makes {', '.join(entities)}, and not {', '.join(strange)}", field="entity")
        return self._begin(item, run, self._commands(item))

    def _commands(self, item: Item) -> list[list[str]]:
        folder = str(self._folders[item.producer or ""])
        return [[*self._command, folder, "--period", period, "--json"] for period in item.runs]
