// Package postgres keeps a [store.Store] in a schema of a PostgreSQL database, for
// agents that outgrow one process: any number may open it at once.
//
//	st, err := postgres.Open(ctx, "postgres://arc@db.internal/arc", nil)
//	if err != nil {
//		return err
//	}
//	defer st.Close()
//	agent, err := arc.New(ctx, st, host, nil)
//
// PostgreSQL 13 or later. A commit is one round trip: one call of a function that
// takes locks on the keys, checks the conditions and writes. What PostgreSQL rolls
// back for its own reasons is tried again; a connection that ends while a commit is
// under way leaves its outcome unknown, and is no error that package store declares.
// A connection that cannot be made is tried for until [Options.Patience] is over, so
// that a server which restarts is waited for.
//
// # Revisions
//
// A revision is the id of the commit's transaction. It is assigned when all keys are
// locked, so revisions order the commits of a key, and those of which one began after
// the other was acknowledged; two that overlap may be seen in either order. A Watch
// reads up to where no commit is at work any more, so it yields in order of revision and
// skips nothing. It may be taken up after any revision that it has yielded all of, and then
// skips what was deleted since, as [store.Watcher] says.
// A long transaction of others in the same server does not hold it back.
//
// # Watching
//
// A table of changes is the truth. NOTIFY says only that there is something to
// read; where no notice arrives, as behind a pooler, a Watch looks each
// [Options.Poll]. Changes are kept for [Options.Keep]; a Watch that was cut off for
// longer ends with an error, and its caller begins anew. [Store.Purge], which
// arc.Agent.Erase calls, leaves the last change of each key, so that what was erased is in no
// row that can be read. Dead rows are PostgreSQL's until a VACUUM, logs and backups the host's.
//
// # Claims
//
// A queue of jobs (act/queue) in several processes claims by [Store.CommitFirst]: what one
// is claiming the others pass over, as with FOR UPDATE SKIP LOCKED. That takes two
// round trips, in a transaction that ends 10 s after its client has fallen silent.
//
// # Poolers
//
// Behind PgBouncer in transaction mode, add default_query_exec_mode=exec to the
// connection string: pgx then prepares no statements that another connection would
// have to know. The store keeps no state in a session.
//
// # What is not there
//
// No read replicas: every call needs the primary. What a server acknowledges and loses
// in a failover is lost to the store too: set synchronous_commit and the standbys so
// that it is not. A commit overrides synchronous_commit = off, but not fsync = off.
// Isolation levels other than read committed as default_transaction_isolation are
// refused. A dump that is restored into another server begins with smaller ids
// of transactions; the next Open raises revisions over those of the dump.
package postgres
