"""The rows that Marquez's API is answered from."""
