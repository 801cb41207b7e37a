-- The schema as the migrations leave it, to be read: nothing runs this file. A test compares it with what the migrations make;
-- `python -m tests.store.schema` writes it again after a new one, and keeps comments that were edited here.

set check_function_bodies = off;

create extension if not exists pg_trgm;

-- Raw events, as received, partitioned by event time: a duplicate carries the same event time, so (digest, event_time) is unique
-- inside its partition, and retention is DROP PARTITION. Months are made when their first event arrives.
create table events (
  event_time  timestamptz not null,
  digest      bytea       not null,
  kind        text        not null,
  event_type  text,
  run_id      uuid,
  producer    text        not null,
  received_at timestamptz not null default clock_timestamp(),
  body        bytea       not null,
  -- Null: it arrived before there were numbers.
  arrived bigint,
  primary key (digest, event_time)
) partition by range (event_time);
create index events_by_time on events (event_time);
create table events_before partition of events for values from (minvalue) to ('2010-01-01 00:00:00+00');
create table events_after  partition of events for values from ('2050-01-01 00:00:00+00') to (maxvalue);
create index events_by_run on events (run_id, event_time) where run_id is not null;
create index events_by_arrival on events using brin (received_at) with (autosummarize = on);
create index events_by_arrived on events (arrived) where arrived is not null;
-- Events that say that a run failed or was aborted, by time: few among many, counted by day for the overview.
create index events_failed on events (event_time) where event_type in ('FAIL', 'ABORT') and run_id is not null;

create table warnings (
  event_time timestamptz not null,
  digest     bytea       not null,
  position   int         not null,
  producer   text        not null,
  code       text        not null,
  place      text        not null,
  message    text        not null,
  primary key (digest, event_time, position)
);
create index warnings_by_producer on warnings (producer, code);

-- One row. `generation` rises when the state that a server process may remember (rules, ids of known content) is out of date.
create table server_state (
  only_one       boolean primary key default true check (only_one),
  generation     int     not null default 1,
  identity       jsonb   not null default '[]',
  rebuild_needed boolean not null default false,
  -- `identity_behind`: the rules changed and no rebuild has applied them to the past yet.
  identity_behind boolean not null default false,
  -- Events before this time were dropped from the log: a rebuild cannot restore what they reported.
  log_dropped_before timestamptz,
  secret_key_id text,
  -- Edges that are parsed from the SQL of jobs that report no dataset (docs/decisions/052): in `foreign_edges`, with the job itself as their reporter. They are
  -- alive if the job's latest complete run, or its latest declaration, has them. `parsed_sql`: whether they count at all, a setting of the server.
  parsed_sql boolean not null default true,
  -- Events are identified by their canonical form from now on. Those of the log keep the digest of their bytes: an event that may be one of them is looked up
  -- by it too. A day is left for servers of the version before, which write on during an upgrade.
  -- `bytes_digests_until`: events that arrived later have no digest of their bytes; null: none has.
  bytes_digests_until timestamptz
);
insert into server_state (rebuild_needed) select exists (select 1 from events);

-- Called first by every transaction that writes projections: waits for a rebuild to end, and refuses a writer that remembers an older generation.
create function begin_writing(remembered int) returns void language plpgsql as $$
declare
  current int;
begin
  perform pg_advisory_xact_lock_shared(1751474532, 2);
  -- Arrays make every plan look worth making anew; each statement has one good plan.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  select generation into current from server_state;
  if current <> remembered then
    raise exception 'generation % is not %', remembered, current using errcode = 'HW001';
  end if;
end
$$;

create table datasets (
  id           uuid primary key,
  namespace    text        not null,
  name         text        not null,
  first_seen   timestamptz not null,
  last_seen    timestamptz not null,
  hidden       boolean     not null default false
) with (fillfactor = 80);
create index datasets_by_namespace on datasets (namespace, name);
create index datasets_by_words on datasets using gin (name gin_trgm_ops);
-- The ends of names: people search for the end of a name.
create index datasets_by_ending on datasets (reverse(right(name, 200)) text_pattern_ops);

-- Other names of a dataset, by symlink facets and by people.
create table dataset_links (
  dataset_id uuid        not null,
  alias_id   uuid        not null,
  kind       text        not null,
  first_at   timestamptz not null,
  primary key (dataset_id, alias_id, kind)
);
create index dataset_links_by_alias on dataset_links (alias_id);

-- Datasets that are another name of a dataset: made from dataset_links, under one lock. A dataset without a row is its own.
create table dataset_canonical (
  dataset_id   uuid primary key,
  canonical_id uuid not null
);
create index dataset_canonical_by_canonical on dataset_canonical (canonical_id);

-- `horizon`: when the oldest report that still keeps edges alive began (null: all do). `declared_at`: its latest JobEvent with datasets.
-- `explicit_at`: the latest explicit lineage. Where these are null the walk has less to ask.
create table jobs (
  id            uuid primary key,
  namespace     text        not null,
  name          text        not null,
  first_seen    timestamptz not null,
  last_seen     timestamptz not null,
  parent_id     uuid,
  parent_at     timestamptz,
  parent_digest bytea,
  declared_at   timestamptz,
  explicit_at   timestamptz,
  horizon       timestamptz,
  hidden        boolean     not null default false,
  -- An edge lives by the job's newest complete report (docs/decisions/042). `settled`: the job's settled reports, the newest first.
  -- `settled_at`: when the newest began (null: no report ended any edge). `intermittent`: reported by settled reports now and then.
  settled uuid[],
  settled_at timestamptz
) with (fillfactor = 80);
create index jobs_by_parent on jobs (parent_id) where parent_id is not null;
create index jobs_by_namespace on jobs (namespace, name);
create index jobs_by_words on jobs using gin (name gin_trgm_ops);
create index jobs_by_ending on jobs (reverse(right(name, 200)) text_pattern_ops);
alter table jobs drop column horizon;

create table namespaces (
  name       text primary key,
  first_seen timestamptz not null,
  hidden     boolean     not null default false
);

-- Data sources as dataSource facets name them.
create table sources (
  name       text        not null,
  url        text        not null,
  first_seen timestamptz not null,
  primary key (name, url)
);

-- Keyed by (run, job): one run id may span several jobs. `state` is the rank of model.run.RunState.
create table runs (
  run_id         uuid        not null,
  job_id         uuid        not null,
  external_id    text,
  state          smallint    not null,
  first_event_at timestamptz not null,
  last_event_at  timestamptz not null,
  started_at     timestamptz,
  ended_at       timestamptz,
  parent_run_id  uuid,
  parent_job_id  uuid,
  parent_at      timestamptz,
  parent_digest  bytea,
  nominal_start  timestamptz,
  nominal_end    timestamptz,
  -- The actor and the kind of statement of a run, where its events report them; and the log by time of arrival, for questions about a window of it.
  user_name text,
  statement text,
  -- Milliseconds between two events that a run announced (`headwater_heartbeat`); null: it announced none, and its silence means nothing.
  heartbeat_ms bigint,
  primary key (run_id, job_id)
) with (fillfactor = 70);
create index runs_by_job on runs (job_id, first_event_at desc, run_id);
create index runs_by_parent on runs (parent_run_id) where parent_run_id is not null;
create index runs_by_time on runs (first_event_at desc);

-- A report: a run, or a JobEvent's declaration, with inputs or outputs of a job.
create table reports (
  job_id      uuid        not null,
  report_id   uuid        not null,
  declaration boolean     not null,
  first_at    timestamptz not null,
  primary key (job_id, report_id)
);
create index reports_by_time on reports (job_id, declaration, first_at desc);

-- The datasets of a report. `declared`: only a manifest or a JobEvent names it; no run was seen with it (yet).
create table report_datasets (
  job_id     uuid        not null,
  report_id  uuid        not null,
  dataset_id uuid        not null,
  direction  text        not null check (direction in ('in', 'out')),
  declared   boolean     not null,
  first_at   timestamptz not null,
  last_at    timestamptz not null,
  primary key (job_id, report_id, dataset_id, direction)
) with (fillfactor = 90);

