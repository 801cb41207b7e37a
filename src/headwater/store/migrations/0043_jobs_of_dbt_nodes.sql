-- The jobs of a node of dbt are one from now on (decision 059); those in the log are after a rebuild. Where months of the log were dropped, it would lose
-- what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (
  select from facet_sets s join owner_facets f on f.set_id = s.id join jobs j on j.id = f.owner
  where s.name = 'dbt_node' and not s.deleted and j.name !~ '^(model|snapshot|seed|test)[.]'));
