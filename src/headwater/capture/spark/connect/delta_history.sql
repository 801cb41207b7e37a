DESCRIBE HISTORY delta.`{location}` LIMIT 10
