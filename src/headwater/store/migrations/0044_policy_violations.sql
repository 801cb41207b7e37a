-- Violations of applied policies, since a look found them and until one found them no more. `path`: node ids, the evidence.
create table policy_violations (
  id       uuid primary key,
  policy   text        not null,
  dataset  uuid        not null,
  subject  text        not null,
  label    text        not null,
  field    text        not null default '',
  text     text        not null,
  path     text[]      not null,
  since    timestamptz not null default clock_timestamp(),
  until    timestamptz
);
create index policy_violations_open on policy_violations (policy, subject, field) where until is null;
create index policy_violations_by_time on policy_violations (since);
create trigger policy_violations_noted after insert or update on policy_violations for each statement execute function note_change('verdicts');
