"""Clocks that jump and disks that are slow, for single processes: a small library that is preloaded into them (`trouble.c`)."""

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

_SOURCE = Path(__file__).parent / "trouble.c"


class Troubles:
    """The library, and a file for each process that may be troubled. PostgreSQL runs as another user, so the folder is open to all."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headwater-trouble-"))
        self.folder.chmod(0o755)
        self._library = self.folder / "trouble.so"
        compiler = shutil.which("cc")
        assert compiler, (
            "clocks that jump and slow disks need a C compiler (Debian, Ubuntu: apt-get install gcc libc6-dev)"
        )
        subprocess.run(
            [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(self._library), str(_SOURCE), "-ldl"],
            check=True,
        )
        self._library.chmod(0o755)

    def env(self, name: str) -> dict[str, str]:
        """Return the environment that a process of this name starts with."""
        path = self.folder / name
        if not path.exists():
            self.set(name)
        return {"LD_PRELOAD": str(self._library), "TROUBLE": str(path)}

    def set(self, name: str, *, ahead: float = 0.0, sync: float = 0.0) -> None:
        """Its wall clock is so many seconds ahead from now on, and each sync of a file takes so many seconds longer."""
        file = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o644)
        os.fchmod(file, 0o644)
        os.pwrite(file, struct.pack("<qq", int(ahead * 1e9), int(sync * 1e6)), 0)
        os.close(file)

    def close(self) -> None:
        shutil.rmtree(self.folder)
