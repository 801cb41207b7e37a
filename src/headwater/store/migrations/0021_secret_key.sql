-- Secrets are signed and encrypted with a key outside of the database; only its id is here.
drop table server_secrets;
alter table server_state add column secret_key_id text;
