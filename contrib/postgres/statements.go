package postgres

import "strings"

// statements are what a Store sends, with the name of its schema.
type statements struct {
	commit, take, get, page, floor, view, changes, prune, purge, raise, channel, version string
}

func statementsFor(schema string) statements {
	in := strings.NewReplacer("{{schema}}", `"`+schema+`"`).Replace
	return statements{
		commit: in(`SELECT rev, clash FROM {{schema}}.arc_commit($1, $2, $3, $4, $5)`),
		take:   in(`SELECT n, value, rev FROM {{schema}}.arc_take($1, $2, $3)`),
		get:    in(`SELECT value, rev FROM {{schema}}.arc_entries WHERE key = $1`),
		page:   in(`SELECT key, value, rev FROM {{schema}}.arc_page($1, $2, $3, $4::integer, $5::bigint)`),
		floor:  in(`SELECT {{schema}}.arc_floor(true), base, pg_current_snapshot()::text FROM {{schema}}.arc_meta LIMIT 1`),
		view: in(`SELECT key, value, rev FROM {{schema}}.arc_entries
			WHERE rev > $1 AND key >= $2 AND key < $3 ORDER BY rev, key`),
		changes: in(`SELECT pruned, floor, more, rev, key, value FROM {{schema}}.arc_after($1::bigint, $2, $3, $4, $5::integer, $6)`),
		prune:   in(`SELECT {{schema}}.arc_prune($1)`),
		purge: in(`WITH last AS (SELECT key, max(rev) AS rev FROM {{schema}}.arc_changes GROUP BY key)
			DELETE FROM {{schema}}.arc_changes AS c USING last AS l WHERE c.key = l.key AND c.rev < l.rev`),
		raise: in(`WITH behind AS (
				SELECT (SELECT max(rev) FROM {{schema}}.arc_changes) + 1 - base - pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS n
				FROM {{schema}}.arc_meta
			) UPDATE {{schema}}.arc_meta SET base = base + n FROM behind WHERE n > 0`),
		channel: in(`SELECT 'arc_' || '{{schema}}.arc_entries'::regclass::oid`),
		version: in(`SELECT version FROM {{schema}}.arc_meta`),
	}
}
