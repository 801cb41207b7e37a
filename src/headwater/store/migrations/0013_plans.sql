-- What is to be made again. Items are not kept but computed from `inputs` and what was declared at declared_at; only those that something became of
-- have a row.
create table plans (
  id          uuid        primary key,
  created_at  timestamptz not null,
  created_by  text        not null,
  reason      text        not null,
  state       text        not null,
  changed_at  timestamptz not null,
  seq         bigint      not null,
  declared_at timestamptz not null,
  items       bigint      not null,
  request     jsonb       not null,
  inputs      jsonb       not null
);
create index plans_created on plans (created_at);

-- `state`: running (until lease_until, then somebody else may take it), done, skipped (it was right already), failed.
create table plan_items (
  plan        uuid        not null,
  number      bigint      not null,
  state       text        not null,
  attempt     int         not null,
  worker      text        not null,
  run         text        not null,
  note        text        not null,
  began_at    timestamptz not null,
  lease_until timestamptz,
  ended_at    timestamptz,
  primary key (plan, number)
) with (fillfactor = 80);
