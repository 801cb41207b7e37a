create or replace view old_people as select id, name from people where age > 30;
drop view old_people
