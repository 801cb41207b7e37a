-- How far the log of events has been read for what it says of instances: a cursor over the order of arrival, as each listener has one.

-- One row. It begins with what arrives from now on; what is older is fed when somebody asks for it.
create table status_feed (
  one        boolean     primary key default true check (one),
  arrived    bigint      not null,
  event_time timestamptz not null default '0001-01-01 00:00:00+00',
  digest     bytea       not null default ''
);
insert into status_feed (arrived) select last_value + is_called::int from arrivals;
