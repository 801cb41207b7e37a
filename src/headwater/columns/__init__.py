"""SQL text and known schemas to column edges. Pure; the only user of the SQL parser. Built by a later step: nothing lives here yet."""
