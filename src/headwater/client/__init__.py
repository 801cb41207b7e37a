"""Build and deliver OpenLineage events without ever harming the host. Imports nothing heavy."""
