"""The write side: accept events, reports and changes, and store them. Never imports the read side."""
