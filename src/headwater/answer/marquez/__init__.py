"""Marquez's API as answers: one module for each resource. What is asked for under any name is shown under the one that stands for it."""
