SELECT snapshot_id, committed_at, operation, summary FROM {snapshots} ORDER BY committed_at DESC LIMIT 10
