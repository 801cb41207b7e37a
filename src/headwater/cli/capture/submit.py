"""The `headwater` command as a file, as spark-submit needs it.

    spark-submit --master yarn "$(python -m headwater.cli.capture.submit)" sync query-log …

Without a command it prints its own path.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script's own directory comes first on the path, and modules here share names with other packages.
    here = Path(__file__).resolve()
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != here.parent]
    if len(sys.argv) == 1:
        print(here)
    else:
        from headwater.cli import main

        main()
