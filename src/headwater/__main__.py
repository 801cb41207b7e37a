"""`python -m headwater` is the `headwater` command."""

from headwater.cli import main

main()
