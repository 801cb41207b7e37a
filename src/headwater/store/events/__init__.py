"""The log of events and the rows that it becomes."""
