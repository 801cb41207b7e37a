-- Systems that a server reads on a schedule. `secrets` is encrypted. `cursor`: what the last complete pull left, from where the next one goes on.
-- `requested`: a person, or cron, asked for a pull now. One server at a time pulls: the lease says which.
create table connectors (
  name          text primary key,
  kind          text        not null,
  options       jsonb       not null,
  secrets       bytea,
  every_seconds int         not null check (every_seconds > 0),
  paused        boolean     not null default false,
  created_at    timestamptz not null default clock_timestamp(),
  created_by    text        not null,
  cursor        jsonb,
  next_pull_at  timestamptz not null default clock_timestamp(),
  requested     boolean     not null default false,
  failures      int         not null default 0,
  failing_since timestamptz,
  last_error    text,
  lease_owner   uuid,
  lease_until   timestamptz
);

-- Pulls of connectors. `newest_at`: the newest time that the system's own records had. `refused`: events that were not accepted.
create table connector_pulls (
  id         bigint generated always as identity primary key,
  connector  text        not null references connectors on delete cascade,
  started_at timestamptz not null,
  ended_at   timestamptz not null default clock_timestamp(),
  rows       bigint      not null default 0,
  events     bigint      not null default 0,
  refused    bigint      not null default 0,
  newest_at  timestamptz,
  warnings   text[]      not null default '{}',
  error      text
);
create index connector_pulls_of on connector_pulls (connector, id desc);