-- The part of a dataset that a report read or wrote: a partition that was folded out of its name, or a subset facet. `part` is a JSON object.
create table report_subsets (
  job_id     uuid        not null,
  report_id  uuid        not null,
  dataset_id uuid        not null,
  direction  text        not null,
  part       text        not null,
  first_at   timestamptz not null,
  primary key (job_id, report_id, dataset_id, direction, part)
);

-- Every (dataset, job, direction) ever reported. Alive now: `last_at` (by runs) is not before the job's horizon, or `declared_at` is its
-- latest declaration, or a person drew it.
create table edges (
  dataset_id  uuid        not null,
  job_id      uuid        not null,
  direction   text        not null,
  first_at    timestamptz not null,
  last_at     timestamptz,
  declared_at timestamptz,
  declared    boolean     not null,
  manual      boolean     not null default false,
  intermittent boolean not null default false,
  primary key (dataset_id, job_id, direction)
) with (fillfactor = 80);
create index edges_by_job on edges (job_id);

-- A version: what one run wrote to a dataset. `declared`: only a manifest says the run wrote it. `schema_id`: body of its latest schema facet.
create table dataset_versions (
  id               uuid primary key,
  dataset_id       uuid        not null,
  run_id           uuid,
  job_id           uuid,
  external_version text        not null,
  declared         boolean     not null,
  first_at         timestamptz not null,
  written_at       timestamptz not null,
  schema_id        uuid,
  schema_at        timestamptz,
  schema_digest    bytea,
  lifecycle        text,
  rows             bigint,
  bytes            bigint,
  files            bigint,
  -- True for a version that a stream reported before its end: it stays written, however the run ends. `headwater server rebuild` finds those of earlier events.
  checkpoint boolean not null default false
) with (fillfactor = 80);
create index dataset_versions_by_time on dataset_versions (dataset_id, written_at desc);
create index dataset_versions_by_run on dataset_versions (run_id) where run_id is not null;

-- Facets of datasets and jobs. The facets of an owner in one event are a set; the current facet of a name is in the latest set that has it.
create table facet_bodies (
  id   uuid primary key,
  body bytea not null
);

create table facet_sets (
  id      uuid    not null,
  name    text    not null,
  body_id uuid    not null,
  deleted boolean not null,
  -- A schema never replaces one that was guessed less. `guess`: 0 for one of a writer, of a catalog or of a format that carries it, 1 for one that a
  -- reader asked for in files that carry none (CSV, JSON, text), 2 if the reader also made up the names.
  guess smallint not null default 0,
  primary key (id, name)
);

create table owner_facets (
  owner       uuid        not null,
  set_id      uuid        not null,
  first_at    timestamptz not null,
  last_at     timestamptz not null,
  last_digest bytea       not null,
  primary key (owner, set_id)
) with (fillfactor = 80);

-- Column evidence of a report for one target (a dataset, or the job itself). A columnLineage facet is replaced by the next one of its
-- run (slot is zero); explicit lineage accumulates (slot is its set).
create table report_columns (
  job_id    uuid        not null,
  report_id uuid        not null,
  target_id uuid        not null,
  origin    smallint    not null,
  slot      uuid        not null,
  at        timestamptz not null,
  digest    bytea       not null,
  set_id    uuid        not null,
  primary key (job_id, report_id, target_id, origin, slot)
);
create index report_columns_by_time on report_columns (job_id, target_id, at desc);

-- The edges of each distinct set of column evidence: [[target field, source id, source field, type, subtype, masking, description], …].
-- Daily runs with the same columns share one set.
create table column_sets (
  id    uuid primary key,
  edges bytea not null
);

-- People's changes, as they sent them: a second log, never dropped, replayed by rebuild after the first. `action` is one of model.manual's.
create table changes (
  id     uuid primary key,
  at     timestamptz not null default clock_timestamp(),
  author text        not null,
  action text        not null,
  target text        not null,
  body   jsonb       not null,
  -- `node`: the target without its column; `other`: the far end of an edge, or the other name of an alias.
  node text not null default '',
  other text not null default ''
);
create index changes_by_time on changes (at, id);
create index changes_by_target on changes (target, at);
create index changes_by_node on changes (node, at);
create index changes_by_other on changes (other, at) where other <> '';

-- People's annotations that hold: the latest change of each (target, kind, key). Targets are node ids, `namespace:…`, `source:…`, `tag:…`.
create table annotations (
  target    text        not null,
  kind      text        not null,
  key       text        not null,
  value     jsonb       not null,
  deleted   boolean     not null,
  author    text        not null,
  at        timestamptz not null,
  change_id uuid        not null,
  -- `owner`: the id of the dataset or job; null for namespaces, sources and tags. `field`: a column of it, or empty.
  owner uuid,
  field text not null default '',
  primary key (target, kind, key)
);
create index annotations_by_kind on annotations (kind, key) where not deleted;
-- Annotations of a dataset's columns: their targets begin with the dataset's.
create index annotations_by_place on annotations (target text_pattern_ops);
create index annotations_by_owner on annotations (owner) where owner is not null;
create index annotations_of_things on annotations (target) where owner is null;

