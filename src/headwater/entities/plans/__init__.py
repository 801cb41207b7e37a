"""Plans: what to make again, in which order, in which runs, and how long that takes."""
