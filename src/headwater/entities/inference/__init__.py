"""Draft a declaration from observed runs, for a person to accept.

    cut           intervals and times -> how a dataset is cut by time
    consumed      what runs read of each other -> dates
    entity_names  what a dataset may be called as an entity
    draft         a draft, and it as YAML with its evidence beside it
    fitting       drafts -> a graph in which no instance needs itself

Everything here is evidence, never a rule: what is found says from what it was found and how sure it is. Nothing here knows datasets or runs.
"""
