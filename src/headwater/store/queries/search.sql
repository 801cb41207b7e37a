-- name: lock_groups :exec
-- Two writers that report one dataset by two of its names write its document one after the other. A writer that changes groups of names waits for
-- all writers of any of them; a writer of one holds its row, so its group does not change meanwhile.
with mine as (
  select c.canonical_id from unnest(%(ids)b::uuid[]) as u (id) cross join lateral (select canonical_id from dataset_canonical where dataset_id = u.id offset 0) c
)
select from (
  select canonical_id as id from mine
  union
  select other.dataset_id from mine cross join lateral (select dataset_id from dataset_canonical where canonical_id = mine.canonical_id offset 0) other
  where %(regrouped)s::bool
  order by id) n
cross join lateral (select from datasets d where d.id = n.id for no key update) d

-- name: stale :many
-- Datasets and jobs whose document is older than their names, facets or people's texts. Datasets by their canonical id.
-- Node by node, and each row by its key: a join of what they all have is, where tables are believed to be empty, each row of one against each
-- of the other. And that is believed of what this transaction has written, when the tables were analyzed meanwhile.
with root as (
  select distinct coalesce(c.canonical_id, i) as id
  from unnest(%(ids)b::uuid[]) i left join lateral (select canonical_id from dataset_canonical where dataset_id = i offset 0) c on true
), fresh as (
  select r.id as node, n.type, n.namespaces, n.names, t.facets, t.bodies, s.facts,
         md5(concat_ws(chr(30), n.namespaces, n.names, t.facets, t.bodies, s.changes))::uuid as source
  from root r cross join lateral (
    select array_agg(id) as ids from (select r.id union select dataset_id from dataset_canonical where canonical_id = r.id) m
  ) m cross join lateral (
    select min(type) as type, array_agg(namespace order by id = r.id desc, id) as namespaces, array_agg(name order by id = r.id desc, id) as names
    from (
      select d.id, 'DATASET' as type, d.namespace, d.name, d.hidden
      from unnest(m.ids) as u (id) cross join lateral (select * from datasets where id = u.id offset 0) d
      union all
      select id, 'JOB', namespace, name, hidden from jobs where id = r.id) named
    having bool_or(id = r.id and not hidden)
  ) n cross join lateral (
    select array_agg(name order by name) as facets, array_agg(body_id order by name) as bodies from (
      select distinct on (f.name) f.name, f.deleted, f.body_id
      from unnest(m.ids) as u (id)
      cross join lateral (select set_id, last_at, last_digest from owner_facets where owner = u.id offset 0) o
      cross join lateral (select name, deleted, body_id, guess from facet_sets where id = o.set_id and name = any(%(facets)b::text[]) offset 0) f
      order by f.name, f.guess, o.last_at desc, o.last_digest desc, f.body_id desc) latest
    where not deleted
  ) t cross join lateral (
    select array_agg(a.change_id order by a.target, a.kind, a.key) as changes,
           jsonb_agg(jsonb_build_array(substr(a.target, length(w.target) + 2), a.kind, a.key, a.value, a.deleted)
                     order by a.at, a.change_id) as facts
    from unnest(n.namespaces, n.names) as u (namespace, name) cross join lateral (
      select lower(n.type) || ':' || u.namespace || ':' || u.name as target) w
    cross join lateral (
      select * from annotations where target = w.target
      union all select * from annotations where target ~>=~ (w.target || '#') and target ~<~ (w.target || '$')) a
    where a.kind in ('description', 'owner', 'tag')
  ) s
)
select f.node, f.type, f.namespaces, f.names, f.facets,
       (select array_agg(b.body order by u.place) from unnest(f.bodies) with ordinality u (id, place) join facet_bodies b on b.id = u.id),
       f.facts::text, f.source, tsvector_to_array(d.words)
from fresh f left join lateral (select source, words from search_documents where id = f.node offset 0) d on true
where d.source is distinct from f.source

