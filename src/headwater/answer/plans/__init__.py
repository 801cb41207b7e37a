"""Plans: what to make again, and what a run means for others."""
