-- Tables, views, materialized views, foreign tables and partitioned tables, with their columns in order, the foreign keys that lead to them, and their
-- partitions and heirs at any depth (as many as the limit of children and one more), which are no rows of their own if they are partitions.
select n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class'),
       (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                                          'description', col_description(c.oid, a.attnum)) order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
       case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end,
       (select json_agg(json_build_object(
                 'table', json_build_array(kn.nspname, kc.relname),
                 'columns', (select json_agg(a.attname order by u.nr) from unnest(k.conkey) with ordinality u (attnum, nr)
                             join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum),
                 'keys', (select json_agg(a.attname order by u.nr) from unnest(k.confkey) with ordinality u (attnum, nr)
                          join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.attnum)) order by k.conname, k.oid)
        from pg_constraint k join pg_class kc on kc.oid = k.conrelid join pg_namespace kn on kn.oid = kc.relnamespace
        where k.confrelid = c.oid and k.contype = 'f' and k.conparentid = 0),
       (with recursive below (id) as (
          select inhrelid from pg_inherits where inhparent = c.oid
          union select i.inhrelid from below b join pg_inherits i on i.inhparent = b.id
        ) select json_agg(json_build_array(nspname, relname) order by nspname, relname)
          from (select bn.nspname, bc.relname from below join pg_class bc on bc.oid = below.id join pg_namespace bn on bn.oid = bc.relnamespace
                order by bn.nspname, bc.relname limit %(children)s) family)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and (%(schemas)s::text[] is null or n.nspname = any (%(schemas)s))
  and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
order by n.nspname, c.relname
limit %(limit)s
