"""Reports about instances in, and what follows from them: marks, incidents, staleness."""
