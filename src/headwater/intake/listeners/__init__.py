"""The log out to listeners."""
