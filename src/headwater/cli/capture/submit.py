"""The `headwater` command as a file, which is what spark-submit takes.

    spark-submit --master yarn "$(python -m headwater.cli.capture.submit)" sync query-log …

Without a command it says where it is.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script's own directory is first on the path, and the modules here have names that others have too.
    here = Path(__file__).resolve()
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != here.parent]
    if len(sys.argv) == 1:
        print(here)
    else:
        from headwater.cli import main

        main()
