"""Where events come from: one folder for each source, the same file names in each. Runs in other people's processes."""
