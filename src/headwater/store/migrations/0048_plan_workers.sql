-- Programs that take items of plans: each says so again and again while it lives.
create table plan_workers (
  name       text        primary key,
  -- The plan whose items it takes; null: those of every applied plan.
  plan       uuid,
  seen_at    timestamptz not null,
  expires_at timestamptz not null
);