create table api_keys (
  id           text primary key,
  name         text        not null,
  role         text        not null check (role in ('read', 'write', 'admin')),
  -- SHA-256 of the whole key, which is random and long: the key cannot be computed from it.
  digest       bytea       not null,
  created_at   timestamptz not null default clock_timestamp(),
  created_by   text        not null,
  last_used_at timestamptz,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  -- The datasets that the holder of a key may see: `namespace:PATTERN`, `tag:NAME` or `tag:NAME:VALUE`; empty: everything.
  limits text[] not null default '{}'
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

-- Only a transaction that declares itself as retention may delete. Nothing may update or truncate.
create or replace function refuse_to_rewrite_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('headwater.retention', true) = 'audit' then
    return null;
  end if;
  raise exception 'the audit log is only ever added to';
end
$$;

create trigger audit_is_added_to before update or delete or truncate on audit
  for each statement execute function refuse_to_rewrite_audit();

-- `words` holds lexemes that begin with a letter for where the word stands (store/search.py lists them). `source` says from what it was made.
create table search_documents (
  id        uuid primary key,
  type      text     not null,
  namespace text     not null,
  name      text     not null,
  tags      text[]   not null,
  owners    text[]   not null,
  source    uuid     not null,
  words     tsvector not null
);
create index search_documents_by_words on search_documents using gin (words) with (fastupdate = off);
-- New documents wait in a list of 64 kB, which is moved into the index whole: less than half the work for each document (20,000 of them: 0.42 s
-- instead of 0.98). A list of that size is moved in some 10 ms, and read along by a search in less than one; the default, 4 MB, would stall both.
alter index search_documents_by_words set (fastupdate = on, gin_pending_list_limit = 64);

-- Every word of three or more letters in some document. `near`: the word, and the word without each of its characters.
create table search_words (
  word text collate "C" primary key,
  near text[] not null
);
create index search_words_near on search_words using gin (near) with (fastupdate = off);
create index search_words_alike on search_words using gin (word gin_trgm_ops) with (fastupdate = off);

-- Every time a person drew or removed an edge: an edge holds at a time when the latest of them by then drew it. `set_id`: its columns.
create table edge_changes (
  job_id     uuid        not null,
  dataset_id uuid        not null,
  direction  text        not null,
  change_id  uuid        not null,
  at         timestamptz not null,
  drawn      boolean     not null,
  set_id     uuid,
  primary key (job_id, dataset_id, direction, change_id)
);
create index edge_changes_by_dataset on edge_changes (dataset_id);

-- Edges that people had drawn by a time.
create function manual_edges(datasets uuid[], jobs uuid[], as_of timestamptz)
returns table (dataset_id uuid, job_id uuid, direction text, at timestamptz, set_id uuid) language sql stable as $$
  select l.dataset_id, l.job_id, l.direction, l.at, l.set_id from (
    select distinct on (c.job_id, c.dataset_id, c.direction) c.* from edge_changes c
    where (c.dataset_id = any(datasets) or c.job_id = any(jobs)) and c.at <= as_of
    order by c.job_id, c.dataset_id, c.direction, c.at desc, c.change_id desc) l
  where l.drawn
$$;

-- The last outcome of retention for each kind of record.
create table retention (
  kind    text primary key,
  at      timestamptz not null default clock_timestamp(),
  before  timestamptz not null,
  deleted bigint      not null,
  error   text
);

-- RUN: a run of a job. ITEM: something a step handed out an id for. CONTENT: a version of a dataset, as its storage or a fingerprint names it.
-- `run_id`, `job_id` of an item: its writer. `at`, `digest`: the event that is believed about it (the earliest of its writer's, else of all).
-- `collided`: two writers claim the item, or one gives it two contents.
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

-- Add edges to the closure, a layer at a time: `ends` gives the place in the arrays at which each layer ends, and no edge of a layer continues
-- another of the same or a later one. An edge adds the nodes above its parent times those below its child; a node that is above the child
-- already, by no more steps, brings nothing new below it, and likewise for nodes below the parent. A child that is in no path yet, as a new
-- run's nodes are, can meet no row that is there: no lookup is needed.
--
-- Each side of an edge is one range of an index, read once. Plans are cached, and one that was made while the table was empty takes either index
-- for as good and reads the wrong one by its whole, for every edge. A rebuild is one transaction, in which no autovacuum helps: so a table that has
-- grown fourfold since its last ANALYZE is analyzed again, and the plans are made anew. Returns the number of pairs that were tried.
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

-- The order of arrival: one number for each transaction that appends, drawn while it holds the lock of begin_writing(). A reader that takes the last
-- number and then sees every holder of that lock gone sees every event up to that number.
create sequence arrivals;

-- `secret`: the key that signs webhooks, or the API key that is sent; with `previous` until its time, so that a secret can be changed.
-- Everything up to (arrived, event_time, digest) is delivered; a replay goes by event time, over what that place has passed.
-- `revision` moves with every change by a person, so that a delivery under way does not write over it. The holder of the lease delivers.
create table listeners (
  id               uuid primary key,
  name             text        not null unique,
  kind             text        not null,
  url              text,
  secret           bytea,
  previous_secret  bytea,
  previous_until   timestamptz,
  filter           jsonb       not null default '{}',
  created_at       timestamptz not null default clock_timestamp(),
  created_by       text        not null,
  revision         int         not null default 1,
  paused           boolean     not null default false,
  arrived          bigint      not null,
  event_time       timestamptz not null default '0001-01-01 00:00:00+00',
  digest           bytea       not null default '',
  replay_time      timestamptz,
  replay_digest    bytea,
  delivered        bigint      not null default 0,
  refused          bigint      not null default 0,
  last_delivery_at timestamptz,
  failing_since    timestamptz,
  failures         int         not null default 0,
  last_error       text,
  lease_owner      uuid,
  lease_until      timestamptz,
  -- Listeners from before addresses were checked go on; `headwater doctor --security` names them.
  inside boolean not null default false
) with (fillfactor = 50);

-- The last events a listener would not take, and why.
create table listener_refusals (
  listener_id uuid        not null references listeners on delete cascade,
  digest      bytea       not null,
  event_time  timestamptz not null,
  at          timestamptz not null default clock_timestamp(),
  reason      text        not null,
  primary key (listener_id, digest, event_time)
);

-- The readers and writers of a dataset. `status`: active, stale, one_off or unread. `top_readers`: [{actor, kind, reads, lastReadAt}].
create table usage (
  dataset_id             uuid primary key,
  at                     timestamptz not null,
  digest                 bytea       not null,
  body_id                uuid        not null,
  deleted                boolean     not null,
  reads                  bigint      not null,
  writes                 bigint      not null,
  reads_by_people        bigint      not null,
  reads_by_services      bigint      not null,
  reads_by_bi            bigint      not null,
  reads_by_pipelines     bigint      not null,
  reads_by_unknown       bigint      not null,
  readers                bigint      not null,
  people                 bigint      not null,
  last_read_at           timestamptz,
  last_read_by_person_at timestamptz,
  last_written_at        timestamptz,
  first_seen_at          timestamptz,
  active_days            bigint      not null,
  status                 text        not null,
  top_readers            jsonb       not null
) with (fillfactor = 80);
-- Columns of measurements have the names of the facets' fields.
alter table usage rename column readers to distinct_readers;
alter table usage rename column people to distinct_people;

-- The cost of a dataset or job, and of keeping it for a month. `grain`: table of a dataset; shape, task or model of a job. `drivers`: of a warehouse's log, the cost of its
-- users and tools: [{grain, key, executions, money, …}], and how many were left out.
create table costs (
  owner          uuid primary key,
  at             timestamptz not null,
  digest         bytea       not null,
  body_id        uuid        not null,
  deleted        boolean     not null,
  grain          text        not null,
  executions     bigint      not null,
  money          float8,
  bytes_billed   bigint,
  slot_ms        bigint,
  duration_ms    bigint,
  credits        float8,
  share          float8,
  keep_month     float8,
  drivers        jsonb       not null,
  hidden_drivers bigint      not null
) with (fillfactor = 80);
-- Times of a query log have fractions of a millisecond: they are summed as they are, and never rounded first.
alter table costs alter column slot_ms type float8, alter column duration_ms type float8;

-- The recurrence of a query shape. `class`: recurring, ad_hoc or one_off.
create table recurrence (
  job_id           uuid primary key,
  at               timestamptz not null,
  digest           bytea       not null,
  body_id          uuid        not null,
  deleted          boolean     not null,
  class            text        not null,
  executions       bigint      not null,
  period_seconds   bigint,
  first_at         timestamptz,
  last_at          timestamptz,
  expected_next_at timestamptz,
  missing          bigint      not null,
  unexpected       bigint      not null,
  confidence       float8      not null
) with (fillfactor = 80);

-- The executions of a query shape, by actor and tool. `actors`: [{actor, kind, executions}]; `tools`: [{tool, asset, name, executions}].
create table query_counts (
  job_id        uuid primary key,
  at            timestamptz not null,
  digest        bytea       not null,
  body_id       uuid        not null,
  deleted       boolean     not null,
  executions    bigint      not null,
  failures      bigint      not null,
  first_at      timestamptz,
  last_at       timestamptz,
  level         text,
  last_query_id text,
  actors        jsonb       not null,
  tools         jsonb       not null
) with (fillfactor = 80);

-- Datasets that may be deleted, wave by wave (1 first), and the monthly saving.
create table pruning (
  dataset_id  uuid primary key,
  at          timestamptz not null,
  digest      bytea       not null,
  body_id     uuid        not null,
  deleted     boolean     not null,
  wave        bigint      not null,
  reason      text        not null,
  money_month float8,
  evidence    text        not null,
  confidence  float8      not null
) with (fillfactor = 80);

-- The quality of the parsed statements of a warehouse's log (a job stands for it), a row for each day and dialect.
-- `quarantined_by`: {code: rows}.
create table lineage_quality (
  job_id              uuid        not null,
  day                 date        not null,
  dialect             text        not null,
  at                  timestamptz not null,
  digest              bytea       not null,
  body_id             uuid        not null,
  shapes              bigint      not null,
  full_shapes         bigint      not null,
  partial_shapes      bigint      not null,
  tables_shapes       bigint      not null,
  nothing_shapes      bigint      not null,
  idle_shapes         bigint      not null,
  executions          bigint      not null,
  full_executions     bigint      not null,
  partial_executions  bigint      not null,
  tables_executions   bigint      not null,
  nothing_executions  bigint      not null,
  idle_executions     bigint      not null,
  textless_executions bigint      not null,
  unresolved          bigint      not null,
  quarantined         bigint      not null,
  quarantined_by      jsonb       not null,
  told_executions     bigint      not null,
  told_agreed         bigint      not null,
  told_only           bigint      not null,
  parsed_only         bigint      not null,
  primary key (job_id, day, dialect)
) with (fillfactor = 80);
alter table lineage_quality rename column told_executions to named_executions;
alter table lineage_quality rename column told_agreed to named_agreed;
alter table lineage_quality rename column told_only to named_only;

-- One row for each entity and calendar it has had: ordinals of one calendar mean nothing in another, so an entity that is cut otherwise gets a new
-- id, and the reports under the old one stay there. `name` is null where another row has the name now.
create table entities (
  id         int         generated always as identity primary key,
  name       text        unique,
  calendar   text        not null,
  created_at timestamptz not null default now()
);

-- The times at which a set of entities was declared. `id` is drawn anew each time, so that it names one state of all declarations.
create table entity_applies (
  number     bigint      generated always as identity primary key,
  id         uuid        not null unique,
  at         timestamptz not null,
  author     text        not null,
  changes    jsonb       not null
);

-- The declarations of an entity from one time until another; `until_at` is null where it holds. `body`: the canonical form.
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

-- The log: reports about instances. `seq` grows in the order of commits, for one transaction writes at a time; two reports with the same
-- `key` are one. first_ and end_ are the hull of the instances, which are in `body`.
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
-- The start and the end of runs: the start may be reported after the end.
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
-- The marks of an entity at a time are read from this index alone: its changes lie as far apart in the table as the times of their reports.
-- They stand here in the order in which they are read, so no sort is needed.
create index status_changes_of on status_changes (entity_id, seq, added) include (kind, ref, start_, end_);

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
-- The marks of some instances are read from the key alone: a run that begins after them is skipped without a look at its row.
alter table status_marks drop constraint status_marks_pkey;
alter table status_marks add primary key (entity_id, end_, kind, ref) include (start_);

-- The versions that runs wrote of some instances. `seq` is that of the report. The one that was produced last is the current one.
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
-- The instances that a run made.
create index instance_versions_by_run on instance_versions (run) where run <> '';
-- A verdict on a content finds the instances that are it.
create index instance_versions_by_content on instance_versions (fingerprint) where fingerprint is not null;

-- The inputs of a version: these instances of that entity, in the versions that were current at read_seq.
create table instance_reads (
  seq         bigint not null,
  upstream_id int    not null,
  start_      bigint not null,
  end_        bigint not null,
  read_seq    bigint not null,
  primary key (seq, upstream_id, start_)
);
-- The readers of some instances are read from this index, whatever else of them was read before or after.
create index instance_reads_of on instance_reads (upstream_id, end_, start_);

-- A verdict on versions: they are wrong. `state`: open, fixed (instances produced from fixed_at on are right) or retracted.
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

-- The instances that an incident condemned, by the code that had made them ('' where it is unknown).
create table incident_roots (
  incident  uuid   not null,
  entity_id int    not null,
  code      text   not null,
  start_    bigint not null,
  end_      bigint not null,
  primary key (incident, entity_id, code, start_)
);
create index incident_roots_of on incident_roots (entity_id, end_);

-- One row. It begins with the events that arrive from now on; older ones are fed on request.
create table status_feed (
  one        boolean     primary key default true check (one),
  arrived    bigint      not null,
  event_time timestamptz not null default '0001-01-01 00:00:00+00',
  digest     bytea       not null default ''
);
insert into status_feed (arrived) select last_value + is_called::int from arrivals;

-- A plan to make instances again. Its items are computed from `inputs` and the declarations at declared_at; only items that were begun or changed
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

-- `state`: running (until lease_until, then another worker may take it), done, skipped (it was right already), failed.
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

-- The columns of entities that may be wrong because of an incident about some columns only, by the lineage at its opening. `columns`: null where
-- it may be all of them. `since`: when the first condemned version was made; null where that is unknown.
create table incident_columns (
  incident  uuid not null,
  entity_id int  not null,
  columns   text[],
  since     timestamptz,
  primary key (incident, entity_id)
);

-- Pairs of entities between which no wrong column is carried: a reader of the one is not wrong because of that.
create table incident_unaffected (
  incident      uuid not null,
  upstream_id   int  not null,
  downstream_id int  not null,
  primary key (incident, upstream_id, downstream_id)
);
create index incident_unaffected_of on incident_unaffected (downstream_id);

-- Called first by every transaction that writes status: no other writes any until it ends. Statements after the lock read the state, since they
-- see what the last holder of the lock has written: the last report, the state of the declarations, whether any instance is wrong, or was.
create function status_opened(out seq bigint, out recorded_at timestamptz, out declared uuid, out troubled boolean) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1751474532, 12);
  select r.seq, r.recorded_at into seq, recorded_at from status_reports r order by r.seq desc limit 1;
  select a.id into declared from entity_applies a order by a.number desc limit 1;
  troubled := exists (select from status_marks m where m.kind in ('tainted', 'inherited', 'repaired') and m.kind <> 'state');
end
$$;

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

-- The origins of an incident beside instances: a run (its id), one version of a dataset (its id), or a content (its fingerprint).
-- The users of an origin are found by recorded reads at each question, so nothing else is stored.
create table incident_origins (
  incident uuid not null,
  kind     text not null check (kind in ('RUN', 'VERSION', 'CONTENT')),
  ref      text not null,
  columns  jsonb not null default '[]', -- names; empty: all
  primary key (incident, kind, ref)
);

-- The results of checks of data: the latest of each check in each run. `direction`: the run read (in) or wrote (out) the dataset; `run`: the check
-- is about the run as a whole, and `dataset_id` is the id of its job. `result`: 0 passed, 1 failed as a warning, 2 failed.
create table checks (
  run_id     uuid not null,
  job_id     uuid not null,
  direction  text not null check (direction in ('in', 'out', 'run')),
  dataset_id uuid not null,
  name       text not null,
  field      text not null, -- the column; empty: the dataset as a whole
  at         timestamptz not null,
  digest     bytea not null,
  result     smallint not null check (result between 0 and 2),
  detail     text not null, -- what was expected and what was found,
  -- Results of checks that came in an event about a dataset, without a run: `direction` is `event`, `run_id` the id of the event, `job_id` that of the dataset.
  -- `version`, `part`: what the event names; empty if nothing.
  version text not null default '',
  part text not null default '',
  primary key (run_id, job_id, direction, dataset_id, name, field)
);
create index checks_of_subject on checks (dataset_id, name, field, at);
create index checks_failed on checks (at desc, run_id, dataset_id, name, field) where result = 2;
alter table checks drop constraint checks_direction_check, add constraint checks_direction_check check (direction in ('in', 'out', 'run', 'event'));

-- The versions that people called right although checks doubt them. Checks that failed later doubt them again.
create table fine_versions (
  version_id uuid primary key,
  at         timestamptz not null,
  author     text not null,
  note       text not null
);

-- Settle jobs in three quarters of the time (docs/decisions/068): the newest reports are looked at until ten are complete, and edges only where one may change.
create or replace function settled_reports(job uuid, as_of timestamptz) returns table (report_id uuid, first_at timestamptz)
language sql stable as $$
  with latest as not materialized (
    select r.report_id, r.first_at from reports r where r.job_id = job and not r.declaration and r.first_at <= as_of order by r.first_at desc, r.report_id limit 50
  ), written as (
    select l.report_id, l.first_at from latest l
    where exists (select from runs u where u.run_id = l.report_id and u.job_id = job and u.state = 3 and coalesce(u.ended_at, u.last_event_at) <= as_of offset 0)
      and exists (select from report_datasets d where d.job_id = job and d.report_id = l.report_id and d.direction = 'out' and d.first_at <= as_of offset 0)
    order by l.first_at desc, l.report_id limit 10
  )
  select w.report_id, w.first_at from written w
  union all
  (select l.report_id, l.first_at from latest l
   where not exists (select from written)
     and exists (select from runs u where u.run_id = l.report_id and u.job_id = job and u.state = 3 and coalesce(u.ended_at, u.last_event_at) <= as_of offset 0)
   order by l.first_at desc, l.report_id limit 10)
$$;

-- Reports that a job's settled ones have now and then: at least two had it, at least two did not, and it came back. Places count from 1.
create function intermittent(had bigint, first_place bigint, last_place bigint, settled bigint) returns boolean
language sql immutable as $$ select had >= 2 and settled - had >= 2 and last_place - first_place + 1 > had $$;

create function live_reports(jobs uuid[], as_of timestamptz) returns table (job_id uuid, report_id uuid, since timestamptz, place bigint, settled bigint)
language sql stable as $$
  select j.id, r.report_id, r.since, r.place, s.settled
  from unnest(jobs) as j (id)
  cross join lateral (
    select array_agg(f.report_id order by f.first_at desc, f.report_id) as ids, max(f.first_at) as since, count(*) as settled from settled_reports(j.id, as_of) f) s
  cross join lateral (
    select o.report_id, s.since, o.place from unnest(s.ids) with ordinality o (report_id, place)
    union all
    select p.report_id, coalesce(s.since, '-infinity'), null from reports p
    where p.job_id = j.id and not p.declaration and p.first_at <= as_of and p.first_at >= coalesce(s.since, '-infinity') and p.report_id <> all (coalesce(s.ids, '{}'))
    union all
    -- Runs that began before the newest settled one and may have reported since.
    (select p.report_id, s.since, null from reports p
     where p.job_id = j.id and not p.declaration and p.first_at < s.since and p.report_id <> all (s.ids) order by p.first_at desc limit 20)
    union all
    (select p.report_id, '-infinity', null from reports p
     where p.job_id = j.id and p.declaration and p.first_at <= as_of order by p.first_at desc, p.report_id limit 1)) r
$$;

create or replace function settle_jobs(jobs uuid[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  with settled as materialized (
    select s.id, f.ids, f.at from unnest($1) as s (id) cross join lateral (
      select array_agg(x.report_id order by x.first_at desc, x.report_id) as ids, max(x.first_at) as at from settled_reports(s.id, 'infinity') x) f
  ), moved as (
    update jobs j set settled = s.ids, settled_at = s.at from settled s
    where j.id = s.id and (j.settled, j.settled_at) is distinct from (s.ids, s.at)
  ), intermittent as materialized (
    select s.id, h.dataset_id, h.direction from settled s
    cross join lateral (
      select d.dataset_id, d.direction from unnest(s.ids) with ordinality o (report_id, place)
      cross join lateral (
        select dataset_id, direction from report_datasets r where r.job_id = s.id and r.report_id = o.report_id
          and not exists (select from report_snapshots x where x.job_id = s.id and x.report_id = o.report_id and x.at > r.last_at offset 0) offset 0) d
      group by d.dataset_id, d.direction
      having intermittent(count(*), min(o.place), max(o.place), cardinality(s.ids))) h
    where cardinality(s.ids) >= 4
  ), flagged as materialized (
    select s.id, e.dataset_id, e.direction from settled s
    cross join lateral (select dataset_id, direction from edges where job_id = s.id and intermittent offset 0) e
  ), differing as (
    (select * from intermittent except select * from flagged) union all (select * from flagged except select * from intermittent)
  )
  update edges e set intermittent = not e.intermittent from differing d
  where (e.dataset_id, e.job_id, e.direction) >= (d.dataset_id, d.id, d.direction) and (e.dataset_id, e.job_id, e.direction) <= (d.dataset_id, d.id, d.direction)
$$;

-- Edges of explicit lineage whose job is not the one that reports: another job, named as a target or as an input of an entry (docs/decisions/047). They live
-- by the reports of the reporter: a job, or a dataset whose own event tells its lineage. A job that feeds a job has its own id in the dataset's place, and
-- an edge `out` to itself there.
create table foreign_edges (
  dataset_id  uuid        not null,
  job_id      uuid        not null,
  direction   text        not null check (direction in ('in', 'out')),
  reporter_id uuid        not null,
  first_at    timestamptz not null,
  last_at     timestamptz,
  declared_at timestamptz,
  primary key (dataset_id, job_id, direction, reporter_id)
) with (fillfactor = 80);
create index foreign_edges_of_jobs on foreign_edges (job_id);

-- Those edges by report. `job_id`: the reporter, as in `reports`; `edge_job_id`: the job of the edge.
create table report_foreign_edges (
  job_id      uuid        not null,
  report_id   uuid        not null,
  dataset_id  uuid        not null,
  edge_job_id uuid        not null,
  direction   text        not null,
  first_at    timestamptz not null,
  last_at     timestamptz not null,
  primary key (job_id, report_id, dataset_id, edge_job_id, direction)
) with (fillfactor = 90);

-- Every edge that was ever reported, by its own job or by another reporter.
create view reported_edges as
select dataset_id, job_id, direction from edges
union all select dataset_id, job_id, direction from foreign_edges;

-- The last change of each kind that no event of the log reports, for pages that show it. One row for each kind of table and each session that changed
-- one, so that no two transactions write the same row. The number is one of arrival, drawn under a lock that is held until the transaction ends.
create table latest_changes (
  kind    text        not null,
  session int         not null,
  arrived bigint      not null,
  at      timestamptz not null,
  primary key (kind, session)
) with (fillfactor = 50);

create function note_change() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(1751474532, 15);
  insert into latest_changes (kind, session, arrived, at) values (tg_argv[0], pg_backend_pid(), nextval('arrivals'), clock_timestamp())
  on conflict (kind, session) do update set arrived = excluded.arrived, at = excluded.at;
  return null;
end
$$;

create trigger status_reports_noted after insert on status_reports for each statement execute function note_change('reports');

create trigger incidents_noted after insert or update on incidents for each statement execute function note_change('verdicts');

create trigger fine_versions_noted after insert or delete on fine_versions for each statement execute function note_change('verdicts');

create trigger plans_noted after insert or update on plans for each statement execute function note_change('plans');

create trigger plan_items_noted after insert or update or delete on plan_items for each statement execute function note_change('plans');

create trigger changes_noted after insert on changes for each statement execute function note_change('metadata');

create trigger entity_applies_noted after insert on entity_applies for each statement execute function note_change('schedules');

create trigger audit_noted after insert on audit for each statement execute function note_change('settings');

create trigger server_state_noted after update of generation on server_state for each statement execute function note_change('rebuild');

-- The views of the schema `lineage` ask this of edges that are parsed from SQL. Their reader may see no table, and may have any search path: so the answer
-- is the owner's, and its names are bound here.
create or replace function counts_as_parsed(job uuid, as_of timestamptz) returns boolean
language sql stable security definer
return (select s.parsed_sql from server_state s)
  and not exists (select from edges o where o.job_id = job and (o.last_at is not null or o.declared_at is not null) and o.first_at <= as_of)
  and not exists (select from jobs j join edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of)
  and not exists (select from jobs j join foreign_edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of);

-- Edges of foreign reporters that were alive at a time, by the reporters' reports until then (`live_reports`): of these datasets, or of these jobs.
create or replace function past_foreign_edges(datasets uuid[], jobs uuid[], as_of timestamptz)
returns table (dataset_id uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, intermittent boolean, parsed boolean)
language sql stable as $$
  with candidate as (
    select e.* from foreign_edges e where (e.dataset_id = any(datasets) or e.job_id = any(jobs)) and e.first_at <= as_of
      and e.reporter_id not in ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001')
  ), live as (
    select * from live_reports((select array_agg(distinct reporter_id) from candidate), as_of)
  )
  select c.dataset_id, c.job_id, c.direction, bool_and(r.declaration), min(c.first_at), least(max(d.last_at), as_of),
         intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)), false
  from candidate c
  join live l on l.job_id = c.reporter_id
  join report_foreign_edges d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = c.dataset_id and d.edge_job_id = c.job_id
    and d.direction = c.direction and d.first_at <= as_of
    and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
  join reports r on r.job_id = l.job_id and r.report_id = l.report_id
  group by c.dataset_id, c.job_id, c.direction, c.reporter_id
  having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))
  union all
  -- Of what was parsed from SQL only the first and the last time are known: an edge that was last seen before another appeared had ended by then.
  select e.dataset_id, e.job_id, e.direction, e.last_at is null, e.first_at, least(coalesce(greatest(e.last_at, e.declared_at), e.first_at), as_of), false, true
  from foreign_edges e
  cross join lateral (
    select max(f.first_at) filter (where f.first_at <= as_of) as appeared, max(f.last_at) as seen, max(f.declared_at) as declared
    from foreign_edges f where f.job_id = e.job_id and f.reporter_id = '00000000-0000-0000-0000-000000000000') newest
  where e.reporter_id = '00000000-0000-0000-0000-000000000000' and (e.dataset_id = any(datasets) or e.job_id = any(jobs)) and e.first_at <= as_of
    and (e.last_at >= case when as_of >= newest.seen then newest.seen else newest.appeared end
         or e.declared_at >= case when as_of >= newest.declared then newest.declared else newest.appeared end)
    and counts_as_parsed(e.job_id, as_of)
  union all
  -- Beside what the job reports: alive since the newest settled report that began by then.
  select e.dataset_id, e.job_id, e.direction, e.last_at is null, e.first_at, least(coalesce(greatest(e.last_at, e.declared_at), e.first_at), as_of), false, true
  from foreign_edges e
  where e.reporter_id = '00000000-0000-0000-0000-000000000001' and (e.dataset_id = any(datasets) or e.job_id = any(jobs))
    and e.first_at <= as_of and (select s.parsed_sql from server_state s)
    and coalesce(greatest(e.last_at, e.declared_at), e.first_at) >= (select max(l.since) from live_reports(array[e.job_id], as_of) l)
