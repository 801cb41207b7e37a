-- The views of the schema `lineage` ask this of declared edges. Their reader may see no table, and may have any search path: so the answer is the owner's, and
-- its names, and those of what it calls, are looked for where they were made.
create or replace function tells_columns_alone(parent uuid, dataset uuid) returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select from report_columns c where c.job_id = parent and c.target_id = dataset) and exists (
    select f from live_column_sets(array[parent], array[dataset]) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (select array_agg(c.child_id) as ids from live_child_edges c where c.parent_id = parent and c.dataset_id = dataset and c.direction = 'out') child
    cross join lateral live_column_sets(child.ids, array_fill(dataset, array[cardinality(child.ids)])) told cross join lateral columns_of_set(told.set_id, false) f)
$$;
