"""What to make again, in which order, in which runs, and what that takes."""
