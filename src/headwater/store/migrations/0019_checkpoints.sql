-- What a stream said it had written while it went on stays written, however its run ended. Of what was told before, `headwater server rebuild` finds it.
alter table dataset_versions add column checkpoint boolean not null default false;
