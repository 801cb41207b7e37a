"""Compute and store backfill plans, and hand out their items."""
