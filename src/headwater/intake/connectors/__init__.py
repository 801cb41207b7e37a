"""Systems that are read on a schedule."""
