"""Tables made again from the logs, and what is past its retention deleted."""
