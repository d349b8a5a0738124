-- Version 1 of the schema. {{schema}} stands for its name.
CREATE TABLE {{schema}}.arc_meta (
	one     boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL
);
INSERT INTO {{schema}}.arc_meta (version) VALUES (1);

-- State and feed at once: each key with the revision of its last change. A deleted key has no value.
CREATE TABLE {{schema}}.arc_entries (
	key     bytea PRIMARY KEY,
	value   bytea,
	rev     bigint NOT NULL,
	deleted timestamptz
);
-- By it a follower of one tenant passes by what has changed of others, and reads no row of theirs.
CREATE INDEX arc_entries_rev ON {{schema}}.arc_entries (rev, key);
CREATE INDEX arc_entries_deleted ON {{schema}}.arc_entries (deleted) WHERE deleted IS NOT NULL;
CREATE SEQUENCE {{schema}}.arc_revisions;

-- The newest revision of the deleted keys that were purged, of each tenant. Of its name there is a hash of two bytes, so
-- that nothing is left of one that was erased: tenants that share it, of 65,536, share the floor.
CREATE TABLE {{schema}}.arc_floors (
	tenant bytea PRIMARY KEY,
	floor  bigint NOT NULL
);
CREATE INDEX arc_floors_floor ON {{schema}}.arc_floors (floor);

-- arc_tenant returns the tenant of a key t/TENANT/…, as arc_floors has it, and one tenant for all other keys. The escape
-- format has a byte of ASCII as itself, and is there for all bytes, whatever the encoding of the database.
CREATE FUNCTION {{schema}}.arc_tenant(key bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT substring(sha256(coalesce(substring(encode(key, 'escape') from '^t/[^/]*/'), '')::bytea) for 2)
$$;

-- One advisory lock, on the table's oid, orders all commits of the store. PostgreSQL lets go of it after others can see
-- the transaction. So the order of revisions, which are drawn under it, is that in which commits become visible, and a
-- snapshot that has one revision has all below it.

-- arc_commit makes several commits at once, none of which writes a key of another. For each op, commits has the number
-- of its commit, kinds 0 for a put, 1 for a delete and 2 for a check, and conds the revision that its key must have: 0
-- for any and -1 for none. It returns the revision, 0 where nothing was written, and behind it the places of the ops
-- whose conditions do not hold; nothing of their commits is written. A statement does one thing for all keys, and finds
-- them by the index, whatever the planner knows of the table: by a subquery or by ANY, since it may join arrays otherwise.
-- A plan is made once, since to make it takes as long as to carry it out for a few ops.
CREATE FUNCTION {{schema}}.arc_commit(
	commits integer[], keys bytea[], vals bytea[], kinds integer[], conds bigint[]
) RETURNS bigint[] LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	revision bigint;
	places bigint[]; -- of the ops whose conditions do not hold
	refused integer[]; -- their commits
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE 'a commit needs the isolation level read committed, not %', current_setting('transaction_isolation');
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	PERFORM pg_advisory_xact_lock('{{schema}}.arc_entries'::regclass::oid::integer, 6386275);
	SELECT array_agg(o.place), array_agg(o.commit) INTO places, refused
		FROM unnest(commits, keys, conds) WITH ORDINALITY AS o (commit, key, cond, place)
		WHERE o.cond <> 0 AND o.cond <> coalesce(
			(SELECT e.rev FROM {{schema}}.arc_entries AS e WHERE e.key = o.key AND e.value IS NOT NULL), -1);
	refused := coalesce(refused, '{}');
	IF commits <@ refused OR 2 = ALL (kinds) THEN
		RETURN 0::bigint || places;
	END IF;
	revision := nextval('{{schema}}.arc_revisions');
	INSERT INTO {{schema}}.arc_entries (key, value, rev)
		SELECT o.key, o.val, revision FROM unnest(commits, keys, vals, kinds) AS o (commit, key, val, kind)
		WHERE o.kind = 0 AND o.commit <> ALL (refused)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, rev = excluded.rev, deleted = NULL;
	IF 1 = ANY (kinds) THEN
		UPDATE {{schema}}.arc_entries SET value = NULL, rev = revision, deleted = clock_timestamp()
			WHERE key = ANY (ARRAY(
				SELECT o.key FROM unnest(commits, keys, kinds) AS o (commit, key, kind)
				WHERE o.kind = 1 AND o.commit <> ALL (refused)
			)) AND value IS NOT NULL;
	END IF;
	RETURN revision || places;
END $$;

-- arc_put makes a commit of one put, at half of what arc_commit takes for it: cond is as there. It returns the revision,
-- NULL where the condition does not hold.
CREATE FUNCTION {{schema}}.arc_put(k bytea, v bytea, cond bigint) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	revision bigint;
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE 'a commit needs the isolation level read committed, not %', current_setting('transaction_isolation');
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	PERFORM pg_advisory_xact_lock('{{schema}}.arc_entries'::regclass::oid::integer, 6386275);
	IF cond > 0 THEN
		UPDATE {{schema}}.arc_entries AS e SET value = v, rev = nextval('{{schema}}.arc_revisions')
			WHERE e.key = k AND e.rev = cond AND e.value IS NOT NULL RETURNING e.rev INTO revision;
	ELSE
		INSERT INTO {{schema}}.arc_entries AS e (key, value, rev) VALUES (k, v, nextval('{{schema}}.arc_revisions'))
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, rev = excluded.rev, deleted = NULL
			WHERE cond = 0 OR e.value IS NULL RETURNING e.rev INTO revision;
	END IF;
	RETURN revision;
END $$;

-- arc_purge removes some of the keys that were deleted longer ago than keep, the oldest first, and returns how many.
CREATE FUNCTION {{schema}}.arc_purge(keep interval) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	n bigint;
BEGIN
	PERFORM pg_advisory_xact_lock('{{schema}}.arc_entries'::regclass::oid::integer, 6386275);
	WITH gone AS (
		DELETE FROM {{schema}}.arc_entries WHERE key IN (
			SELECT e.key FROM {{schema}}.arc_entries AS e WHERE e.deleted <= clock_timestamp() - keep ORDER BY e.deleted LIMIT 1000
		) RETURNING key, rev
	), floors AS (
		INSERT INTO {{schema}}.arc_floors AS f (tenant, floor)
			SELECT {{schema}}.arc_tenant(key), max(rev) FROM gone GROUP BY 1
			ON CONFLICT (tenant) DO UPDATE SET floor = greatest(f.floor, excluded.floor)
	) SELECT count(*) INTO n FROM gone;
	RETURN n;
END $$;
