-- The datasets that the holder of a key may see: `namespace:PATTERN`, `tag:NAME` or `tag:NAME:VALUE`; empty: everything.
alter table api_keys add column limits text[] not null default '{}';
