-- Datasets that are cut by time: what is declared of them, and what is known of each of their instances. Instances are numbered by their calendar
-- (`ordinal`), and every row speaks of a run of them: start_ <= ordinal < end_.

-- One row for each entity and calendar it has had: ordinals of one calendar mean nothing in another, so an entity that is cut otherwise gets a new
-- id, and what was known by the old one stays there. `name` is null where another row has the name now.
create table entities (
  id         int         generated always as identity primary key,
  name       text        unique,
  calendar   text        not null,
  created_at timestamptz not null default now()
);

-- Each time somebody said what entities there are. `id` is drawn anew each time, so that it names one state of all declarations.
create table entity_applies (
  number     bigint      generated always as identity primary key,
  id         uuid        not null unique,
  at         timestamptz not null,
  author     text        not null,
  changes    jsonb       not null
);

-- What was declared of an entity from one time until another; `until_at` is null where it holds. `body`: the canonical form.
create table entity_declarations (
  entity_id int         not null,
  from_at   timestamptz not null,
  until_at  timestamptz,
  apply     bigint      not null,
  body      jsonb       not null,
  primary key (entity_id, from_at)
);
create index entity_declarations_holds on entity_declarations (entity_id) where until_at is null;
create index entity_declarations_ended on entity_declarations (until_at) where until_at is not null;

-- The log: what somebody said of some instances. `seq` grows in the order in which it is known, for one transaction writes at a time; `key` is
-- what makes two the same. first_ and end_ are the hull of the instances, which are in `body`.
create table status_reports (
  seq         bigint      primary key,
  recorded_at timestamptz not null,
  key         bytea       not null unique,
  entity_id   int         not null,
  what        text        not null,
  ref         text        not null,
  first_      bigint      not null,
  end_        bigint      not null,
  happened_at timestamptz not null,
  actor       text        not null,
  reason      text        not null,
  body        jsonb       not null
);
create index status_reports_of on status_reports (entity_id, seq);
create index status_reports_time on status_reports (recorded_at, seq);
-- When a run began, and whether it is over: its start may come after its end.
create index status_reports_run on status_reports (entity_id, ref) where what in ('started', 'produced', 'failed') and ref <> '';

-- The marks that a report set (`added`) or took away.
create table status_changes (
  entity_id int     not null,
  seq       bigint  not null,
  kind      text    not null,
  ref       text    not null,
  start_    bigint  not null,
  end_      bigint  not null,
  added     boolean not null
);
create index status_changes_of on status_changes (entity_id, seq);

-- The marks that hold. Runs of one mark are disjoint and do not touch. They follow from status_changes.
create table status_marks (
  entity_id int    not null,
  end_      bigint not null,
  kind      text   not null,
  ref       text   not null,
  start_    bigint not null,
  primary key (entity_id, end_, kind, ref)
) with (fillfactor = 80);
create index status_marks_ref on status_marks (kind, ref, entity_id) where kind <> 'state';

-- What one run left behind of some instances. `seq` is that of the report. Of several the one that was produced last is the current one.
-- `complete`: all that it read is in instance_reads.
create table instance_versions (
  entity_id    int         not null,
  end_         bigint      not null,
  seq          bigint      not null,
  start_       bigint      not null,
  produced_at  timestamptz not null,
  run          text        not null,
  code         text,
  fingerprint  text,
  storage      jsonb,
  row_count    bigint,
  byte_count   bigint,
  complete     boolean     not null,
  primary key (entity_id, end_, seq, start_)
);
create index instance_versions_seq on instance_versions (seq);

-- What a version had read: these instances of that entity, in the versions that were current at read_seq.
create table instance_reads (
  seq         bigint not null,
  upstream_id int    not null,
  start_      bigint not null,
  end_        bigint not null,
  read_seq    bigint not null,
  primary key (seq, upstream_id, start_)
);
create index instance_reads_of on instance_reads (upstream_id, end_);

-- A verdict on versions: something is wrong. `state`: open, fixed (what is produced from fixed_at on is right) or retracted.
create table incidents (
  id          uuid        primary key,
  opened_seq  bigint      not null,
  opened_at   timestamptz not null,
  opened_by   text        not null,
  reason      text        not null,
  state       text        not null,
  fixed_at    timestamptz,
  closed_at   timestamptz,
  closed_by   text,
  note        text        not null default ''
);
create index incidents_opened on incidents (opened_at);

-- The instances that an incident condemned, by the code that had made them ('' where nobody knows).
create table incident_roots (
  incident  uuid   not null,
  entity_id int    not null,
  code      text   not null,
  start_    bigint not null,
  end_      bigint not null,
  primary key (incident, entity_id, code, start_)
);
create index incident_roots_of on incident_roots (entity_id, end_);
