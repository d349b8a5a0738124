package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Sub returns the part of st whose keys begin with prefix, as a Store of its own: its keys have no prefix,
// and are that much shorter than 4 KiB. Its Close does nothing. A [Group] over it follows the changes of st.
func Sub(st Store, prefix string) Store {
	if of, ok := st.(sub); ok { // a Sub of a Sub is one of the store below
		st, prefix = of.st, of.prefix+prefix
	}
	return sub{st, prefix}
}

type sub struct {
	st     Store
	prefix string
}

func (s sub) Get(ctx context.Context, key string) (Entry, error) {
	if err := Check(Op{Key: key}); err != nil {
		return Entry{}, err
	}
	e, err := s.st.Get(ctx, s.prefix+key)
	e.Key = strings.TrimPrefix(e.Key, s.prefix)
	return e, err
}

func (s sub) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	r.Prefix, r.After = s.prefix+r.Prefix, s.prefix+r.After
	return func(yield func(Entry, error) bool) {
		for e, err := range s.st.Scan(ctx, r) {
			e.Key = strings.TrimPrefix(e.Key, s.prefix)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s sub) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		if err := Check(Op{Key: ops[i].Key}); err != nil {
			return 0, err
		}
		ops[i].Key = s.prefix + ops[i].Key
	}
	rev, err := s.st.Commit(ctx, ops...)
	if c, ok := errors.AsType[*ConflictError](err); ok {
		err = &ConflictError{Key: strings.TrimPrefix(c.Key, s.prefix)}
	}
	return rev, err
}

func (s sub) Close() error   { return nil }
func (s sub) Prefix() string { return s.prefix } // which package queue asks for its tenant
