"""Entities as people declare them: YAML, one document an entity, checked as a whole.

    document    YAML as parts that know where they stand      fields      values out of parts, every mistake noted
    declared    all that is declared of one entity            reading     parts -> declared
    periods     period and kind                               needs       states and what they need
    canonical   declared -> JSON and back                     whole       many -> one graph, and what is odd about it
    difference  what changed between two declarations

Nothing here opens a file: texts come with the names of their files.
"""
