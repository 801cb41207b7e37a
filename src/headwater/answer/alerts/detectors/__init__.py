"""Detectors: each finds the troubles of one kind that begin in a window, the same whenever it looks."""
