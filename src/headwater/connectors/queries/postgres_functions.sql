-- Functions and procedures in SQL and PL/pgSQL: schema, name, arguments, kind, the whole CREATE statement, whether it is of triggers alone, and the
-- tables whose triggers run it, each with the trigger.
select n.nspname, p.proname, pg_get_function_identity_arguments(p.oid), case p.prokind when 'p' then 'procedure' else 'function' end,
       pg_get_functiondef(p.oid), p.prorettype = 'pg_catalog.trigger'::regtype,
       (select json_agg(json_build_object('trigger', t.tgname, 'table', json_build_array(tn.nspname, tc.relname)) order by tn.nspname, tc.relname, t.tgname)
        from pg_trigger t join pg_class tc on tc.oid = t.tgrelid join pg_namespace tn on tn.oid = tc.relnamespace
        where t.tgfoid = p.oid and not t.tgisinternal and t.tgparentid = 0)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where l.lanname in ('sql', 'plpgsql') and p.prokind in ('f', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
order by n.nspname, p.proname, p.oid
limit %(limit)s
