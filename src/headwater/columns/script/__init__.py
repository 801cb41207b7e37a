"""A text to the pieces worth looking at: statements, the queries in control flow, SQL in strings, templates. Tokens only."""
