-- Files of rules about alerts and of policies, as people applied them: the latest of a kind holds, none is ever changed. `files`: [{name, text}].
create table applied_rules (
  version    bigint generated always as identity primary key,
  kind       text        not null check (kind in ('rules', 'policies')),
  files      jsonb       not null,
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text        not null
);
create index applied_rules_by_kind on applied_rules (kind, version desc);

-- The places that messages go to beside mail. `url` and `secret` are encrypted: the address of a chat's webhook is its key.
create table alert_channels (
  name             text primary key,
  kind             text        not null,
  url              bytea       not null,
  secret           bytea,
  created_at       timestamptz not null default clock_timestamp(),
  created_by       text        not null,
  delivered        bigint      not null default 0,
  last_delivery_at timestamptz,
  failing_since    timestamptz,
  failures         int         not null default 0,
  last_error       text
);

-- One row: when a server last looked for troubles, up to where (`measured_until` for measurements), and why it could not.
create table alert_state (
  only_one       boolean primary key default true check (only_one),
  looked_at      timestamptz not null default '2000-01-01 00:00:00+00',
  seen_until     timestamptz not null default '2000-01-01 00:00:00+00',
  measured_until timestamptz not null default '2000-01-01 00:00:00+00',
  trouble        text
);
insert into alert_state default values;

-- One cause that rules told of. Its id is derived from the cause, so two servers decide it once.
create table alerts (
  id              uuid primary key,
  event           text        not null,
  subject         text        not null,
  label           text        not null,
  node            uuid,
  since           timestamptz not null,
  until           timestamptz,
  text            text        not null,
  look            text        not null,
  decided_at      timestamptz not null default clock_timestamp(),
  unaddressed     text[]      not null default '{}',
  acknowledged_at timestamptz,
  acknowledged_by text,
  note            text        not null default '',
  muted_until     timestamptz,
  muted_by        text
) with (fillfactor = 80);
create index alerts_by_time on alerts (decided_at desc, id);
create index alerts_open on alerts (subject) where until is null;

-- The troubles that an alert tells: what the rules watch. `node`: the dataset or job.
create table alert_members (
  id         uuid primary key,
  alert_id   uuid        not null references alerts on delete cascade,
  event      text        not null,
  subject    text        not null,
  label      text        not null,
  node       uuid,
  since      timestamptz not null,
  until      timestamptz,
  text       text        not null,
  look       text        not null,
  rules      text[]      not null,
  owners     text[]      not null default '{}',
  decided_at timestamptz not null default clock_timestamp()
) with (fillfactor = 80);
create index alert_members_of on alert_members (alert_id);
create index alert_members_told on alert_members (subject, event, since desc);

-- The messages of alerts, decided and sent apart: what is decided is sent although the process dies between, and sent by one process at a time.
-- `stage`: 0, or the number of an escalation. `state`: waiting, sent, refused (the receiver will never take it) or dropped (no longer needed).
-- `body`: what is sent, made at the first try, so that each repetition says the same under the same id.
create table alert_messages (
  id          uuid primary key,
  alert_id    uuid        not null references alerts on delete cascade,
  rule        text        not null,
  stage       int         not null,
  address     text        not null,
  severity    text        not null,
  due_at      timestamptz not null,
  state       text        not null default 'waiting' check (state in ('waiting', 'sent', 'refused', 'dropped')),
  attempts    int         not null default 0,
  body        jsonb,
  sent_at     timestamptz,
  last_error  text,
  lease_owner uuid,
  lease_until timestamptz
) with (fillfactor = 60);
create index alert_messages_waiting on alert_messages (due_at) where state = 'waiting';
create index alert_messages_of on alert_messages (alert_id);

create trigger alerts_noted after insert or update on alerts for each statement execute function note_change('alerts');
create trigger alert_messages_noted after update on alert_messages for each statement execute function note_change('alerts');
create trigger applied_rules_noted after insert on applied_rules for each statement execute function note_change('alerts');
