"""Detect what rules watch, decide who must know, and show alerts."""
