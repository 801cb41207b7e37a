"""OpenLineage events in: accepted, appended to the log and projected to rows."""
