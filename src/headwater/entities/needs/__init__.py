"""Needs between instances: edges, the graph of entities, and the walks and closures over it."""
