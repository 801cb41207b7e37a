"""The status of instances: their states, the versions they were made in, and those that are wrong because others are."""