$$;

-- The walk asks the views of edges by an array. A join to a union does not reach into the arms of a view's union: since edges of other reporters and
-- of SQL are arms of these views, each hop read every edge there is (953 ms for an answer of 100 nodes among 15,000 edges; 42 ms by an array).
create or replace function walk_edges(datasets uuid[], jobs uuid[], near text, far text, depth int, most int)
returns table (node uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, explicit boolean, manual boolean, intermittent boolean, parsed boolean)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  frontier uuid[] := datasets;
  via uuid[] := jobs;
  met uuid[] := datasets;
  passed uuid[] := jobs;
  members uuid[];
begin
  for hop in 1 .. depth + 1 loop
    if hop > 1 or cardinality(jobs) = 0 then
      -- Under all their names, as an array: a join does not reach into the arms of the views' unions.
      members := frontier || array(select c.dataset_id from dataset_canonical c where c.canonical_id = any(frontier) and c.canonical_id <> c.dataset_id);
      return query
        select coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent, e.parsed
        from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
        where e.dataset_id = any(members) and e.direction = near;
      if hop > depth then
        return;
      end if;
      via := array(
        select e.job_id from reported_edges e where e.direction = near and e.dataset_id = any(members)
        except select unnest(passed));
      passed := passed || via;
    end if;
    return query
      select coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent, e.parsed
      from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far;
    frontier := array(
      select coalesce(c.canonical_id, e.dataset_id) from reported_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far
      except select unnest(met));
    met := met || frontier;
    if cardinality(frontier) = 0 then
      return;
    end if;
    if cardinality(met) + cardinality(passed) > most then
      return query select null::uuid, null::uuid, null::text, null::boolean, null::timestamptz, null::timestamptz, null::boolean, null::boolean, null::boolean, null::boolean;
      return;
    end if;
  end loop;