-- name: doomed :many
-- Documents of datasets that are another name now, or are hidden.
with member as (
  select i as id from unnest(%(ids)b::uuid[]) i
  union
  select other.dataset_id from unnest(%(ids)b::uuid[]) i
  cross join lateral (select canonical_id from dataset_canonical where dataset_id = i offset 0) mine
  cross join lateral (select dataset_id from dataset_canonical where canonical_id = mine.canonical_id offset 0) other
)
select s.id, tsvector_to_array(s.words) from member m cross join lateral (select id, words from search_documents where id = m.id offset 0) s
where exists (select 1 from dataset_canonical c where c.dataset_id = s.id and c.canonical_id <> s.id)
   or not exists (select 1 from datasets d where d.id = s.id and not d.hidden union all select 1 from jobs j where j.id = s.id and not j.hidden)

-- name: described :many
-- Those of these datasets of which more is known than their name: other names, facets, people's texts (maybe older than their first report).
select u.id from unnest(%(id)b::uuid[], %(target)b::text[]) as u (id, target)
where exists (select 1 from owner_facets where owner = u.id)
   or exists (select 1 from dataset_canonical where dataset_id = u.id) or exists (select 1 from dataset_canonical where canonical_id = u.id)
   or exists (select 1 from annotations where target = u.target)
   or exists (select 1 from annotations where target ~>=~ (u.target || '#') and target ~<~ (u.target || '$'))

-- name: delete_documents :exec
-- Documents that are no more.
delete from search_documents where id = any(%(ids)b)

-- name: upsert_documents :exec
-- Documents as they are now. Lexemes, tags and owners of one come in one text each, parted by the sign 31. `source` is as `stale` says; null: the
-- document is made from one name alone.
insert into search_documents as t (id, type, namespace, name, tags, owners, source, words)
select id, type, namespace, name, string_to_array(tags, chr(31)), string_to_array(owners, chr(31)),
       coalesce(source, md5(concat_ws(chr(30), array[namespace], array[name]))::uuid), array_to_tsvector(string_to_array(words, chr(31)))
from unnest(%(id)b::uuid[], %(type)b::text[], %(namespace)b::text[], %(name)b::text[], %(tags)b::text[], %(owners)b::text[], %(source)b::uuid[], %(words)b::text[])
     as u (id, type, namespace, name, tags, owners, source, words)
on conflict (id) do update set tags = excluded.tags, owners = excluded.owners, source = excluded.source, words = excluded.words

-- name: insert_words :exec
-- Words met for the first time.
insert into search_words (word, near)
select u.word, (select array_agg(distinct overlay(u.word placing '' from i for 1)) || u.word from generate_series(1, length(u.word)) i)
from unnest(%(word)b::text[]) as u (word) where not exists (select 1 from search_words w where w.word = u.word offset 0) order by u.word
on conflict do nothing

-- name: lock_words :exec
-- Held to the end of the transaction by a writer that adds documents.
select pg_advisory_xact_lock_shared(1751474532, 4)

-- name: lock_words_alone :exec
-- Held to the end of the transaction by a writer that may remove words: it sees every document that needs one.
select pg_advisory_xact_lock(1751474532, 4)

-- name: delete_words :exec
-- Those of these words that no document has any more. `query` finds the documents with a word.
delete from search_words w using unnest(%(word)b::text[], %(query)b::text[]) as u (word, query)
where w.word = u.word and not exists (select 1 from search_documents d where d.words @@ u.query::tsquery)

-- name: pages :many
-- Datasets and jobs after an id, for making all documents.
select id from (select id from datasets where id > %(after)b union all select id from jobs where id > %(after)b) n order by id limit %(limit)s

