-- arc_take returns the first of the keys whose mark exists and that no other transaction has
-- taken, as it is, and takes it until the transaction ends. It waits for none: what is taken
-- is left out, as FOR UPDATE SKIP LOCKED does. That would give the transaction its id,
-- and a revision, before arc_commit has its locks; advisory locks give none. Their numbers
-- are even, so that no commit waits for them. A client that falls silent in between
-- loses its connection, and with it what it has taken.
CREATE FUNCTION {{schema}}.arc_take(marks bytea[], keys bytea[], locks integer[])
	RETURNS TABLE (n integer, value bytea, rev bigint) LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off
	SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	store integer := '{{schema}}.arc_entries'::regclass::oid::bigint::bit(32)::integer;
	last  bigint := 0;
BEGIN
	PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
	LOOP
		SELECT o.n INTO last FROM unnest(marks, locks) WITH ORDINALITY AS o(mark, lock, n) WHERE
			CASE WHEN o.n > last AND (SELECT e.rev FROM {{schema}}.arc_entries AS e WHERE e.key = o.mark) IS NOT NULL
			THEN pg_try_advisory_xact_lock(store, o.lock) ELSE false END LIMIT 1;
		EXIT WHEN last IS NULL;
		-- Another may have had it up to now: this statement sees what that one left.
		RETURN QUERY SELECT last::integer, e.value, e.rev FROM {{schema}}.arc_entries AS e
			WHERE e.key = keys[last] AND (SELECT m.rev FROM {{schema}}.arc_entries AS m WHERE m.key = marks[last]) IS NOT NULL;
		EXIT WHEN FOUND;
	END LOOP;
END $$;
