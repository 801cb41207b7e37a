"""The parser's tree to the internal form: the only place that knows what the parser's classes mean."""
