"""Statistics of a whole graph of datasets: reach, components, hubs, longest chains, closure sizes, as tables.

`components.py` finds the parts that hang together, over DataFrames alone. A part is then the unit of work: `condense.py` takes the loops out of
one part and levels it, `reach.py` counts what each dataset reaches in it, both on numpy arrays in a task. `stats.py` puts these together as
DataFrames of the tables in `tables.py`, and `work.py` keeps them in a store.
"""
