"""Record reports about instances, and update marks, incidents and staleness."""
