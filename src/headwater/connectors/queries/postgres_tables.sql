-- Tables, views, materialized views, foreign tables and partitioned tables, with their columns in order; not the parts of a partitioned table.
select n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class'),
       (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                                          'description', col_description(c.oid, a.attnum)) order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
       case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and (%(schemas)s::text[] is null or n.nspname = any (%(schemas)s))
  and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
order by n.nspname, c.relname
limit %(limit)s
