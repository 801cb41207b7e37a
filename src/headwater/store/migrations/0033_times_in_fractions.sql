-- Times of a query log have fractions of a millisecond: they are summed as they are, and never rounded first.
alter table costs alter column slot_ms type float8, alter column duration_ms type float8;
