-- The schema of version 1. {{schema}} stands for its quoted name.
CREATE TABLE {{schema}}.arc_meta (
	one     boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL,
	base    bigint NOT NULL DEFAULT 0, -- a revision is a transaction's id and this
	pruned  bigint NOT NULL DEFAULT 0  -- no change up to this revision is kept
);
INSERT INTO {{schema}}.arc_meta (version) VALUES (0);

-- What is. A value begins with a checksum of key and value.
CREATE TABLE {{schema}}.arc_entries (
	key   bytea PRIMARY KEY,
	value bytea NOT NULL,
	rev   bigint NOT NULL -- not indexed, so that a change can stay on its page
);

-- What was written lately. No value: a deletion.
CREATE TABLE {{schema}}.arc_changes (
	rev   bigint NOT NULL,
	key   bytea NOT NULL,
	value bytea,
	at    timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (rev, key)
);

-- arc_commit applies all writes, where vals has NULL for a deletion, or none: then
-- it returns the key whose condition does not hold. A condition is a revision, 0
-- for any, or -1 for absent.
--
-- Locks come first, in an order that all share; the transaction's id, which is the
-- revision, comes when all are held. So the ids of two commits with a key in common
-- are in the order in which they took place, and one that is at work holds its
-- keys. Only the first lock is taken by all, and by a commit of many keys alone, since
-- locks have a bounded place. NOTIFY is not for here: it holds one lock of the whole
-- server while it commits.
CREATE FUNCTION {{schema}}.arc_commit(
	newest integer, keys bytea[], vals bytea[], conds bigint[], locks integer[],
	OUT rev bigint, OUT clash bytea
) LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	store   integer := '{{schema}}.arc_entries'::regclass::oid::bigint::bit(32)::integer;
	v       integer;
	base    bigint;
	last    bigint;
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE 'commits need read committed, and default_transaction_isolation is %', current_setting('transaction_isolation');
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	IF locks IS NULL THEN
		PERFORM pg_advisory_xact_lock(store, 0);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(store, 0);
		PERFORM pg_advisory_xact_lock(store, l) FROM unnest(locks) AS l;
	END IF;
	SELECT m.version, m.base INTO STRICT v, base FROM {{schema}}.arc_meta AS m;
	IF v > newest THEN
		RAISE 'the schema has version %', v USING ERRCODE = 'ARC01';
	END IF;
	SELECT (array_agg(o.key) FILTER (WHERE o.cond <> 0 AND coalesce(e.rev, -1) <> o.cond))[1], max(e.rev)
		INTO clash, last
		FROM unnest(keys, conds) AS o(key, cond) LEFT JOIN {{schema}}.arc_entries AS e ON e.key = o.key;
	IF clash IS NOT NULL THEN
		RETURN;
	END IF;
	rev := base + pg_current_xact_id()::text::bigint;
	IF last >= rev THEN
		RAISE 'revision % comes after %: the database was restored; open the store again', rev, last USING ERRCODE = 'ARC02';
	END IF;
	IF array_position(vals, NULL) IS NOT NULL THEN
		DELETE FROM {{schema}}.arc_entries AS e USING unnest(keys, vals) AS o(key, val) WHERE e.key = o.key AND o.val IS NULL;
	END IF;
	INSERT INTO {{schema}}.arc_changes (rev, key, value) SELECT arc_commit.rev, o.key, o.val FROM unnest(keys, vals) AS o(key, val);
	INSERT INTO {{schema}}.arc_entries AS e (key, value, rev)
		SELECT o.key, o.val, arc_commit.rev FROM unnest(keys, vals) AS o(key, val) WHERE o.val IS NOT NULL
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, rev = excluded.rev;
END $$;

-- arc_floor returns the revision below which no commit is at work any more, as of
-- the snapshot of the statement. That is its xmin, which also transactions of others
-- hold back. Deep leaves these out: what holds the lock of a transaction's id
-- and not the one that all commits take is none of ours. The locks are read after the
-- snapshot was taken: one that ended in between counts as ours.
CREATE FUNCTION {{schema}}.arc_floor(deep boolean) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
	now   pg_snapshot := pg_current_snapshot();
	floor bigint := pg_snapshot_xmin(now)::text::bigint;
