"""Builds the web page before a wheel or an archive is packed. An editable installation builds it with `make web`."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildPage(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises RuntimeError where the page is neither built nor can be built here."""
        root = Path(self.root)
        if version == "editable" or (root / "src/headwater/api/static/index.html").is_file():
            return
        if shutil.which("npm") is None:
            raise RuntimeError(
                "The web page is not built, and npm is not here to build it. Install Node 20.19 or newer, or run `make web` first."
            )
        subprocess.run([str(root / "scripts/build-web")], check=True)
