-- A schema never replaces one that was guessed less. `guess`: 0 for one of a writer, of a catalog or of a format that carries it, 1 for one that a
-- reader asked for in files that carry none (CSV, JSON, text), 2 if the reader also made up the names.
alter table facet_sets add column guess smallint not null default 0;

-- Facets of these datasets (under any of their names) and jobs at a time, all (`names` is null) or by name: the latest of each name,
-- but a schema that a reader guessed only if no better observation gave one.
--
-- Each row is looked up by its key, whatever the planner estimates. It takes a table that was analyzed during a long transaction as holding none of that
-- transaction's rows, and a join of two such tables is each row of one against each of the other; a cached plan from when a table was
-- small would read it from end to end for each row.
create or replace function facets_of(owners uuid[], names text[], as_of timestamptz)
returns table (node uuid, name text, at timestamptz, body_id uuid, body bytea)
language plpgsql stable set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
  select l.node, l.name, l.at, l.body_id, b.body from (
    select distinct on (m.node, s.name) m.node, s.name, least(o.last_at, as_of) as at, s.deleted, s.body_id
    from (
      select i as node, i as id from unnest(owners) i
      union
      select i, c.dataset_id from unnest(owners) i cross join lateral (select dataset_id from dataset_canonical where canonical_id = i offset 0) c
    ) m
    cross join lateral (select set_id, last_at, last_digest from owner_facets where owner = m.id and first_at <= as_of offset 0) o
    cross join lateral (select name, body_id, deleted, guess from facet_sets where id = o.set_id and (names is null or name = any(names)) offset 0) s
    order by m.node, s.name, s.guess, least(o.last_at, as_of) desc, o.last_digest desc, s.body_id desc) l
  cross join lateral (select body from facet_bodies where id = l.body_id offset 0) b
  where not l.deleted order by l.node, l.name;
end
$$;