end
$$;

-- Labels of runs, by which they are found (docs/decisions/055): tags, the id of a query in its warehouse, the engine, variables.
create table run_labels (
  run_id uuid not null,
  job_id uuid not null,
  name   text not null,
  value  text not null,
  primary key (run_id, job_id, name, value)
);
create index run_labels_by_value on run_labels (name, value);

-- Control flow that a job's runs report (`jobDependencies`): no data need pass. `kind`: the producer's word for it.
create table job_dependencies (
  upstream_id   uuid        not null,
  downstream_id uuid        not null,
  reporter_id   uuid        not null,
  kind          text        not null,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  primary key (reporter_id, upstream_id, downstream_id, kind)
);
create index job_dependencies_of_upstream on job_dependencies (upstream_id);
create index job_dependencies_of_downstream on job_dependencies (downstream_id);

-- Files of rules about alerts and of policies, as people applied them: the latest of a kind holds, none is ever changed. `files`: [{name, text}].
create table applied_rules (
  version    bigint generated always as identity primary key,
  kind       text        not null check (kind in ('rules', 'policies')),
  files      jsonb       not null,
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text        not null
);
create index applied_rules_by_kind on applied_rules (kind, version desc);

-- The places that messages go to beside mail. `url` and `secret` are encrypted: the address of a chat's webhook is its key.
create table alert_channels (
  name             text primary key,
  kind             text        not null,
  url              bytea       not null,
  secret           bytea,
  created_at       timestamptz not null default clock_timestamp(),
  created_by       text        not null,
  delivered        bigint      not null default 0,
  last_delivery_at timestamptz,
  failing_since    timestamptz,
  failures         int         not null default 0,
  last_error       text
);

