-- Statements of this database by role, with how often they ran since the counts began.
select s.queryid::text, pg_get_userbyid(s.userid), s.query, s.calls, s.total_exec_time, s.rows
from {extension}.pg_stat_statements s join pg_database d on d.oid = s.dbid
where d.datname = current_database() and s.queryid is not null and s.calls > 0 and s.query <> '<insufficient privilege>'
  and s.query !~* 'pg_stat_statements'
order by s.total_exec_time desc
limit %(limit)s
