"""Headwater: where data comes from, what happened to it on the way, who depends on it, and what to do when it is wrong."""

__version__ = "0.1.0"
