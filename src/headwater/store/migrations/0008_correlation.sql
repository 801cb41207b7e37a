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

-- The closure of the edges that are not refused: the fewest steps from one to the other, up to a bound (store/lineage/correlation.py). No self rows.
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
--
-- Each side of an edge is one range of an index, read once. Plans are kept, and one that was made while the table was empty takes either index
-- for as good and reads the wrong one by its whole, for every edge. A rebuild is one transaction, which no autovacuum comes to help: so what has
-- grown fourfold since it was last looked at is looked at again, and the plans are made anew. Returns how many pairs were tried.
create function extend_correlation(parents uuid[], children uuid[], weights smallint[], ends int[], bound int) returns bigint
language plpgsql set enable_seqscan = off set enable_memoize = off as $$
declare
  first int := 1;
  last int;
  tried bigint := 0;
  more bigint;
  fresh boolean[] := array(
    select (select 1 from correlation_paths p where p.descendant_id = c.id limit 1) is null
       and (select 1 from correlation_paths p where p.ancestor_id = c.id limit 1) is null
    from unnest(children) with ordinality c (id, place) order by c.place);
begin
  foreach last in array ends loop
    if pg_relation_size('correlation_paths') > 4 * 8192 * (select greatest(relpages, 4) from pg_class where oid = 'correlation_paths'::regclass) then
      analyze correlation_paths;
    end if;
    insert into correlation_paths (ancestor_id, descendant_id, depth)
    select a.id, e.child_id, min(a.depth + e.weight)
    from unnest(parents[first:last], children[first:last], weights[first:last], fresh[first:last]) as e (parent_id, child_id, weight, fresh)
    cross join lateral (
      select e.parent_id as id, 0::smallint as depth
      union all select p.ancestor_id, p.depth from correlation_paths p where p.descendant_id = e.parent_id) a
    where e.fresh and a.depth + e.weight <= bound
    group by 1, 2 order by 2, 1;
    get diagnostics more = row_count;
    tried := tried + more;
    if false = any (fresh[first:last]) then
      with pair as materialized (
        select x.id as ancestor_id, y.id as descendant_id, min(x.depth + y.depth) as depth
        from unnest(parents[first:last], children[first:last], weights[first:last], fresh[first:last]) as e (parent_id, child_id, weight, fresh)
        cross join lateral (
          select array_agg(id) as ids, array_agg(depth) as depths from (
            select id, min(depth) filter (where new) as depth from (
              select e.parent_id as id, e.weight as depth, true as new
              union all select p.ancestor_id, p.depth + e.weight, true from correlation_paths p where p.descendant_id = e.parent_id
              union all select p.ancestor_id, p.depth, false from correlation_paths p where p.descendant_id = e.child_id) told
            group by id having min(depth) filter (where new) < coalesce(min(depth) filter (where not new), bound + 1)) better) a
        cross join lateral (
          select array_agg(id) as ids, array_agg(depth) as depths from (
            select id, min(depth) filter (where new) - e.weight as depth from (
              select e.child_id as id, e.weight as depth, true as new
              union all select p.descendant_id, p.depth + e.weight, true from correlation_paths p where p.ancestor_id = e.child_id
              union all select p.descendant_id, p.depth, false from correlation_paths p where p.ancestor_id = e.parent_id) told
            group by id having min(depth) filter (where new) < coalesce(min(depth) filter (where not new), bound + 1)) better) d
        cross join lateral unnest(a.ids, a.depths) as x (id, depth)
        cross join lateral unnest(d.ids, d.depths) as y (id, depth)
        where not e.fresh and x.depth + y.depth <= bound
        group by 1, 2
      ), written as (
        insert into correlation_paths as t (ancestor_id, descendant_id, depth)
        select ancestor_id, descendant_id, depth from pair order by descendant_id, ancestor_id
        on conflict (descendant_id, ancestor_id) do update set depth = excluded.depth where excluded.depth < t.depth
      )
      select count(*) into more from pair;
      tried := tried + more;
    end if;
    first := last + 1;
  end loop;
  return tried;
end
$$;

update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (select 1 from events));
