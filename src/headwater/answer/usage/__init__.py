"""What query logs tell: who uses what, what it costs, what may go."""
