-- The number of remembered queries of other users: 0 where access control hides them.
SELECT count(*) FROM system.runtime.queries WHERE "user" <> current_user
