SELECT unix_millis(current_timestamp()) AS now
