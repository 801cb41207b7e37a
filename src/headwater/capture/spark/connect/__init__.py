"""Capture through Spark Connect, where the client has no JVM: its plans are protobuf messages, and the server resolves names and types."""
