-- A verdict on a content finds the instances that are it.
create index instance_versions_by_content on instance_versions (fingerprint) where fingerprint is not null;