BEGIN
	IF deep AND pg_snapshot_xmin(now) <> pg_snapshot_xmax(now) THEN
		WITH held AS MATERIALIZED (SELECT l.* FROM pg_locks AS l WHERE l.granted),
		others AS (
			SELECT h.transactionid FROM held AS h WHERE h.locktype = 'transactionid' AND h.mode = 'ExclusiveLock' AND NOT EXISTS (
				SELECT FROM held AS a WHERE a.pid = h.pid AND a.locktype = 'advisory' AND a.objsubid = 2 AND a.objid = 0
					AND a.classid = '{{schema}}.arc_entries'::regclass::oid
					AND a.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
		)
		SELECT coalesce(min(x::text::bigint), pg_snapshot_xmax(now)::text::bigint) INTO floor
			FROM pg_snapshot_xip(now) AS x WHERE x::xid NOT IN (SELECT transactionid FROM others);
	END IF;
	RETURN floor + (SELECT m.base FROM {{schema}}.arc_meta AS m);
END $$;

-- arc_prune deletes the oldest changes that are older than keep, at most 10,000 at a
-- time, and returns how many. The last change stays: it has the highest revision.
CREATE FUNCTION {{schema}}.arc_prune(keep interval) RETURNS integer LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	store integer := '{{schema}}.arc_entries'::regclass::oid::bigint::bit(32)::integer;
	bound bigint;
	n     integer;
BEGIN
	IF NOT pg_try_advisory_xact_lock(store, 2) THEN
		RETURN 0;
	END IF;
	WITH old AS MATERIALIZED (SELECT c.rev, c.at FROM {{schema}}.arc_changes AS c ORDER BY c.rev, c.key LIMIT 10000)
	SELECT least(
		coalesce((SELECT min(o.rev) FROM old AS o WHERE o.at >= now() - keep), (SELECT max(o.rev) FROM old AS o) + 1),
		(SELECT max(c.rev) FROM {{schema}}.arc_changes AS c),
		{{schema}}.arc_floor(false)
	) INTO bound;
	DELETE FROM {{schema}}.arc_changes AS c WHERE c.rev < bound;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF n > 0 THEN
		UPDATE {{schema}}.arc_meta SET pruned = bound - 1;
	END IF;
	RETURN n;
END $$;

-- arc_page returns entries from low on and behind after, below high: at most so many, or a
-- little over so many bytes. The length of a value is known without reading it. Whatever
-- the planner knows of the table, it reads in the order of the index: with a bound on
-- both sides, no page reads what is not in it.
CREATE FUNCTION {{schema}}.arc_page(low bytea, after bytea, high bytea, most integer, bytes bigint)
	RETURNS TABLE (key bytea, value bytea, rev bigint) LANGUAGE plpgsql STABLE SET search_path = pg_catalog SET jit = off
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	RETURN QUERY SELECT p.key, p.value, p.rev FROM (
		SELECT f.*, sum(octet_length(f.value)) OVER (ORDER BY f.key) - octet_length(f.value) AS before FROM (
			SELECT e.key, e.value, e.rev FROM {{schema}}.arc_entries AS e
			WHERE e.key >= low AND e.key > after AND e.key < high ORDER BY e.key LIMIT most
		) AS f
	) AS p WHERE p.before < bytes ORDER BY p.key;
END $$;

-- arc_after returns one row with where changes can be read from and up to, and whether there
-- are others behind that; and then the changes behind a place and below the floor, in order.
CREATE FUNCTION {{schema}}.arc_after(last_rev bigint, last_key bytea, low bytea, high bytea, most integer, deep boolean)
	RETURNS TABLE (pruned bigint, floor bigint, more boolean, rev bigint, key bytea, value bytea)
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog SET jit = off
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	bound bigint := {{schema}}.arc_floor(deep);
BEGIN
	RETURN QUERY SELECT m.pruned, bound, coalesce((SELECT max(c.rev) FROM {{schema}}.arc_changes AS c) >= bound, false),
		NULL::bigint, NULL::bytea, NULL::bytea FROM {{schema}}.arc_meta AS m;
	RETURN QUERY SELECT 0::bigint, bound, false, c.rev, c.key, c.value FROM {{schema}}.arc_changes AS c
		WHERE (c.rev, c.key) > (last_rev, last_key) AND c.rev < bound AND c.key >= low AND c.key < high ORDER BY c.rev, c.key LIMIT most;
END $$;
