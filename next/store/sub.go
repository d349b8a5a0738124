package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Sub returns the part of st whose keys begin with prefix, as a Store of its own: keys in it have no prefix, and
// are that much shorter than [MaxKey]. It is a [Changer] and a [Compacter] where st is one; its Compact is that of
// the whole store. Its Close does nothing: the owner of st closes st.
func Sub(st Store, prefix string) Store {
	// A Sub of a Sub is one of the store below, so that a call passes one of them.
	if of, ok := st.(interface{ below() sub }); ok {
		st, prefix = of.below().st, of.below().prefix+prefix
	}
	s := sub{st, prefix}
	changer, changes := st.(Changer)
	compacter, compacts := st.(Compacter)
	switch {
	case changes && compacts:
		return struct {
			sub
			subChanger
			Compacter
		}{s, subChanger{changer, prefix}, compacter}
	case changes:
		return struct {
			sub
			subChanger
		}{s, subChanger{changer, prefix}}
	case compacts:
		return struct {
			sub
			Compacter
		}{s, compacter}
	}
	return s
}

type sub struct {
	st     Store
	prefix string
}

func (s sub) below() sub { return s }

func (s sub) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	e, err := s.st.Get(ctx, s.prefix+key)
	if err != nil {
		return Entry{}, err
	}
	e.Key = key
	return e, nil
}

func (s sub) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	r.Prefix = s.prefix + r.Prefix
	if r.After != "" {
		r.After = s.prefix + r.After
	}
	return stripped(s.st.Scan(ctx, r), s.prefix)
}

func (s sub) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		if err := CheckKey(ops[i].Key); err != nil {
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

func (s sub) Close() error { return nil }

type subChanger struct {
	st     Changer
	prefix string
}

func (s subChanger) Changes(ctx context.Context, after Revision) iter.Seq2[Entry, error] {
	return stripped(s.st.Changes(ctx, after), s.prefix)
}

// stripped yields the entries below prefix, without it, and entries that have no key.
func stripped(entries iter.Seq2[Entry, error], prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range entries {
			key, below := strings.CutPrefix(e.Key, prefix)
			if err == nil && e.Key != "" && !below {
				continue
			}
			e.Key = key
			if !yield(e, err) {
				return
			}
		}
	}
}
