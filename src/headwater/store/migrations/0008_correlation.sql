-- What came from what: single runs, items and contents, and the closure over them, so that all ancestors or descendants are one range of an
-- index. (`edges` say which jobs read which datasets; these say which run made this very file, and from which very files.)

-- RUN: a run of a job. ITEM: something a step handed out an id for. CONTENT: a version of a dataset, as its storage or a fingerprint names it.
-- `run_id`, `job_id` of an item: who wrote it. `at`, `digest`: the event that is believed about it (the earliest of its writer's, else of all).
-- `collided`: two writers say the item is theirs, or one says it is two contents.
create table correlation_items (
  id               uuid primary key,
  kind             text        not null check (kind in ('RUN', 'ITEM', 'CONTENT')),
  dataset_id       uuid,
  run_id           uuid,
  job_id           uuid,
  external_version text,
  part             text,
  bytes            bigint,
  at               timestamptz not null,
  digest           bytea       not null,
  collided         boolean     not null default false
) with (fillfactor = 90);
create index correlation_items_by_version on correlation_items (external_version) where external_version is not null;
create index correlation_items_by_run on correlation_items (run_id) where run_id is not null;

-- `role`: 0 a run had another as its parent, 1 a run read, 2 a run wrote, 3 an item is this content (which is no step: `weight` 0, else 1).
-- `at`, `digest`: the earliest event that says so. `refused`: it would close a loop over edges that are before it by (at, digest, role,
-- parent_id, child_id); such an edge is kept and is in no path.
create table correlation_edges (
  parent_id uuid        not null,
  child_id  uuid        not null,
  weight    smallint    not null,
  role      smallint    not null,
  at        timestamptz not null,
  digest    bytea       not null,
  refused   boolean     not null default false,
  primary key (parent_id, child_id)
) with (fillfactor = 90);
create index correlation_edges_by_child on correlation_edges (child_id, parent_id);

-- The closure of the edges that are not refused: the fewest steps from one to the other, up to a bound (store/correlation.py). No self rows.
-- Both indexes hold all columns, so that a question reads one of them and no table.
create table correlation_paths (
  ancestor_id   uuid     not null,
  descendant_id uuid     not null,
  depth         smallint not null,
  primary key (descendant_id, ancestor_id) include (depth)
);
create index correlation_paths_down on correlation_paths (ancestor_id, depth, descendant_id);

-- Add edges to the closure, a layer at a time: `ends` says at which place of the arrays each layer ends, and no edge of a layer continues
-- another of the same or a later one. What an edge adds is what is above its parent times what is below its child; whoever is above the child
-- already, by no more steps, brings nothing new below it, and likewise for what is below the parent. A child that is in no path yet, as a new
-- run's nodes are, can meet no row that is there: nothing has to be looked for.
create function extend_correlation(parents uuid[], children uuid[], weights smallint[], ends int[], bound int) returns void language plpgsql as $$
declare
  first int := 1;
  last int;
  fresh boolean[] := array(
    select not exists (select from correlation_paths p where p.descendant_id = c.id) and not exists (select from correlation_paths p where p.ancestor_id = c.id)
    from unnest(children) with ordinality c (id, place) order by c.place);
begin
  foreach last in array ends loop
    insert into correlation_paths (ancestor_id, descendant_id, depth)
    select a.id, e.child_id, min(a.depth + e.weight)
    from unnest(parents[first:last], children[first:last], weights[first:last], fresh[first:last]) as e (parent_id, child_id, weight, fresh)
    cross join lateral (
      select e.parent_id as id, 0::smallint as depth
      union all select p.ancestor_id, p.depth from correlation_paths p where p.descendant_id = e.parent_id) a
    where e.fresh and a.depth + e.weight <= bound
    group by 1, 2 order by 2, 1;
    insert into correlation_paths as t (ancestor_id, descendant_id, depth)
    select a.id, d.id, min(a.depth + e.weight + d.depth)
    from unnest(parents[first:last], children[first:last], weights[first:last], fresh[first:last]) as e (parent_id, child_id, weight, fresh)
    cross join lateral (
      select e.parent_id as id, 0::smallint as depth
      union all
      select p.ancestor_id, p.depth from correlation_paths p
      where p.descendant_id = e.parent_id and not exists (
        select from correlation_paths o where o.descendant_id = e.child_id and o.ancestor_id = p.ancestor_id and o.depth <= p.depth + e.weight)) a
    cross join lateral (
      select e.child_id as id, 0::smallint as depth
      union all
      select p.descendant_id, p.depth from correlation_paths p
      where p.ancestor_id = e.child_id and not exists (
        select from correlation_paths o where o.descendant_id = p.descendant_id and o.ancestor_id = e.parent_id and o.depth <= p.depth + e.weight)) d
    where not e.fresh and a.depth + e.weight + d.depth <= bound
    group by 1, 2 order by 2, 1
    on conflict (descendant_id, ancestor_id) do update set depth = excluded.depth where excluded.depth < t.depth;
    first := last + 1;
  end loop;
end
$$;

update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (select 1 from events));
