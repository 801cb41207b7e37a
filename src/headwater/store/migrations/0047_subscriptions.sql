-- Personal rules of alerts: what one person wants to hear of. `selector`: as rules write it. A change of events begins a new `since`.
create table subscriptions (
  owner    text        not null,
  selector text        not null,
  events   text[]      not null,
  address  text        not null,
  since    timestamptz not null default clock_timestamp(),
  primary key (owner, selector)
);

alter table alert_members drop column owners;
