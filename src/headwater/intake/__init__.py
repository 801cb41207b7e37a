"""The write side: bytes in, facts stored. Never imports the read side."""
