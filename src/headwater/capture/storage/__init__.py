"""List what storage holds: files, folders of partitions, Delta tables, rows. Runs where the storage is and returns texts; the server decides which
instances they mean. Never writes to storage or deletes from it.
"""
