package main

import (
	"context"
	"sync/atomic"

	"github.com/arc-learn/arc/store"
)

// audited is a Store that counts what is written to another one.
type audited struct {
	store.Store
	commits atomic.Int64
}

func (a *audited) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := a.Store.Commit(ctx, ops...)
	if err == nil {
		a.commits.Add(1)
	}
	return rev, err
}
