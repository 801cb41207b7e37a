-- Who may ask and change, and who changed what. Nothing here comes from an event, so a rebuild leaves it alone.

create table api_keys (
  id           text primary key,
  name         text        not null,
  role         text        not null check (role in ('read', 'write', 'admin')),
  -- SHA-256 of the whole key, which is random and long: nobody can go back from one to the other.
  digest       bytea       not null,
  created_at   timestamptz not null default clock_timestamp(),
  created_by   text        not null,
  last_used_at timestamptz,
  expires_at   timestamptz,
  revoked_at   timestamptz
);
create unique index api_keys_by_name on api_keys (name) where revoked_at is null;

create table audit (
  id     bigint generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  actor  text        not null,
  role   text        not null,
  method text        not null,
  path   text        not null,
  action text        not null,
  target text,
  status int,
  detail jsonb       not null
);
create index audit_by_time on audit (at desc, id desc);
create index audit_by_actor on audit (actor, at desc);
create index audit_by_target on audit (target, at desc) where target is not null;

create function refuse_to_rewrite_audit() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only ever added to';
end
$$;
create trigger audit_is_added_to before update or delete or truncate on audit
  for each statement execute function refuse_to_rewrite_audit();

-- Secrets all servers over this database share: what signs session cookies.
create table server_secrets (
  name       text primary key,
  value      bytea       not null,
  created_at timestamptz not null default clock_timestamp()
);
