-- name: open :many
-- The violations that last, the oldest first.
select id, policy, dataset, subject, label, field, text, path, since, until from policy_violations where until is null order by since, id

-- name: began :many
-- The violations that began in a window.
select id, policy, dataset, subject, label, field, text, path, since, until from policy_violations
where since > %(since)s and since <= %(until)s order by since, id limit %(limit)s

-- name: add :exec
-- Keep violations that a look found for the first time.
insert into policy_violations (id, policy, dataset, subject, label, field, text, path)
select v.id, v.policy, v.dataset, v.subject, v.label, v.field, v.text, string_to_array(v.path, e'\n')
from unnest(%(ids)b::uuid[], %(policies)b::text[], %(datasets)b::uuid[], %(subjects)b::text[], %(labels)b::text[], %(fields)b::text[], %(texts)b::text[], %(paths)b::text[])
  as v (id, policy, dataset, subject, label, field, text, path)
on conflict (id) do nothing

-- name: end :exec
-- Note that violations are no more.
update policy_violations set until = clock_timestamp() where id = any(%(ids)b::uuid[]) and until is null