-- name: match_words :many
-- The words: whether each is indexed, whether indexed words begin with it, and indexed words that are near it (one slip, or much the same trigrams).
select u.word, exists (select 1 from search_words w where w.word = u.word),
       exists (select 1 from search_words w where w.word >= u.word and w.word < u.after),
       case when u.near <> '' then (select array_agg(word) from (select word from search_words w where w.near && string_to_array(u.near, ' ') limit 200) n) end,
       case when u.alike then (select array_agg(word) from (select word from search_words w where w.word %% u.word order by similarity(w.word, u.word) desc, word limit 20) n) end
from unnest(%(word)b::text[], %(after)b::text[], %(near)b::text[], %(alike)b::bool[]) as u (word, after, near, alike)

-- name: texts_of_people :many
-- People's texts about these datasets (under any of their names) and jobs: descriptions, owners, tags, of columns too.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), node as (
  select m.node, 'dataset:' || d.namespace || ':' || d.name as target from member m join datasets d on d.id = m.id
  union all select m.node, 'job:' || j.namespace || ':' || j.name from member m join jobs j on j.id = m.id
)
select n.node, jsonb_agg(jsonb_build_array(substr(a.target, length(n.target) + 2), a.kind, a.key, a.value, a.deleted) order by a.at, a.change_id)::text
from node n cross join lateral (
  select * from annotations where target = n.target
  union all select * from annotations where target ~>=~ (n.target || '#') and target ~<~ (n.target || '$')) a
where a.kind in ('description', 'owner', 'tag') group by n.node

-- name: candidates :many
-- Documents by the first of these queries that finds them, each at most `most` times; the one reported last is first among equals.
select h.tier, h.id, h.type, h.namespace, h.name,
       coalesce((select last_seen from datasets where id = h.id), (select last_seen from jobs where id = h.id))
from (
  select t.tier, f.* from unnest(%(queries)b::text[]) with ordinality t (query, tier)
  cross join lateral (select x.id, x.type, x.namespace, x.name from search_documents x where x.words @@ t.query::tsquery limit %(most)s) f
  limit 2 * %(most)s) h
order by h.tier, 6 desc, length(h.name), h.namespace collate "C", h.name collate "C", h.id

-- name: few :many
-- Documents that the query finds, when they are few: each with the first of the other queries that finds it.
with tiers as materialized (
  select query::tsquery as query, tier from unnest(%(queries)b::text[]) with ordinality t (query, tier)
), hits as materialized (
  select id, type, namespace, name, words from search_documents where words @@ (select %(query)s::tsquery) limit %(most)s
)
select (select t.tier from tiers t where h.words @@ t.query order by t.tier limit 1) as tier, h.id, h.type, h.namespace, h.name,
       coalesce((select last_seen from datasets where id = h.id), (select last_seen from jobs where id = h.id))
from hits h where (select count(*) from hits) < %(most)s
order by 1, 6 desc, length(h.name), h.namespace collate "C", h.name collate "C", h.id

-- name: among :many
-- Those of these documents that the query finds.
select id from search_documents where id = any(%(ids)b) and words @@ (select %(query)s::tsquery)

-- name: counts :many
-- The number of documents that the query finds (at most `most`), by type, namespace, platform, tag and owner; the twenty most frequent of each.
with hits as materialized (
  select type, namespace, tags, owners from search_documents where words @@ (select %(query)s::tsquery) limit %(most)s
), places as materialized (
  select type, namespace, count(*) as n from hits group by type, namespace
), counted as (
  select 'type' as facet, type as value, sum(n)::int as n from places group by type
  union all select 'namespace', namespace, sum(n)::int from places group by namespace
  union all select 'platform', split_part(namespace, ':', 1), sum(n)::int from places where type = 'DATASET' group by 2
  union all select 'tag', tag, sum(n)::int from (select tags, count(*) as n from hits where tags <> '{}' group by tags) t, unnest(tags) tag group by tag
  union all select 'owner', owner, sum(n)::int from (select owners, count(*) as n from hits where owners <> '{}' group by owners) o, unnest(owners) owner group by owner
)
select facet, value, n from (select *, row_number() over (partition by facet order by n desc, value) as place from counted) c
where place <= 20 order by facet, n desc, value
