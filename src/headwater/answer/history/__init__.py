"""History: versions, facets and events over time, and what changed between two times."""
