"""The time of `headwater review` over 1,000 files of SQL of which 20 changed."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES, CHANGED, COLUMNS = 1_000, 20, 20

with tempfile.TemporaryDirectory() as folder:
    base, head = Path(folder) / "base", Path(folder) / "head"
    (base / "sql").mkdir(parents=True)
    columns = ", ".join(f"x.c{number}" for number in range(COLUMNS))
    for number in range(FILES):
        source = f"shop.m{number // 3}" if number else "raw.t"
        text = f"create table shop.m{number} as select {columns} from {source} x where x.c1 > {number};\n"
        (base / "sql" / f"m{number:04}.sql").write_text(text)
    shutil.copytree(base, head)
    for number in range(0, FILES, FILES // CHANGED):
        path = head / "sql" / f"m{number:04}.sql"
        path.write_text(path.read_text().replace("x.c3,", "x.c3 + 1 as c3," if number % 100 == 0 else ""))
    command = [sys.executable, "-m", "headwater", "review", "sql", "--base", str(base), "--dialect", "postgres"]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=head, capture_output=True, text=True, check=False)
    print(f"{time.perf_counter() - began:.1f} s, exit code {done.returncode}: {done.stdout.splitlines()[-1]}")
