"""What storage really holds: files, folders of partitions, Delta tables, rows. Listed where the storage is, as texts; which instances they mean is
the server's to know. Nothing here writes to storage or deletes from it.
"""
