-- What is kept for how long, and what cannot be undone of it.

-- `identity_behind`: the rules changed and no rebuild has applied them to the past yet.
alter table server_state add column identity_behind boolean not null default false;
-- Events before this time were dropped from the log: a rebuild cannot make again what they told.
alter table server_state add column log_dropped_before timestamptz;

-- What became of each kind of record the last time retention looked at it.
create table retention (
  kind    text primary key,
  at      timestamptz not null default clock_timestamp(),
  before  timestamptz not null,
  deleted bigint      not null,
  error   text
);

-- As before, but for one: a transaction that says it is retention may delete. Nothing may update or truncate.
create or replace function refuse_to_rewrite_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('headwater.retention', true) = 'audit' then
    return null;
  end if;
  raise exception 'the audit log is only ever added to';
end
$$;
