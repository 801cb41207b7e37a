-- Listeners: who is sent what the log takes in, and how far each has come.

-- The order of arrival: one number for each transaction that appends, drawn while it holds the lock of begin_writing(). Whoever reads the last
-- number and then sees every holder of that lock gone sees every event up to that number.
create sequence arrivals;
-- Null: it arrived before there were numbers.
alter table events add column arrived bigint;
create index events_by_arrived on events (arrived) where arrived is not null;

-- `secret`: what webhooks are signed with, or the API key that is sent; with `previous` until its time, so that a secret can be changed.
-- Delivered is everything up to (arrived, event_time, digest); a replay goes by event time, over what that place has passed.
-- `revision` moves with every change by a person, so that a delivery under way does not write over it. Whoever has the lease delivers.
create table listeners (
  id               uuid primary key,
  name             text        not null unique,
  kind             text        not null,
  url              text,
  secret           bytea,
  previous_secret  bytea,
  previous_until   timestamptz,
  filter           jsonb       not null default '{}',
  created_at       timestamptz not null default clock_timestamp(),
  created_by       text        not null,
  revision         int         not null default 1,
  paused           boolean     not null default false,
  arrived          bigint      not null,
  event_time       timestamptz not null default '0001-01-01 00:00:00+00',
  digest           bytea       not null default '',
  replay_time      timestamptz,
  replay_digest    bytea,
  delivered        bigint      not null default 0,
  refused          bigint      not null default 0,
  last_delivery_at timestamptz,
  failing_since    timestamptz,
  failures         int         not null default 0,
  last_error       text,
  lease_owner      uuid,
  lease_until      timestamptz
) with (fillfactor = 50);

-- The last events a listener would not take, and why.
create table listener_refusals (
  listener_id uuid        not null references listeners on delete cascade,
  digest      bytea       not null,
  event_time  timestamptz not null,
  at          timestamptz not null default clock_timestamp(),
  reason      text        not null,
  primary key (listener_id, digest, event_time)
);