-- One row: when a server last looked for troubles, up to where (`measured_until` for measurements), and why it could not.
create table alert_state (
  only_one       boolean primary key default true check (only_one),
  looked_at      timestamptz not null default '2000-01-01 00:00:00+00',
  seen_until     timestamptz not null default '2000-01-01 00:00:00+00',
  measured_until timestamptz not null default '2000-01-01 00:00:00+00',
  trouble        text
);
insert into alert_state default values;

-- One cause that rules told of. Its id is derived from the cause, so two servers decide it once.
create table alerts (
  id              uuid primary key,
  event           text        not null,
  subject         text        not null,
  label           text        not null,
  node            uuid,
  since           timestamptz not null,
  until           timestamptz,
  text            text        not null,
  look            text        not null,
  decided_at      timestamptz not null default clock_timestamp(),
  unaddressed     text[]      not null default '{}',
  acknowledged_at timestamptz,
  acknowledged_by text,
  note            text        not null default '',
  muted_until     timestamptz,
  muted_by        text
) with (fillfactor = 80);
create index alerts_by_time on alerts (decided_at desc, id);
create index alerts_open on alerts (subject) where until is null;

-- The troubles that an alert tells: what the rules watch. `node`: the dataset or job.
create table alert_members (
  id         uuid primary key,
  alert_id   uuid        not null references alerts on delete cascade,
  event      text        not null,
  subject    text        not null,
  label      text        not null,
  node       uuid,
  since      timestamptz not null,
  until      timestamptz,
  text       text        not null,
  look       text        not null,
  rules      text[]      not null,
  owners     text[]      not null default '{}',
  decided_at timestamptz not null default clock_timestamp()
) with (fillfactor = 80);
create index alert_members_of on alert_members (alert_id);
create index alert_members_told on alert_members (subject, event, since desc);
alter table alert_members drop column owners;

-- The messages of alerts, decided and sent apart: what is decided is sent although the process dies between, and sent by one process at a time.
-- `stage`: 0, or the number of an escalation. `state`: waiting, sent, refused (the receiver will never take it) or dropped (no longer needed).
-- `body`: what is sent, made at the first try, so that each repetition says the same under the same id.
create table alert_messages (
  id          uuid primary key,
  alert_id    uuid        not null references alerts on delete cascade,
  rule        text        not null,
  stage       int         not null,
  address     text        not null,
  severity    text        not null,
  due_at      timestamptz not null,
  state       text        not null default 'waiting' check (state in ('waiting', 'sent', 'refused', 'dropped')),
  attempts    int         not null default 0,
  body        jsonb,
  sent_at     timestamptz,
  last_error  text,
  lease_owner uuid,
  lease_until timestamptz
) with (fillfactor = 60);
create index alert_messages_waiting on alert_messages (due_at) where state = 'waiting';
create index alert_messages_of on alert_messages (alert_id);

create trigger alerts_noted after insert or update on alerts for each statement execute function note_change('alerts');

