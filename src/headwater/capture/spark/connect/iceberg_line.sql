SELECT snapshot_id, made_current_at FROM {history} ORDER BY made_current_at DESC LIMIT 10
