"""Periods, states, taint and backfill plans. Pure. Built by a later step: nothing lives here yet."""
