-- Tables, views, materialized views, foreign tables and partitioned tables, with their columns in order, the foreign keys that lead to them, and their
-- partitions and heirs at any depth (as many as the limit of children and one more), which are no rows of their own if they are partitions; and what
-- else stops working without them: objects that PostgreSQL records to depend on the table, on its partitions, row type or sequences, and publications.
with published as materialized (
  select t.pubname, pc.oid from pg_publication_tables t join pg_publication p using (pubname)
  join pg_namespace pn on pn.nspname = t.schemaname join pg_class pc on pc.relnamespace = pn.oid and pc.relname = t.tablename where not p.puballtables
)
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
                order by bn.nspname, bc.relname limit %(children)s) family),
       (with recursive family (id) as (
          select c.oid
          union select i.inhrelid from family f join pg_inherits i on i.inhparent = f.id join pg_class p on p.oid = i.inhrelid and p.relispartition
        ), own (class, id) as (
          select 'pg_class'::regclass::oid, id from family
          union select 'pg_class'::regclass, s.objid from family f join pg_depend s on s.refclassid = 'pg_class'::regclass and s.refobjid = f.id
                  and s.classid = 'pg_class'::regclass and s.deptype in ('a', 'i') join pg_class q on q.oid = s.objid and q.relkind = 'S'
          union select 'pg_type'::regclass, t.oid from family f join pg_type t on t.typrelid = f.id
          union select 'pg_type'::regclass, t.typarray from family f join pg_type t on t.typrelid = f.id where t.typarray <> 0
        ), needing (kind, name, owner) as (
          select case when w.rulename = '_RETURN' then case oc.relkind when 'm' then 'materialized view' else 'view' end else i.type end,
                 case when w.rulename = '_RETURN' or d.classid = 'pg_class'::regclass then on_.nspname || '.' || oc.relname else i.identity end, oc.oid
          from own o join pg_depend d on d.refclassid = o.class and d.refobjid = o.id and d.deptype = 'n'
          left join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
          left join pg_policy y on d.classid = 'pg_policy'::regclass and y.oid = d.objid
          left join pg_attrdef a on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
          left join pg_constraint k on d.classid = 'pg_constraint'::regclass and k.oid = d.objid
          left join pg_class oc on oc.oid = coalesce(w.ev_class, y.polrelid, a.adrelid, k.conrelid, case when d.classid = 'pg_class'::regclass then d.objid end)
          left join pg_namespace on_ on on_.oid = oc.relnamespace
          cross join lateral pg_identify_object(d.classid, d.objid, 0) i
          where k.contype is distinct from 'f' and (oc.oid is null or oc.oid not in (select id from family))
          union select 'publication', pubname::text, null from published where oid in (select id from family)
        ) select json_agg(json_build_object('kind', g.kind, 'name', g.name, 'dataset', case when oc.oid is not null then json_build_array(gn.nspname, oc.relname) end)
                          order by g.kind, g.name)
          from (select kind, name, owner from needing order by kind, name limit %(children)s) g
          left join pg_class oc on oc.oid = g.owner left join pg_namespace gn on gn.oid = oc.relnamespace)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and (%(schemas)s::text[] is null or n.nspname = any (%(schemas)s))
  and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
order by n.nspname, c.relname
limit %(limit)s
