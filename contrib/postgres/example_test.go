package postgres_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/postgres"
)

// An agent on a database that others use too, each by its schema. Behind a pooler in
// transaction mode the connection string has default_query_exec_mode=exec.
func ExampleOpen() {
	ctx := context.Background()
	st, err := postgres.Open(ctx, "postgres://arc@db.internal/agents?default_query_exec_mode=exec", &postgres.Options{Schema: "support"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	agent, err := arc.New(ctx, st, arc.Host{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
}

// A host that has a pool already, with its own settings and TLS.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://arc@db.internal/agents")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	st, err := postgres.New(ctx, pool, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
}
