-- Listeners from before addresses were checked go on; `headwater doctor --security` names them.
alter table listeners add column inside boolean not null default false;
update listeners set inside = true;
