package postgres

import "strings"

// statements are what a Store sends, with the name of its schema.
type statements struct {
	commit, get, page, floor, view, changes, prune, raise, channel, version string
}

func statementsFor(schema string) statements {
	in := strings.NewReplacer("{{schema}}", `"`+schema+`"`).Replace
	return statements{
		commit: in(`SELECT rev, clash FROM {{schema}}.arc_commit($1, $2, $3, $4, $5)`),
		get:    in(`SELECT value, rev FROM {{schema}}.arc_entries WHERE key = $1`),
		// Rows until they have pageBytes: the length of a value is known without reading it.
		page: in(`SELECT key, value, rev FROM (
			SELECT key, value, rev, sum(octet_length(value)) OVER (ORDER BY key) - octet_length(value) AS before FROM (
				SELECT key, value, rev FROM {{schema}}.arc_entries
				WHERE key >= $1 AND key > $2 AND ($3::bytea IS NULL OR key < $3) ORDER BY key LIMIT $4
			) AS few
		) AS page WHERE before < $5 ORDER BY key`),
		floor: in(`SELECT {{schema}}.arc_floor(true), base, pg_current_snapshot()::text FROM {{schema}}.arc_meta LIMIT 1`),
		view: in(`SELECT key, value, rev FROM {{schema}}.arc_entries
			WHERE rev > $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3) ORDER BY rev, key`),
		// One row at least, for floor and pruned; more tells whether the floor hides changes. The
		// limit tells the planner that there is one: it would compile the statement for many.
		changes: in(`WITH now AS MATERIALIZED (SELECT pruned, {{schema}}.arc_floor($6) AS floor FROM {{schema}}.arc_meta LIMIT 1)
			SELECT now.pruned, now.floor, coalesce((SELECT max(rev) FROM {{schema}}.arc_changes) >= now.floor, false) AS more, c.rev, c.key, c.value
			FROM now LEFT JOIN LATERAL (
				SELECT rev, key, value FROM {{schema}}.arc_changes
				WHERE (rev, key) > ($1, $2::bytea) AND rev < now.floor AND key >= $3 AND ($4::bytea IS NULL OR key < $4)
				ORDER BY rev, key LIMIT $5
			) AS c ON true ORDER BY c.rev, c.key`),
		prune: in(`SELECT {{schema}}.arc_prune($1)`),
		raise: in(`WITH behind AS (
				SELECT (SELECT max(rev) FROM {{schema}}.arc_changes) + 1 - base - pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS n
				FROM {{schema}}.arc_meta
			) UPDATE {{schema}}.arc_meta SET base = base + n FROM behind WHERE n > 0`),
		channel: in(`SELECT 'arc_' || '{{schema}}.arc_entries'::regclass::oid`),
		version: in(`SELECT version FROM {{schema}}.arc_meta`),
	}
}
