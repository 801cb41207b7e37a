"""Deliver the log to listeners."""
