"""Accept OpenLineage events, append them to the log, and project them to rows."""
