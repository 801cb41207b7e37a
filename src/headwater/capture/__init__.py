"""Capture of events: one folder per source, with the same file names in each. Runs inside the processes that it observes."""