create trigger alert_messages_noted after update on alert_messages for each statement execute function note_change('alerts');

create trigger applied_rules_noted after insert on applied_rules for each statement execute function note_change('alerts');

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

-- Saved views: addresses of the page under a name, of one person or, without an owner, of everyone.
create table views (
  owner   text        not null,
  name    text        not null,
  address text        not null,
  author  text        not null,
  at      timestamptz not null default clock_timestamp(),
  primary key (owner, name)
);

-- Systems that a server reads on a schedule. `secrets` is encrypted. `cursor`: what the last complete pull left, from where the next one goes on.
-- `requested`: a person, or cron, asked for a pull now. One server at a time pulls: the lease says which.
create table connectors (
  name          text primary key,
  kind          text        not null,
  options       jsonb       not null,
  secrets       bytea,
  every_seconds int         not null check (every_seconds > 0),
  paused        boolean     not null default false,
  created_at    timestamptz not null default clock_timestamp(),
  created_by    text        not null,
  cursor        jsonb,
  next_pull_at  timestamptz not null default clock_timestamp(),
  requested     boolean     not null default false,
  failures      int         not null default 0,
  failing_since timestamptz,
  last_error    text,
  lease_owner   uuid,
  lease_until   timestamptz
);

-- Pulls of connectors. `newest_at`: the newest time that the system's own records had. `refused`: events that were not accepted.
create table connector_pulls (
  id         bigint generated always as identity primary key,
  connector  text        not null references connectors on delete cascade,
  started_at timestamptz not null,
  ended_at   timestamptz not null default clock_timestamp(),
  rows       bigint      not null default 0,
  events     bigint      not null default 0,
  refused    bigint      not null default 0,
  newest_at  timestamptz,
  warnings   text[]      not null default '{}',
  error      text
);
create index connector_pulls_of on connector_pulls (connector, id desc);

-- Personal rules of alerts: what one person wants to hear of. `selector`: as rules write it. A change of events begins a new `since`.
create table subscriptions (
  owner    text        not null,
  selector text        not null,
  events   text[]      not null,
  address  text        not null,
  since    timestamptz not null default clock_timestamp(),
  primary key (owner, selector)
);

-- Programs that take items of plans: each says so again and again while it lives.
create table plan_workers (
  name       text        primary key,
  -- The plan whose items it takes; null: those of every applied plan.
  plan       uuid,
  seen_at    timestamptz not null,
  expires_at timestamptz not null
);

-- Statements of dbt that run below a model and name no connection (docs/decisions/052): which tables they read is known once the model's run reports
-- its output, before or after. `job_id`, `report_id`: the model and its run. `body_id`: the statement's `sql` facet in `facet_bodies`.
create table report_statements (
  job_id    uuid        not null,
  report_id uuid        not null,
  body_id   uuid        not null,
  first_at  timestamptz not null,
  last_at   timestamptz not null,
  primary key (job_id, report_id, body_id)
) with (fillfactor = 90);

-- Without sets that a snapshot replaced.
create or replace function live_column_sets(jobs uuid[], targets uuid[])
returns table (job_id uuid, target_id uuid, set_id uuid, origin smallint, fresh boolean)
language sql stable as $$
  with told as (
    select a.job_id, a.target_id, c.set_id, c.origin, c.report_id = d.report_id or c.at >= coalesce(j.settled_at, '-infinity') as fresh,
           array_position(j.settled, c.report_id) as place, cardinality(j.settled) as settled,
           rank() over (partition by a.job_id, c.report_id, a.target_id order by c.origin) as precedence
    from (select distinct u.job_id, u.target_id from unnest(jobs, targets) u (job_id, target_id)) a
    left join jobs j on j.id = a.job_id
    left join lateral (
      select r.report_id from reports r where r.job_id = a.job_id and r.declaration order by r.first_at desc, r.report_id limit 1) d on true
    cross join lateral (
      select b.report_id, b.set_id, b.origin, b.at from stated_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.at >= coalesce(j.settled_at, '-infinity')
      union
      select b.report_id, b.set_id, b.origin, b.at from stated_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.report_id = any(j.settled || d.report_id)) c
    where c.report_id = d.report_id or not exists (select from reports r where r.job_id = a.job_id and r.report_id = c.report_id and r.declaration)
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;

create or replace function past_column_sets(jobs uuid[], targets uuid[], as_of timestamptz)
returns table (job_id uuid, target_id uuid, set_id uuid, origin smallint, fresh boolean)
language sql stable as $$
  with live as (
    select * from live_reports((select array_agg(distinct j) from unnest(jobs) j), as_of)
  ), told as (
    select c.job_id, c.target_id, c.set_id, c.origin, c.at >= l.since as fresh, l.place, l.settled,
           rank() over (partition by c.job_id, c.report_id, c.target_id order by c.origin) as precedence
    from live l join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id and not is_replaced(c.job_id, c.report_id, c.at, as_of)
    where (c.job_id, c.target_id) in (select * from unnest(jobs, targets))
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;

-- The columns of its target that a set tells of; the empty name is the target as a whole. `fed`: of those alone that have an input.
create function columns_of_set(set uuid, fed boolean) returns setof text
language sql stable as $$
  select distinct edge ->> 0 from column_sets s cross join lateral jsonb_array_elements(convert_from(s.edges, 'UTF8')::jsonb) edge
  where s.id = set and not (fed and edge ->> 1 = '00000000-0000-0000-0000-000000000000')
$$;

-- The views of the schema `lineage` ask this of declared edges. Their reader may see no table, and may have any search path: so the answer is the owner's, and
-- its names, and those of what it calls, are looked for where they were made.
create or replace function tells_columns_alone(parent uuid, dataset uuid) returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select from report_columns c where c.job_id = parent and c.target_id = dataset) and exists (
    select f from live_column_sets(array[parent], array[dataset]) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (
      select array_agg(c.child_id) as jobs, array_agg(n) as targets from live_child_edges c cross join names_of(dataset) n
      where c.parent_id = parent and c.dataset_id = dataset and c.direction = 'out') child
    cross join lateral live_column_sets(child.jobs, child.targets) told cross join lateral columns_of_set(told.set_id, false) f)
$$;

create or replace function children_with_edge(parent uuid, dataset uuid, side text, as_of timestamptz) returns uuid[]
language sql stable as $$
  select coalesce(array_agg(distinct child.id), '{}') from jobs child join edges seen on seen.job_id = child.id
  where child.parent_id = parent and not child.hidden and seen.dataset_id = any(array(select names_of(dataset))) and seen.direction = side and seen.first_at <= as_of
    and (exists (
      select from live_reports(array[child.id], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = seen.dataset_id and d.direction = side and d.first_at <= as_of
        and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
      having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
    or exists (select from manual_edges(null, array[child.id], as_of) x where x.dataset_id = seen.dataset_id and x.direction = side))
$$;

-- True if a job had told columns of a dataset, at a time, that none of these jobs had.
create or replace function told_columns_alone(job uuid, dataset uuid, others uuid[], as_of timestamptz) returns boolean
language sql stable as $$
  select exists (select from report_columns c where c.job_id = job and c.target_id = dataset) and exists (
    select f from past_column_sets(array[job], array[dataset], as_of) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (select array_agg(o) as jobs, array_agg(n) as targets from unnest(others) o cross join names_of(dataset) n) other
    cross join lateral past_column_sets(other.jobs, other.targets, as_of) told cross join lateral columns_of_set(told.set_id, false) f)
$$;

create or replace function yields_to_children(job uuid, dataset uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select child.ids <> '{}' and case side when 'in' then not stands_beside_children(job, as_of) else not told_columns_alone(job, dataset, child.ids, as_of)
    and not (exists (select from report_datasets d where d.job_id = job and not d.declared and d.first_at <= as_of) and exists (
      select from live_reports(array[job], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
        and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
      group by d.dataset_id, d.direction
      having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))) and not bool_and(d.declared)))
    and not exists (select from manual_edges(null, array[job], as_of)) end
  from (select children_with_edge(job, dataset, side, as_of) as ids) child
$$;

-- Events of a run that announce the complete state of a time window (`emissionPattern` of `jobType`: COMPLETE_SNAPSHOT). What the run reported before is
-- replaced by it; what it reports after adds up again (docs/decisions/073).
create table report_snapshots (
  job_id    uuid        not null,
  report_id uuid        not null,
  at        timestamptz not null,
  primary key (job_id, report_id, at)
);

-- The inputs and outputs that each report states now: those that no later snapshot of the same run lacks.
create view stated_datasets as
select d.* from report_datasets d
where not exists (select from report_snapshots s where s.job_id = d.job_id and s.report_id = d.report_id and s.at > d.last_at);

-- The same of column edges, and of edges of other jobs.
create view stated_columns as
select c.* from report_columns c
where not exists (select from report_snapshots s where s.job_id = c.job_id and s.report_id = c.report_id and s.at > c.at);

create view stated_foreign_edges as
select d.* from report_foreign_edges d
where not exists (select from report_snapshots s where s.job_id = d.job_id and s.report_id = d.report_id and s.at > d.last_at);

-- True if a report had replaced, by a time, what it last stated before.
create function is_replaced(job uuid, report uuid, stated_at timestamptz, as_of timestamptz) returns boolean
language sql stable as $$
  select exists (select from report_snapshots s where s.job_id = job and s.report_id = report and s.at > stated_at and s.at <= as_of)
$$;

-- State again the edges of these runs' jobs that a snapshot replaced: the last report that still has them counts, and none if none has. Jobs without snapshots, which is
-- nearly all, cost one look each.
create function restate_edges(jobs uuid[], reports uuid[]) returns void
language plpgsql as $$
declare
  snapshot_jobs uuid[] := array(
    select distinct u.job_id from unnest(jobs, reports) u (job_id, report_id)
    where exists (select from report_snapshots s where s.job_id = u.job_id and s.report_id = u.report_id));
begin
  if cardinality(snapshot_jobs) = 0 then return; end if;
  update edges e set last_at = x.at from (
    select d.job_id, d.dataset_id, d.direction,
           max(d.last_at) filter (where not is_replaced(d.job_id, d.report_id, d.last_at, 'infinity')) as at
    from report_datasets d join reports r on r.job_id = d.job_id and r.report_id = d.report_id and not r.declaration
    where d.job_id = any(snapshot_jobs)
    group by 1, 2, 3 having bool_or(is_replaced(d.job_id, d.report_id, d.last_at, 'infinity'))) x
  where e.dataset_id = x.dataset_id and e.job_id = x.job_id and e.direction = x.direction and e.last_at is distinct from x.at;
  update foreign_edges e set last_at = x.at from (
    select d.job_id, d.dataset_id, d.edge_job_id, d.direction,
           max(d.last_at) filter (where not is_replaced(d.job_id, d.report_id, d.last_at, 'infinity')) as at
    from report_foreign_edges d join reports r on r.job_id = d.job_id and r.report_id = d.report_id and not r.declaration
    where d.job_id = any(snapshot_jobs)
    group by 1, 2, 3, 4 having bool_or(is_replaced(d.job_id, d.report_id, d.last_at, 'infinity'))) x
  where e.dataset_id = x.dataset_id and e.job_id = x.edge_job_id and e.direction = x.direction and e.reporter_id = x.job_id
    and e.last_at is distinct from x.at;
end
$$;

-- A declared edge gives way to the same edge of a job below only while that one is live. One that the child's newest run lacks has ended, and what the parent
-- declares answers again (docs/decisions/071).
create or replace view live_child_edges as
select child.parent_id, seen.dataset_id, seen.direction, child.id as child_id
from jobs child join edges seen on seen.job_id = child.id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)))
union all
-- The same under each other name of the dataset, since the parent may know it by that.
select child.parent_id, other.dataset_id, seen.direction, child.id as child_id
from jobs child join edges seen on seen.job_id = child.id
join dataset_canonical one on one.dataset_id = seen.dataset_id
join dataset_canonical other on other.canonical_id = one.canonical_id and other.dataset_id <> one.dataset_id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)));

