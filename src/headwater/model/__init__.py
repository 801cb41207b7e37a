"""The domain's values: frozen structs that all packages share. No I/O, and no knowledge of storage or HTTP."""
