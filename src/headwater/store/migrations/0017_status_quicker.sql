-- Called first by every transaction that writes status: nobody else writes any until it ends. What there is then is told by statements after the
-- lock, which see what whoever had it before has written: the last report, the state of the declarations, whether any instance is wrong, or was.
create function status_opened(out seq bigint, out recorded_at timestamptz, out declared uuid, out troubled boolean) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1751474532, 12);
  select r.seq, r.recorded_at into seq, recorded_at from status_reports r order by r.seq desc limit 1;
  select a.id into declared from entity_applies a order by a.number desc limit 1;
  troubled := exists (select from status_marks m where m.kind in ('tainted', 'inherited', 'repaired') and m.kind <> 'state');
end
$$;

-- What holds of some instances is told from the key alone: a run that begins after them is passed over without a look at its row.
alter table status_marks drop constraint status_marks_pkey;
alter table status_marks add primary key (entity_id, end_, kind, ref) include (start_);