-- A dataset and its other names.
create function names_of(dataset uuid) returns setof uuid
language sql stable as $$
  select dataset
  union all
  select other.dataset_id from dataset_canonical one join dataset_canonical other on other.canonical_id = one.canonical_id
  where one.dataset_id = dataset and other.dataset_id <> dataset
$$;

-- A job that was deleted connects nothing: its edges are not alive until an event reports it again.
create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit, e.intermittent, false as parsed
from edges e left join jobs j on j.id = e.job_id
where j.hidden is not true and (e.manual or e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared
    or not exists (select from live_child_edges c where c.parent_id = e.job_id and c.dataset_id = e.dataset_id and c.direction = e.direction)
    or exists (
      select from edges own where own.job_id = e.job_id
        and (own.manual or own.intermittent or own.last_at >= coalesce(j.settled_at, '-infinity')
             or own.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
        and (not own.declared or own.manual
          or e.direction = 'in' and own.direction = 'out' and not exists (
            select from live_child_edges c where c.parent_id = e.job_id and c.dataset_id = own.dataset_id and c.direction = 'out')
          or own.direction = 'out' and (e.direction = 'in' or own.dataset_id = e.dataset_id) and exists (
            select from report_columns c where c.job_id = own.job_id and c.target_id = own.dataset_id) and tells_columns_alone(own.job_id, own.dataset_id))))
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false,
       exists (select from jobs o where o.id = e.job_id and o.explicit_at is not null), now_and_then.yes, false
from foreign_edges e left join jobs r on r.id = e.reporter_id
cross join lateral (
  select coalesce(intermittent(count(d.report_id), min(o.place), max(o.place), cardinality(r.settled)), false) as yes
  from unnest(r.settled) with ordinality o (report_id, place)
  join stated_foreign_edges d on d.job_id = e.reporter_id and d.report_id = o.report_id and d.dataset_id = e.dataset_id and d.edge_job_id = e.job_id
    and d.direction = e.direction) now_and_then
where e.reporter_id not in ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001')
  and (now_and_then.yes or e.last_at >= coalesce(r.settled_at, '-infinity')
   or e.declared_at >= coalesce(r.declared_at, (select max(p.first_at) from reports p where p.job_id = e.reporter_id and p.declaration)))
  and not exists (select from jobs o where o.id = e.job_id and o.hidden)
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false, false, false, true
from foreign_edges e cross join lateral (
  select max(f.last_at) as seen, max(f.declared_at) as declared from foreign_edges f where f.job_id = e.job_id and f.reporter_id = '00000000-0000-0000-0000-000000000000') newest
where e.reporter_id = '00000000-0000-0000-0000-000000000000' and (e.last_at = newest.seen or e.declared_at = newest.declared)
  and counts_as_parsed(e.job_id, 'infinity') and not exists (select from jobs o where o.id = e.job_id and o.hidden)
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false, false, false, true
from foreign_edges e join jobs j on j.id = e.job_id
where e.reporter_id = '00000000-0000-0000-0000-000000000001' and (select s.parsed_sql from server_state s) and j.hidden is not true
  and (e.last_at >= coalesce(j.settled_at, '-infinity')
    or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)));

-- True if a job had edges of its own at a time beside those of the jobs below it: what it reported itself, what it declared and none of them had, or columns
-- that it alone told.
create function stands_beside_children(job uuid, as_of timestamptz) returns boolean
language sql stable as $$
  with own as (
    select d.dataset_id, d.direction, bool_and(d.declared) as declared
    from live_reports(array[job], as_of) l
    join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
      and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
    group by d.dataset_id, d.direction
    having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
  select exists (select from own where not declared) or exists (select from manual_edges(null, array[job], as_of)) or exists (
    select from own cross join lateral (select children_with_edge(job, own.dataset_id, 'out', as_of) as ids) child
    where own.direction = 'out' and (child.ids = '{}' or told_columns_alone(job, own.dataset_id, child.ids, as_of)))
$$;
