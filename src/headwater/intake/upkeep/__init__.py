"""Rebuild tables from the logs, replay logs, and delete records past their retention."""
