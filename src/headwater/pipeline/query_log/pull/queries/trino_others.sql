-- Whether queries of other users are seen.
SELECT count(*) FROM system.runtime.queries WHERE "user" <> current_user
