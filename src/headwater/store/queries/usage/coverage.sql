-- name: coverage :one
-- The number of datasets, of those with a job known to write them, of those whose columns' sources are known too, and of those only
-- declared; the number of jobs, and of those that ran and reported their reads and writes. A statement of a job counts as that job.
with written as (
  select d.id, bool_or(not e.declared) as observed,
         bool_or(exists (select from stated_columns c where c.job_id = e.job_id and c.target_id = e.dataset_id)) as columns
  from datasets d join edges e on e.dataset_id = d.id and e.direction = 'out' join jobs j on j.id = e.job_id
  where not d.hidden and not j.hidden and (%(namespace)s::text is null or d.namespace = %(namespace)s) group by d.id
)
select (select count(*) from datasets d where not d.hidden and (%(namespace)s::text is null or d.namespace = %(namespace)s)),
       (select count(*) from written), (select count(*) from written where columns), (select count(*) from written where not observed),
       (select count(*) from jobs j where not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s)
          and (j.parent_id is null or ascii(right(j.name, 1)) not between 48 and 57 or j.name !~ %(statements)s)),
       (select count(*) from jobs j where not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s)
          and (j.parent_id is null or ascii(right(j.name, 1)) not between 48 and 57 or j.name !~ %(statements)s)
          and (exists (select from edges e where e.job_id = j.id)
            or exists (select from jobs c join edges e on e.job_id = c.id where c.parent_id = j.id and c.name ~ %(statements)s))
          and exists (select from runs r where r.job_id = j.id))
