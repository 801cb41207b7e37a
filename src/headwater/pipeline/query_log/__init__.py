"""From a warehouse's query log to lineage, usage, cost and advice.

    files → land → [landed] → shapes → [texts, shapes, statements, quarantine] → executions → [executions by day]
          → daily → [daily, told] → edges, usage, cost, recurrence, quality, pruning → publish → server

Every table is a function of the set of rows that ever came in, so one batch, fifty increments, any order, duplicates and reruns end equal.
"""
