-- Saved views: addresses of the page under a name, of one person or, without an owner, of everyone.
create table views (
  owner   text        not null,
  name    text        not null,
  address text        not null,
  author  text        not null,
  at      timestamptz not null default clock_timestamp(),
  primary key (owner, name)
);
