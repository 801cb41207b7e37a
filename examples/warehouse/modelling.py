"""The company's dbt: its project as of a day, and `dbt build` every night. Manifests of every version of the project are kept."""

import datetime as dt
import os
import shutil
from pathlib import Path

from database import Database

HERE = Path(__file__).parent


class Project:
    """A copy of dbt/ in `folder`, to which the changes of each day are made."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder / "project"
        self.manifests = folder / "manifests"
        self.manifests.mkdir(parents=True)
        shutil.copytree(HERE / "dbt", self.folder)
        os.environ.update(database.address, DBT_PROFILES_DIR=str(self.folder), DO_NOT_TRACK="1")
        self._changed = True

    def change(self, number: int) -> None:
        """Apply the change in changes/NN-* for this day, if there is one."""
        for change in sorted((HERE / "changes").glob(f"{number:02}-*")):
            removed = change / "removed.txt"
            for path in removed.read_text(encoding="utf-8").split() if removed.exists() else []:
                (self.folder / path).unlink()
            shutil.copytree(change / "models", self.folder / "models", dirs_exist_ok=True)
            self._changed = True

    def build(self, day: dt.date) -> None:
        from dbt.cli.main import dbtRunner

        place = ["--project-dir", str(self.folder), "--no-version-check", "--quiet", "--log-level-file", "none"]
        done = dbtRunner().invoke(["build", *place])
        if not done.success:
            raise SystemExit(f"dbt build of {day} failed: {done.exception or done.result}")
        if self._changed:
            shutil.copy(self.folder / "target/manifest.json", self.manifests / f"{day}.json")
            self._changed = False
