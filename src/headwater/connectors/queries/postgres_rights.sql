-- The version, where the extension pg_stat_statements is and whether its library is loaded, and whether this role sees the statements of others.
select current_setting('server_version'),
       (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_stat_statements'),
       current_setting('pg_stat_statements.max', true) is not null,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
       (select coalesce(array_agg(w.name order by w.name), '{}') from unnest(%(schemas)s::text[]) as w (name)
        where not exists (select from pg_namespace n where n.nspname = w.name)),
       current_user, quote_ident(current_user), now()
