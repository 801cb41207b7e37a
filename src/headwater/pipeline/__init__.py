"""Headwater's own PySpark jobs: what is too large for one process, on a laptop or on any Spark cluster with the same code.

They run in other people's processes, so nothing here imports the server; what they find out reaches it as OpenLineage events.
"""
